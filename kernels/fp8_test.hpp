// What the bytes and halves mean, written out from operation.md, section 3, for tests of the arch layers.
// Slow on purpose: no bit trick here, and nothing shared with the code under test.
#pragma once
#include <cmath>
#include <cstdint>

namespace mqa {

// Value of an e4m3 byte.
inline double decoded(uint8_t byte, bool fnuz) {
  const bool nan = fnuz ? byte == 0x80 : (byte & 0x7f) == 0x7f;
  if (nan) return std::nan("");
  const int exponent = byte >> 3 & 15, mantissa = byte & 7, bias = fnuz ? 8 : 7;
  const double magnitude =
      exponent == 0 ? std::ldexp(mantissa, -2 - bias) : std::ldexp(8 + mantissa, exponent - bias - 3);
  return byte & 0x80 ? -magnitude : magnitude;
}
// Value of an fp16 pattern.
inline double half_value(uint16_t bits) {
  const int exponent = bits >> 10 & 31, mantissa = bits & 1023;
  if (exponent == 31) return mantissa ? std::nan("") : INFINITY;
  const double magnitude =
      exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25);
  return bits & 0x8000 ? -magnitude : magnitude;
}

} // namespace mqa
