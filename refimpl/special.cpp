// Interval arithmetic in fp32's range: every operation says what is certain of its result.
#include "refimpl/special.hpp"
#include "refimpl/bound.hpp"
#include "refimpl/compare.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace mqalab {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// A value as fp32 arithmetic may hold it.  error 0: exactly this, be it a number, Inf or NaN.  error
// infinite: any class is possible.
using Estimate = Dot;
constexpr Estimate kOpen{0, kAnyResult};

bool is_open(const Estimate& e) { return e.error == kAnyResult; }

// An intermediate that leaves the fp32 range becomes Inf, if it does so for certain.
Estimate settled(const Estimate& e) {
  if (!std::isfinite(e.value) || is_open(e) || std::fabs(e.value) + e.error <= kFloatMax) return e;
  return std::fabs(e.value) - e.error >= 2 * kFloatMax ? Estimate{std::copysign(kInfinity, e.value), 0}
                                                       : kOpen;
}

Estimate times_infinity(const Estimate& e, double infinity) {
  if (e.error == 0) return {e.value * infinity, 0};
  return std::fabs(e.value) > e.error ? Estimate{std::copysign(infinity, e.value * infinity), 0} : kOpen;
}

Estimate times(const Estimate& e, double factor) {
  if (std::isnan(factor) || std::isnan(e.value)) return {kNan, 0};
  if (is_open(e)) return kOpen;
  if (std::isinf(factor)) return times_infinity(e, factor);
  if (std::isinf(e.value) || e.value * factor == 0) return {e.value * factor, e.error * std::fabs(factor)};
  const double value = e.value * factor, error = e.error * std::fabs(factor);
  return {value, error + kRoundoff * (std::fabs(value) + error) + kSmallestNormal};
}

Estimate relu(const Estimate& e, bool nan_to_zero) {
  if (std::isnan(e.value)) return {nan_to_zero ? 0 : kNan, 0};
  if (is_open(e)) return e;
  if (e.value > 0) return e;
  return {0, std::max(0.0, e.value + e.error)};
}

// The sum of fp32 terms in any order.
class HeadSum {
public:
  void add(const Estimate& e) {
    if (std::isnan(e.value))
      nan_ = true;
    else if (is_open(e))
      open_ = true;
    else if (std::isinf(e.value))
      (e.value > 0 ? plus_ : minus_) = true;
    else
      (e.value > 0 ? positive_ : negative_) += e.value, error_ += e.error;
    ++count_;
  }
  Estimate result() const {
    if (nan_ || (plus_ && minus_)) return {kNan, 0};
    const double magnitude = positive_ - negative_;
    const double error = error_ + roundings(count_) * (magnitude + error_);
    const bool may_overflow = magnitude + error > kFloatMax;
    const bool one_sign = positive_ == 0 || negative_ == 0;
    if (open_ || (may_overflow && (plus_ || minus_ || !one_sign))) return kOpen;
    if (plus_ || minus_) return {plus_ ? kInfinity : -kInfinity, 0};
    return {positive_ + negative_, error};
  }

private:
  bool nan_ = false, open_ = false, plus_ = false, minus_ = false;
  double positive_ = 0, negative_ = 0, error_ = 0;
  int count_ = 0;
};

} // namespace

Cell special_cell(std::span<const Dot> dots, std::span<const double> weights, double scale,
                  const Policy& policy) {
  HeadSum sum;
  for (size_t h = 0; h < dots.size(); ++h) {
    const Estimate dot = policy.scale_after_sum ? dots[h] : settled(times(dots[h], scale));
    sum.add(settled(times(relu(dot, policy.nan_to_zero), weights[h])));
  }
  // Only the last result may stay beyond the fp32 range as a number: agrees() knows what to make of it.
  if (!policy.scale_after_sum) {
    const Estimate last = sum.result();
    return {last.value, last.error};
  }
  const Estimate last = times(settled(sum.result()), scale);
  return {last.value, last.error};
}

Cell special_head_sum(std::span<const Dot> dots, std::span<const double> weights, double scale,
                      const Policy& policy) {
  HeadSum sum;
  for (size_t h = 0; h < dots.size(); ++h) {
    const Cell cell = special_cell(dots.subspan(h, 1), weights.subspan(h, 1), scale, policy);
    sum.add(settled({cell.value, cell.bound}));
  }
  const Estimate last = sum.result();
  return {last.value, last.error};
}

} // namespace mqalab
