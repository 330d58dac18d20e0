// Margins by two sorted lists of interval ends; selection by a total order in which NaN comes last.
#include "refimpl/topk.hpp"
#include "refimpl/compare.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace mqalab {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kFloatMax = std::numeric_limits<float>::max();

// Where a logit may lie.  NaN sorts below everything, -inf included; all that lies beyond the fp32 range may
// be one Inf.
struct Interval {
  double lower, upper;
};

Interval interval(double value, double bound) {
  if (bound == kAnyResult) return {-kInfinity, kInfinity};
  if (std::isnan(value)) return {-kInfinity, -kInfinity};
  const double low = value - bound, high = value + bound;
  const double lower = low < -kFloatMax ? -2 * kFloatMax : std::min(low, kFloatMax);
  const double upper = high > kFloatMax ? kInfinity : std::max(high, -kFloatMax);
  return {lower, upper};
}

std::vector<double> sorted(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values;
}

// NaN is below every number, and equal to itself.
template <class Number> bool below(Number a, Number b) { return std::isnan(a) ? !std::isnan(b) : a < b; }

template <class Number> std::vector<int32_t> largest_columns(std::span<const Number> logits, int64_t k) {
  std::vector<int32_t> columns(logits.size());
  std::iota(columns.begin(), columns.end(), 0);
  const auto before = [logits](int32_t a, int32_t b) {
    const Number x = logits[a], y = logits[b];
    if (std::isnan(x) || std::isnan(y)) return std::isnan(x) == std::isnan(y) ? a < b : std::isnan(y);
    return x != y ? x > y : a < b;
  };
  const size_t kept = size_t(std::clamp<int64_t>(k, 0, int64_t(columns.size())));
  if (kept < columns.size()) std::nth_element(columns.begin(), columns.begin() + kept, columns.end(), before);
  columns.resize(kept);
  std::sort(columns.begin(), columns.end());
  return columns;
}

template <class Number>
double recall_of_selection(std::span<const Number> logits, int64_t first, std::span<const int32_t> got,
                           int64_t k) {
  const std::vector<int32_t> due = largest_columns(logits, k);
  if (due.empty()) return 1;
  Number weakest = logits[due[0]];
  for (const int32_t column : due)
    if (below(logits[column], weakest)) weakest = logits[column];
  int64_t ties_due = 0, ties = 0, above = 0;
  for (const int32_t column : due) ties_due += !below(weakest, logits[column]);
  std::vector<bool> taken(logits.size());
  for (const int32_t column : got) {
    const int64_t i = column - first;
    if (i < 0 || i >= int64_t(logits.size()) || taken[i]) continue;
    taken[i] = true;
    above += below(weakest, logits[i]);
    ties += !below(weakest, logits[i]) && !below(logits[i], weakest);
  }
  return double(above + std::min(ties, ties_due)) / double(due.size());
}

} // namespace

TopkMargin topk_margin(const RowReference& row, int64_t k) {
  const size_t columns = row.value.size();
  std::vector<double> lower(columns), upper(columns);
  for (size_t i = 0; i < columns; ++i) {
    const Interval range = interval(row.value[i], row.bound[i]);
    lower[i] = range.lower, upper[i] = range.upper;
  }
  const std::vector<double> lowers = sorted(lower), uppers = sorted(upper);
  TopkMargin margin{std::vector<bool>(columns), std::vector<bool>(columns)};
  for (size_t i = 0; i < columns; ++i) {
    // The column itself is among those whose upper end reaches its own lower one.
    const int64_t may_pass = uppers.end() - std::lower_bound(uppers.begin(), uppers.end(), lower[i]) - 1;
    const int64_t surely_above = lowers.end() - std::upper_bound(lowers.begin(), lowers.end(), upper[i]);
    margin.must[i] = may_pass < k;
    margin.may[i] = surely_above < k;
  }
  return margin;
}

std::vector<int32_t> topk(std::span<const float> logits, int64_t k) { return largest_columns(logits, k); }
std::vector<int32_t> topk(std::span<const double> logits, int64_t k) { return largest_columns(logits, k); }

double recall(std::span<const int32_t> got, std::span<const int32_t> expected) {
  if (expected.empty()) return 1;
  std::vector<int32_t> common;
  std::set_intersection(got.begin(), got.end(), expected.begin(), expected.end(), std::back_inserter(common));
  return double(common.size()) / double(expected.size());
}

double selection_recall(std::span<const float> logits, int64_t first, std::span<const int32_t> got,
                        int64_t k) {
  return recall_of_selection(logits, first, got, k);
}
double selection_recall(std::span<const double> logits, int64_t first, std::span<const int32_t> got,
                        int64_t k) {
  return recall_of_selection(logits, first, got, k);
}

double match_by_position(std::span<const int32_t> got, std::span<const int32_t> expected) {
  if (expected.empty()) return 1;
  size_t equal = 0;
  for (size_t i = 0; i < std::min(got.size(), expected.size()); ++i) equal += got[i] == expected[i];
  return double(equal) / double(expected.size());
}

} // namespace mqalab
