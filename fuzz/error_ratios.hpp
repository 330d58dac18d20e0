// How much of their bounds the production kernels use: the largest error/bound of a case, counted by powers
// of two.  A kernel whose errors creep towards the bound is still right and has changed all the same.
#pragma once
#include "fuzz/verdict.hpp"
#include "refimpl/generate.hpp"

#include <array>
#include <map>
#include <string>
#include <vector>

namespace mqalab {

// Above this share of its bound a case is drift.  Correct kernels stay below half of that (docs/oracle.md);
// a fault of rounding shows here long before it is one of value.
inline constexpr double kDrift = 0.3;
inline constexpr int kRatioPowers = 16;

struct ErrorRatios {
  int64_t cases = 0, exact = 0; // exact: those of error 0
  std::array<int64_t, kRatioPowers> power =
      {}; // [i]: above 2^-(i+1) up to 2^-i; the last one: all below, too
  double worst = 0;
  int64_t worst_index = -1; // of the case
  void add(double ratio, int64_t index);
};
// By kernel and lane: "staged, numeric, cdna3_fp8".  Counts of several shards add up.
using ErrorRatioTable = std::map<std::string, ErrorRatios>;
// The key of a right case whose numbers were judged by a bound; empty for any other.
std::string ratio_key(const Verdict&, Lane);
// One line for a key whose worst case is drift, in the table's order.
std::vector<std::string> drifts(const ErrorRatioTable&);

} // namespace mqalab
