// The rules of compare.hpp.  Written so that a NaN, in value or bound, never passes for a number.
#include "refimpl/compare.hpp"

#include <cmath>

namespace mqalab {

namespace {
constexpr double kRoundsToInfinity = 0x1.ffffffp127; // halfway from the largest fp32 number to 2^128
}

bool agrees(double value, double bound, float got) {
  if (bound == kAnyResult) return true;
  if (std::isnan(value) || std::isnan(got)) return std::isnan(value) && std::isnan(got);
  if (std::isinf(value)) return double(got) == value;
  if (std::isinf(got))
    return got > 0 ? value + bound >= kRoundsToInfinity : value - bound <= -kRoundsToInfinity;
  return std::fabs(double(got) - value) <= bound;
}

bool agrees_exactly(double value, float got) {
  return std::isnan(value) ? std::isnan(got) : double(got) == value;
}

} // namespace mqalab
