// Minimum, maximum and median of floating-point numbers, on their bits: a signalling
// NaN comes out quieted, else the number wins over the NaN; -0 is below +0.
#pragma once
#include "vector_op.hpp"

namespace amdsim {

template <class T, T SIGN, T INF, T QUIET, bool MAX> inline T fmm(T a, T b) {
  const bool na = (T)(a & ~SIGN) > INF, nb = (T)(b & ~SIGN) > INF;
  const T ka = a & SIGN ? (T)~a : (T)(a | SIGN), kb = b & SIGN ? (T)~b : (T)(b | SIGN);
  T r = (MAX ? ka > kb : ka < kb) ? a : b;
  r = nb ? a : r;
  r = na ? b : r;
  r = nb && !(b & QUIET) ? (T)(b | QUIET) : r;
  r = na && (!(a & QUIET) || nb) ? (T)(a | QUIET) : r;
  return r;
}
inline u32 fmin32(u32 a, u32 b) { return fmm<u32, 0x80000000u, 0x7f800000u, 0x400000u, false>(a, b); }
inline u32 fmax32(u32 a, u32 b) { return fmm<u32, 0x80000000u, 0x7f800000u, 0x400000u, true>(a, b); }
inline u32 fmin16(u32 a, u32 b) {
  return fmm<uint16_t, 0x8000u, 0x7c00u, 0x200u, false>((uint16_t)a, (uint16_t)b);
}
inline u32 fmax16(u32 a, u32 b) {
  return fmm<uint16_t, 0x8000u, 0x7c00u, 0x200u, true>((uint16_t)a, (uint16_t)b);
}
inline u64 fmin64(u64 a, u64 b) { return fmm<u64, 1ull << 63, 0x7ffull << 52, 1ull << 51, false>(a, b); }
inline u64 fmax64(u64 a, u64 b) { return fmm<u64, 1ull << 63, 0x7ffull << 52, 1ull << 51, true>(a, b); }
inline bool is_nan(u32 x) { return (x & 0x7fffffff) > 0x7f800000; }
inline u32 med32(u32 a, u32 b, u32 c) {
  const u32 m = fmin32(fmin32(a, b), c), r = fmax32(fmin32(a, b), fmin32(fmax32(a, b), c));
  return (is_nan(a) | is_nan(b) | is_nan(c)) ? m : r;
}
inline u32 med16(u32 a, u32 b, u32 c) {
  auto nan = [](u32 x) { return (x & 0x7fff) > 0x7c00; };
  const u32 m = fmin16(fmin16(a, b), c), r = fmax16(fmin16(a, b), fmin16(fmax16(a, b), c));
  return (nan(a) | nan(b) | nan(c)) ? m : r;
}

} // namespace amdsim
