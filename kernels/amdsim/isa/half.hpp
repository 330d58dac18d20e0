// 16-bit floating point, one number at a time
#pragma once
#include "isa.hpp"

#include <immintrin.h>

namespace amdsim {

inline float half_to_float(uint32_t h) { return _cvtsh_ss((uint16_t)h); }
inline uint32_t float_to_half(float f) { return _cvtss_sh(f, _MM_FROUND_TO_NEAREST_INT); }
inline float bf16_to_float(uint32_t h) { return asf(h << 16); }
inline uint32_t float_to_bf16(float f) {
  const uint32_t u = asu(f);
  if ((u & 0x7fffffff) > 0x7f800000) return u >> 16 | 0x40; // a NaN stays one, quiet
  return (u + 0x7fff + (u >> 16 & 1)) >> 16;
}

} // namespace amdsim
