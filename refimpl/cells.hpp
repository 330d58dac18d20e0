// The logits of a tile: dots of some rows' queries with some keys become values with bounds, summed over the
// heads or head by head.
#pragma once
#include "refimpl/bound.hpp"
#include "refimpl/special.hpp"
#include "refimpl/tile.hpp"

#include <vector>

namespace mqalab {

class TileCells {
public:
  // with_bound false: bounds are 0, except in cells with odd classes.
  TileCells(const Problem&, const Policy&, bool with_bound, QueryTile);

  int32_t rows() const { return queries_.rows; }
  // Takes the keys in; they must stay as they are while cells are asked for.
  void multiply(KeyTile&);
  // Cells are asked for row by row.
  void start_row(int32_t row);
  Cell sum(int token);
  Cell of_head(int32_t head, int token);

private:
  bool is_ordinary_row(int32_t row) const;
  bool is_ordinary_token(int token) const;
  bool needs_special() const;
  bool uses_exponents() const { return dot_terms_.of_largest != 0 && (with_bound_ || needs_special()); }
  int64_t column(int32_t head) const { return int64_t{row_} * p_.heads + head; }

  double weighted_dot_error(int token) const;
  double dot_error(int32_t head, int token, double sum_of_magnitudes) const;
  double sum_bound(double scale, double dot_error, double magnitude) const;
  Dot special_dot(int32_t head, int token) const;
  Cell special_sum(int token);

  const Problem& p_;
  Policy policy_;
  bool with_bound_, per_head_;
  QueryTile queries_;
  DotBound dot_terms_;
  std::vector<bool> ordinary_rows_;
  const KeyTile* keys_ = nullptr;
  int32_t row_ = 0;
  Eigen::MatrixXd dots_, magnitude_dots_, relu_; // heads of all rows x tokens; relu_: of one row
  Eigen::VectorXd sums_, magnitudes_, dot_sums_;
  std::vector<int8_t> exponents_;
  std::vector<Dot> special_dots_;
};

} // namespace mqalab
