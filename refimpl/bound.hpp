// What the error bound is made of (oracle.md, section 5), for those who evaluate it for many dots at once.
#pragma once
#include "refimpl/reference.hpp"

namespace mqalab {

inline constexpr double kRoundoff = 0x1p-24;        // u: half an ulp of fp32, relative
inline constexpr double kSmallestNormal = 0x1p-126; // of fp32
inline constexpr double kFloatMax = 0x1.fffffep127;

// gamma_n = n*u / (1 - n*u): n roundings of one value.
constexpr double roundings(int n) { return n * kRoundoff / (1 - n * kRoundoff); }

// The bound on one dot is linear: of_largest * P + of_sum * A'.
struct DotBound {
  double of_largest = 0, of_sum = 0;
};
DotBound dot_bound_terms(Accumulation, int32_t head_dim);

} // namespace mqalab
