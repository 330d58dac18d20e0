// FP8 numbers, one at a time: E4M3 and E5M2 ("bf8"), each as FNUZ
// (gfx942: bias one higher, 0x80 is the only NaN) or as OCP.
#pragma once
#include <cstdint>

namespace amdsim {

struct Fp8Format {
  bool bf8, fnuz;
  int mantissa_bits() const { return bf8 ? 2 : 3; }
  int exponent_bits() const { return 7 - mantissa_bits(); }
  int bias() const { return (1 << (exponent_bits() - 1)) - (fnuz ? 0 : 1); }
};

// All 256 values
const float* fp8_values(Fp8Format f);

// To nearest even, or stochastically: random bits are added below the kept
// mantissa, and the rest is cut off. Overflow gives NaN (FNUZ, and OCP E4M3)
// or infinity (OCP E5M2), or the largest number if MODE.FP16_OVFL says so.
struct Fp8Rounding {
  bool saturate = false, stochastic = false;
  uint32_t random = 0;
};
uint8_t fp8_encode(float x, Fp8Format f, Fp8Rounding r);

} // namespace amdsim
