// Both flavours of e4m3 from three numbers each: the bias, the largest byte and the NaN codes.
#include "refimpl/fp8.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace mqalab {

namespace {

uint8_t largest_byte(mqa_fp8 flavour) { return flavour == MQA_E4M3FN ? 0x7E : 0x7F; }

std::array<double, 256> make_table(mqa_fp8 flavour) {
  std::array<double, 256> table{};
  const int bias = flavour == MQA_E4M3FN ? 7 : 8;
  for (int byte = 0; byte < 256; ++byte) {
    const int exponent = byte >> 3 & 15, mantissa = byte & 7;
    const double magnitude =
        exponent ? std::ldexp(8 + mantissa, exponent - bias - 3) : std::ldexp(mantissa, 1 - bias - 3);
    table[byte] = is_nan_code(flavour, uint8_t(byte)) ? std::numeric_limits<double>::quiet_NaN()
                  : byte & 0x80                       ? -magnitude
                                                      : magnitude;
  }
  return table;
}

// The byte of a finite magnitude: positive codes ascend with their value, so the nearest is next to the lower
// bound.
uint8_t nearest_magnitude(mqa_fp8 flavour, double magnitude) {
  const auto& table = fp8_table(flavour);
  const auto last = table.begin() + largest_byte(flavour);
  const auto above = std::lower_bound(table.begin(), last, magnitude);
  if (*above <= magnitude || above == table.begin()) return uint8_t(above - table.begin());
  const auto below = above - 1;
  const double down = magnitude - *below, up = *above - magnitude;
  const bool below_is_even = (below - table.begin()) % 2 == 0;
  return uint8_t((down < up || (down == up && below_is_even) ? below : above) - table.begin());
}

} // namespace

bool is_nan_code(mqa_fp8 flavour, uint8_t byte) {
  return flavour == MQA_E4M3FN ? (byte & 0x7F) == 0x7F : byte == 0x80;
}

const std::array<double, 256>& fp8_table(mqa_fp8 flavour) {
  static const std::array<double, 256> fn = make_table(MQA_E4M3FN), fnuz = make_table(MQA_E4M3FNUZ);
  return flavour == MQA_E4M3FN ? fn : fnuz;
}

double decode_fp8(mqa_fp8 flavour, uint8_t byte) { return fp8_table(flavour)[byte]; }

uint8_t encode_fp8(mqa_fp8 flavour, double value) {
  if (std::isnan(value)) return flavour == MQA_E4M3FN ? 0x7F : 0x80;
  const uint8_t magnitude = nearest_magnitude(flavour, std::fabs(value));
  // FNUZ has no negative zero: that byte is its NaN.
  const bool negative = std::signbit(value) && (magnitude != 0 || flavour == MQA_E4M3FN);
  return negative ? magnitude | 0x80 : magnitude;
}

} // namespace mqalab
