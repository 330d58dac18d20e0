// Exponent, mantissa and fraction of floating-point numbers, and their conversion to integers
#pragma once
#include "vector_op.hpp"

namespace amdsim {

inline i32 toi32(float a) {
  return a != a ? 0 : a >= 2147483648.f ? INT32_MAX : a <= -2147483648.f ? INT32_MIN : (i32)a;
}
inline u32 tou32(float a) { return !(a > 0) ? 0 : a >= 4294967296.f ? UINT32_MAX : (u32)a; }
inline i32 toi32(double a) {
  return a != a ? 0 : a >= 2147483647.0 ? INT32_MAX : a <= -2147483648.0 ? INT32_MIN : (i32)a;
}
inline u32 tou32(double a) { return !(a > 0) ? 0 : a >= 4294967295.0 ? UINT32_MAX : (u32)(i64)a; }
inline float ldexp32(float a, i32 n) {
  n = n < -300 ? -300 : n > 300 ? 300 : n;
  return (float)((double)a * asd((u64)(n + 1023) << 52));
}
inline double ldexp64(double a, i32 n) { return std::ldexp(a, std::min(std::max(n, -4000), 4000)); }
inline float fract32(float a) {
  float r = a - std::floor(a);
  r = r < 0x1.fffffep-1f ? r : 0x1.fffffep-1f;
  return a - a == 0 ? r : NAN;
}
inline double fract64(double a) {
  double r = a - std::floor(a);
  r = r < 0x1.fffffffffffffp-1 ? r : 0x1.fffffffffffffp-1;
  return a - a == 0 ? r : NAN;
}
template <class T> inline i32 exponent(T x) {
  int e = 0;
  if (finite(x) && x != 0) std::frexp(x, &e);
  return e;
}
template <class T> inline T mantissa(T x) {
  int e;
  return finite(x) ? std::frexp(x, &e) : x;
}

} // namespace amdsim
