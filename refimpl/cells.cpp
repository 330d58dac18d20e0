#include "refimpl/cells.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace mqalab {

namespace {

// The reference computes in double: its own error is covered by this much of the bound.
constexpr double kOwnError = 1 + 0x1p-20;

// Oracle.md, section 5, for a sum over `heads`.  A result flushed to zero before the scale is multiplied by
// it: hence max(1, |s|).
double logit_bound(int32_t heads, double scale, double dot_error, double magnitude) {
  const double size = std::fabs(scale);
  const double sums = dot_error + roundings(heads + 3) * (magnitude + dot_error);
  return kOwnError * (size * sums + (heads + 2) * kSmallestNormal * std::max(1.0, size));
}

// Sum of the one-head bounds of all heads, then the roundings of adding up what they bound.
double head_sum_bound(int32_t heads, double scale, double dot_error, double magnitude) {
  const double size = std::fabs(scale);
  const double sums = dot_error + roundings(1 + 3) * (magnitude + dot_error);
  const double each = size * sums + heads * 3 * kSmallestNormal * std::max(1.0, size);
  return kOwnError * (each + roundings(heads) * (size * magnitude + each));
}

// Far enough from the fp32 range that no class is in question.
bool may_overflow(double magnitude, double scale) {
  return magnitude * std::max(1.0, std::fabs(scale)) >= kFloatMax / 4;
}

} // namespace

TileCells::TileCells(const Problem& problem, const Policy& policy, bool with_bound, QueryTile queries)
    : p_(problem), policy_(policy), with_bound_(with_bound), per_head_(is_per_head(problem.op)),
      queries_(std::move(queries)), dot_terms_(dot_bound_terms(policy.accumulation, problem.head_dim)) {
  for (int32_t row = 0; row < queries_.rows; ++row) ordinary_rows_.push_back(is_ordinary_row(row));
}

void TileCells::multiply(KeyTile& keys) {
  keys_ = &keys;
  keys.finish(p_, with_bound_ || needs_special());
  dots(queries_, keys, dots_);
  if (uses_exponents()) largest_exponents(queries_, keys, exponents_);
  if (per_head_ && with_bound_)
    magnitude_dots_.noalias() = queries_.magnitude.transpose() * keys.magnitude.leftCols(keys.count);
}

void TileCells::start_row(int32_t row) {
  row_ = row;
  if (per_head_) return;
  const auto weights = queries_.weights.col(row);
  relu_ = dots_.middleRows(column(0), p_.heads).cwiseMax(0.0);
  sums_.noalias() = relu_.transpose() * weights;
  magnitudes_.noalias() = relu_.transpose() * weights.cwiseAbs();
  if (with_bound_)
    dot_sums_.noalias() = keys_->magnitude.leftCols(keys_->count).transpose() * queries_.weighted.col(row);
}

Cell TileCells::sum(int token) {
  if (!ordinary_rows_[row_] || !is_ordinary_token(token)) return special_sum(token);
  const double scale = keys_->scale[token], error = with_bound_ ? weighted_dot_error(token) : 0;
  if (may_overflow(magnitudes_[token] + error, scale)) return special_sum(token);
  return {sums_[token] * scale, with_bound_ ? sum_bound(scale, error, magnitudes_[token]) : 0};
}

Cell TileCells::of_head(int32_t head, int token) {
  const double scale = keys_->scale[token], weight = queries_.weights(head, row_);
  if (ordinary_rows_[row_] && is_ordinary_token(token)) {
    const double term = std::max(0.0, dots_(column(head), token)) * weight;
    const double error =
        with_bound_ ? std::fabs(weight) * dot_error(head, token, magnitude_dots_(column(head), token)) : 0;
    if (!may_overflow(std::fabs(term) + error, scale))
      return {term * scale, with_bound_ ? logit_bound(1, scale, error, std::fabs(term)) : 0};
  }
  const Dot dot = special_dot(head, token);
  Cell cell = special_cell({&dot, 1}, {&weight, 1}, scale, policy_);
  cell.bound *= kOwnError;
  return cell;
}

bool TileCells::is_ordinary_row(int32_t row) const {
  const auto nan = queries_.nan.begin() + int64_t{row} * p_.heads;
  const bool has_nan = std::find(nan, nan + p_.heads, 1) != nan + p_.heads;
  return queries_.weights.col(row).allFinite() && (policy_.nan_to_zero || !has_nan);
}

bool TileCells::is_ordinary_token(int token) const {
  const double scale = keys_->scale[token];
  // Before relu the scale must not turn a dot round, nor (dots stay below 2^26) beyond the fp32 range.
  const bool harmless = policy_.scale_after_sum || (scale >= 0 && scale < 0x1p100);
  return !keys_->nan[token] && std::isfinite(scale) && harmless;
}

bool TileCells::needs_special() const {
  if (std::find(ordinary_rows_.begin(), ordinary_rows_.end(), false) != ordinary_rows_.end()) return true;
  for (int token = 0; token < keys_->count; ++token)
    if (!is_ordinary_token(token)) return true;
  return false;
}

// Sum over heads of |w| * E_dot: linear in the sum of magnitudes, which needs no product per head, and in
// the largest power of two, which does.
double TileCells::weighted_dot_error(int token) const {
  double error = dot_terms_.of_sum * dot_sums_[token];
  if (dot_terms_.of_largest == 0) return error;
  const int8_t* largest = exponents_.data() + size_t(token) * queries_.padded_columns + column(0);
  const double* weight = queries_.weights.col(row_).data();
  double powers = 0;
  for (int32_t h = 0; h < p_.heads; ++h) powers += std::fabs(weight[h]) * power_of(largest[h]);
  return error + dot_terms_.of_largest * powers;
}

double TileCells::dot_error(int32_t head, int token, double sum_of_magnitudes) const {
  const double largest =
      uses_exponents() ? power_of(exponents_[size_t(token) * queries_.padded_columns + column(head)]) : 0;
  return dot_terms_.of_largest * largest + dot_terms_.of_sum * sum_of_magnitudes;
}

double TileCells::sum_bound(double scale, double error, double magnitude) const {
  return p_.op == Operation::head_sum ? head_sum_bound(p_.heads, scale, error, magnitude)
                                      : logit_bound(p_.heads, scale, error, magnitude);
}

Dot TileCells::special_dot(int32_t head, int token) const {
  if (keys_->nan[token] || queries_.nan[column(head)]) return {std::numeric_limits<double>::quiet_NaN(), 0};
  const double sum = queries_.magnitude.col(column(head)).dot(keys_->magnitude.col(token));
  return {dots_(column(head), token), dot_error(head, token, sum)};
}

Cell TileCells::special_sum(int token) {
  special_dots_.resize(size_t(p_.heads));
  for (int32_t h = 0; h < p_.heads; ++h) special_dots_[h] = special_dot(h, token);
  const std::span<const double> weights{queries_.weights.col(row_).data(), size_t(p_.heads)};
  const auto cell_of = p_.op == Operation::head_sum ? special_head_sum : special_cell;
  Cell cell = cell_of(special_dots_, weights, keys_->scale[token], policy_);
  cell.bound *= kOwnError;
  return cell;
}

} // namespace mqalab
