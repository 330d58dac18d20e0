// The helpers of the division sequences that compilers write:
// scaling before the Newton steps, and the special cases after
#pragma once
#include "vector_op.hpp"

namespace amdsim {

inline int expo(float f) { return asu(f) >> 23 & 255; }
inline int expo(double d) { return asq(d) >> 52 & 2047; }
template <class T> inline bool denorm(T x) { return x != 0 && expo(x) == 0; }
// brings a quotient's operands to where the Newton steps neither overflow nor lose bits; returns VCC
template <class T> inline bool div_scale(T s0, T den, T num, T& d) {
  constexpr bool F = sizeof(T) == 4;
  const int up = F ? 64 : 128, big = F ? 96 : 768, tiny = F ? 23 : 53, bias = F ? 127 : 1023;
  d = s0;
  if (num == 0 || den == 0) {
    d = NAN;
    return false;
  }
  auto same = [](T a, T b) { return memcmp(&a, &b, sizeof a) == 0; };
  const bool rden = !denorm(den) && expo(den) >= 2 * bias - 1 && !std::isinf(den) && !std::isnan(den);
  T q = num / den;
  const bool qden = !std::isnan(q) && !std::isinf(num) && (denorm(q) || q == 0);
  if (expo(num) - expo(den) >= big) {
    if (same(s0, den)) d = std::ldexp(s0, up);
    return true;
  }
  if (denorm(den)) {
    d = std::ldexp(s0, up);
    return false;
  }
  if (rden && qden) {
    if (same(s0, den)) d = std::ldexp(s0, -up);
    return true;
  } // the manual says +64, which would overflow
  if (rden) {
    d = std::ldexp(s0, -up);
    return false;
  }
  if (qden) {
    if (same(s0, num)) d = std::ldexp(s0, up);
    return true;
  }
  if (expo(num) <= tiny) d = std::ldexp(s0, up);
  return false;
}
template <class T> inline T div_fixup(T q, T den, T num) {
  const bool s = std::signbit(den) != std::signbit(num);
  if (std::isnan(num)) return num;
  if (std::isnan(den)) return den;
  if ((den == 0 && num == 0) || (std::isinf(den) && std::isinf(num))) return NAN;
  T r = den == 0 || std::isinf(num)   ? (T)INFINITY
        : std::isinf(den) || num == 0 ? (T)0
        : std::isnan(q)               ? (T)INFINITY
                                      : std::fabs(q);
  return s ? -r : r;
}

} // namespace amdsim
