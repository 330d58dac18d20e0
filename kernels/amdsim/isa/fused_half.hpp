// a * b + c in half precision with one rounding, by way of double
#pragma once
#include "vector_op.hpp"

namespace amdsim {

// the double nearest to zero of the two around x, with its
// last bit set if x is none: rounds once more without harm
inline float odd32(double s) {
  u64 u = asq(s);
  u64 low = u & 0x1fffffff;
  u = (u & ~0x1fffffffull) | (low && (u << 1) < 0xffe0000000000000ull ? 0x20000000ull : 0) |
      ((u << 1) >= 0xffe0000000000000ull ? low : 0);
  return (float)asd(u);
}
inline double sum_odd(double p, double c) { // p + c rounded to odd
  double s = p + c, bb = s - p, e = (p - (s - bb)) + (c - bb);
  u64 u = asq(s);
  bool fin = (u << 1) < 0xffe0000000000000ull;
  if (fin && e != 0 && !(u & 1)) u += (e > 0) == (s > 0) ? 1 : -1;
  return asd(u);
}

inline float fmah(float a, float b, float c) { return odd32(sum_odd((double)a * b, c)); }

} // namespace amdsim
