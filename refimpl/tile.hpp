// Decoded pieces of a problem, and the products of the two: all heads of some rows of one sequence, and a
// tile of keys.  The only place where the reference is clever.
#pragma once
#include "refimpl/generate.hpp"
#include "refimpl/problem.hpp"

#include <Eigen/Core>

#include <cstdint>
#include <vector>

namespace mqalab {

// A vector of FP8 as three arrays.  magnitude: |value|, a subnormal raised to the smallest normal, so that
// the product of two magnitudes bounds max(|q k|, 2^(ea+eb)) from above (equal to it for normals).  exponent:
// of the value, a subnormal's being that of the smallest normal; kNoExponent for zero.  A NaN code is a zero
// here and noted apart.
inline constexpr int8_t kNoExponent = -40;
inline constexpr int kLanes = 32; // columns per vector of exponents

// The exponents of the non-zero values; least > most when there are none.
struct ExponentRange {
  int least = 0, most = 0;
};

struct QueryTile {
  int32_t rows = 0, heads = 0;
  Eigen::MatrixXd value, magnitude; // head_dim x (rows * heads): column row * heads + head
  std::vector<int8_t> exponent;     // head_dim x padded columns
  int64_t padded_columns = 0;
  std::vector<char> nan; // per column
  ExponentRange range;
  Eigen::MatrixXd weights;  // heads x rows
  Eigen::MatrixXd weighted; // head_dim x rows: sum over heads of |weight| * magnitude
};
QueryTile load_queries(const Problem&, const Tensors&, int64_t first_row, int32_t rows);

struct KeyTile {
  static constexpr int kTokens = 128;
  int count = 0;
  Eigen::MatrixXd value;        // head_dim x kTokens
  Eigen::MatrixXd magnitude;    // head_dim x kTokens; made by finish()
  std::vector<int8_t> exponent; // kTokens x head_dim
  std::vector<char> nan;
  Eigen::VectorXd scale;
  ExponentRange range; // made by finish()

  explicit KeyTile(int32_t head_dim);
  void add(const Problem&, const Tensors&, int64_t block, int32_t token);
  void finish(const Problem&, bool with_magnitude);
};

// columns x tokens: dot(query column, key).  Exact in double: every product of two e4m3 values is a multiple
// of 2^-20 and no sum of 256 reaches 2^26.  Done in float, twice as fast, where the exponents prove that
// exact as well.
void dots(const QueryTile&, const KeyTile&, Eigen::MatrixXd& out);

// Largest ea + eb over the dims, per column of a token; kNoExponent or less when every product is zero.
// tokens x padded columns.
void largest_exponents(const QueryTile&, const KeyTile&, std::vector<int8_t>& out);

// 2^exponent, and 0 for what no product has.
double power_of(int8_t exponent);

} // namespace mqalab
