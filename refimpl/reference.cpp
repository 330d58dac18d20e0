// The reference's main path: distinct blocks of a sequence -> tiles of keys -> dots -> logits and bounds ->
// the columns that name the block.
#include "refimpl/reference.hpp"
#include "refimpl/bound.hpp"
#include "refimpl/special.hpp"
#include "refimpl/tile.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace mqalab {

namespace {

// The reference computes in double: its own error is covered by this much of the bound.
constexpr double kOwnError = 1 + 0x1p-20;

class SequenceReference {
public:
  SequenceReference(const Problem& problem, const Tensors& tensors, int64_t first_row, int32_t rows,
                    const Policy& policy, bool with_bound)
      : p_(problem), tensors_(tensors), policy_(policy), with_bound_(with_bound), first_row_(first_row),
        queries_(load_queries(problem, tensors, first_row, rows)), keys_(problem.head_dim),
        dot_terms_(dot_bound_terms(policy.accumulation, problem.head_dim)) {
    for (int32_t r = 0; r < rows; ++r) {
      ordinary_rows_.push_back(is_ordinary_row(r));
      const auto limit = size_t(problem.limit(first_row + r));
      result_.push_back({std::vector<double>(limit, std::numeric_limits<double>::quiet_NaN()),
                         std::vector<double>(limit, 0)});
      tokens_ = std::max(tokens_, int64_t(limit));
    }
  }

  std::vector<RowReference> run() {
    const std::vector<int64_t> order = columns_by_block();
    for (size_t i = 0; i < order.size();) {
      size_t end = i + 1;
      while (end < order.size() && block(order[end]) == block(order[i])) ++end;
      if (block(order[i]) >= 0 && block(order[i]) < p_.num_blocks)
        add_block(block(order[i]), {order.data() + i, end - i});
      i = end;
    }
    flush();
    return std::move(result_);
  }

private:
  // A token of the tile and the columns of the block table that name its block.
  struct Slot {
    std::span<const int64_t> columns;
    int32_t token;
  };

  int32_t block(int64_t column) const {
    return p_.block_of(int32_t(first_row_ / p_.next_n), column * p_.block_size);
  }

  std::vector<int64_t> columns_by_block() const {
    std::vector<int64_t> order(size_t((tokens_ + p_.block_size - 1) / p_.block_size));
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(),
              [this](int64_t a, int64_t b) { return block(a) != block(b) ? block(a) < block(b) : a < b; });
    return order;
  }

  void add_block(int32_t id, std::span<const int64_t> columns) {
    // The first column is the one that needs most tokens: only the sequence's last column is short.
    const int64_t needed = std::min<int64_t>(p_.block_size, tokens_ - columns.front() * p_.block_size);
    for (int32_t token = 0; token < needed; ++token) {
      keys_.add(p_, tensors_, id, token);
      slots_.push_back({columns, token});
      if (keys_.count == KeyTile::kTokens) flush();
    }
  }

  void flush() {
    if (keys_.count == 0) return;
    keys_.finish(p_, with_bound_ || needs_special());
    dots(queries_, keys_, dots_);
    if (uses_exponents()) largest_exponents(queries_, keys_, exponents_);
    for (int32_t r = 0; r < queries_.rows; ++r) row_of_tile(r);
    keys_.count = 0;
    slots_.clear();
  }

  bool is_ordinary_row(int32_t r) const {
    const auto nan = queries_.nan.begin() + int64_t{r} * p_.heads;
    const bool has_nan = std::find(nan, nan + p_.heads, 1) != nan + p_.heads;
    return queries_.weights.col(r).allFinite() && (policy_.nan_to_zero || !has_nan);
  }

  bool is_ordinary_token(int token) const {
    const double scale = keys_.scale[token];
    // Before relu the scale must not turn a dot round, nor (dots stay below 2^26) beyond the fp32 range.
    const bool harmless = policy_.scale_after_sum || (scale >= 0 && scale < 0x1p100);
    return !keys_.nan[token] && std::isfinite(scale) && harmless;
  }

  bool needs_special() const {
    if (std::find(ordinary_rows_.begin(), ordinary_rows_.end(), false) != ordinary_rows_.end()) return true;
    for (int token = 0; token < keys_.count; ++token)
      if (!is_ordinary_token(token)) return true;
    return false;
  }

  bool uses_exponents() const { return dot_terms_.of_largest != 0 && (with_bound_ || needs_special()); }

  void row_of_tile(int32_t r) {
    relu_ = dots_.middleRows(int64_t{r} * p_.heads, p_.heads).cwiseMax(0.0);
    sums_.noalias() = relu_.transpose() * queries_.weights.col(r);
    magnitudes_.noalias() = relu_.transpose() * queries_.weights.col(r).cwiseAbs();
    if (with_bound_)
      dot_sums_.noalias() = keys_.magnitude.leftCols(keys_.count).transpose() * queries_.weighted.col(r);
    for (int token = 0; token < keys_.count; ++token) scatter(r, token, cell(r, token));
  }

  Cell cell(int32_t r, int token) {
    if (!ordinary_rows_[r] || !is_ordinary_token(token)) return special(r, token);
    const double scale = keys_.scale[token], value = sums_[token] * scale,
                 growth = std::max(1.0, std::fabs(scale));
    const double dot_error = with_bound_ ? weighted_dot_error(r, token) : 0;
    if ((magnitudes_[token] + dot_error) * growth >= kFloatMax / 4) return special(r, token);
    return {value, with_bound_ ? logit_bound(scale, dot_error, magnitudes_[token]) : 0};
  }

  // Sum over heads of |w| * E_dot: linear in the sum of magnitudes, which needs no product per head, and in
  // the largest power of two, which does.
  double weighted_dot_error(int32_t r, int token) const {
    double error = dot_terms_.of_sum * dot_sums_[token];
    if (dot_terms_.of_largest == 0) return error;
    const int8_t* largest =
        exponents_.data() + size_t(token) * queries_.padded_columns + int64_t{r} * p_.heads;
    const double* weight = queries_.weights.col(r).data();
    double powers = 0;
    for (int32_t h = 0; h < p_.heads; ++h) powers += std::fabs(weight[h]) * power_of(largest[h]);
    return error + dot_terms_.of_largest * powers;
  }

  // Oracle.md, section 5.  A result flushed to zero before the scale is multiplied by it: hence max(1, |s|).
  double logit_bound(double scale, double dot_error, double magnitude) const {
    const double size = std::fabs(scale);
    const double sums = dot_error + roundings(p_.heads + 3) * (magnitude + dot_error);
    return kOwnError * (size * sums + (p_.heads + 2) * kSmallestNormal * std::max(1.0, size));
  }

  Cell special(int32_t r, int token) {
    const auto first = int64_t{r} * p_.heads;
    special_dots_.resize(p_.heads);
    for (int32_t h = 0; h < p_.heads; ++h) {
      const bool nan = keys_.nan[token] || queries_.nan[first + h];
      special_dots_[h] = nan ? Dot{std::numeric_limits<double>::quiet_NaN(), 0}
                             : Dot{dots_(first + h, token), dot_error(first + h, token)};
    }
    const double* weights = queries_.weights.col(r).data();
    Cell cell = special_cell(special_dots_, {weights, size_t(p_.heads)}, keys_.scale[token], policy_);
    cell.bound *= kOwnError;
    return cell;
  }

  double dot_error(int64_t column, int token) const {
    const double sum = queries_.magnitude.col(column).dot(keys_.magnitude.col(token));
    const double largest =
        uses_exponents() ? power_of(exponents_[size_t(token) * queries_.padded_columns + column]) : 0;
    return dot_terms_.of_sum * sum + dot_terms_.of_largest * largest;
  }

  void scatter(int32_t r, int token, const Cell& cell) {
    RowReference& row = result_[r];
    for (int64_t column : slots_[token].columns) {
      const int64_t position = column * p_.block_size + slots_[token].token;
      if (position >= int64_t(row.value.size())) break;
      row.value[position] = cell.value;
      row.bound[position] = cell.bound;
    }
  }

  const Problem& p_;
  const Tensors& tensors_;
  Policy policy_;
  bool with_bound_;
  int64_t first_row_, tokens_ = 0;
  QueryTile queries_;
  KeyTile keys_;
  DotBound dot_terms_;
  std::vector<bool> ordinary_rows_;
  std::vector<Slot> slots_;
  std::vector<RowReference> result_;
  Eigen::MatrixXd dots_, relu_;
  Eigen::VectorXd sums_, magnitudes_, dot_sums_;
  std::vector<int8_t> exponents_;
  std::vector<Dot> special_dots_;
};

} // namespace

RowReference reference_row(const Problem& p, const Tensors& tensors, int64_t row, const Policy& policy,
                           bool with_bound) {
  return std::move(SequenceReference(p, tensors, row, 1, policy, with_bound).run()[0]);
}

std::vector<RowReference> reference(const Problem& p, const Tensors& tensors, const Policy& policy,
                                    bool with_bound) {
  std::vector<RowReference> rows;
  rows.reserve(size_t(p.rows()));
  for (int64_t first = 0; first < p.rows(); first += p.next_n)
    for (RowReference& row : SequenceReference(p, tensors, first, p.next_n, policy, with_bound).run())
      rows.push_back(std::move(row));
  return rows;
}

} // namespace mqalab
