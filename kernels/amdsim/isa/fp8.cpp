// FP8 numbers by the book, in double; the handlers look values up in the tables made here.
#include "fp8.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace amdsim {
namespace {

float decode(uint8_t code, Fp8Format f) {
  const int mb = f.mantissa_bits(), all_ones = (1 << f.exponent_bits()) - 1;
  const int e = code >> mb & all_ones, m = code & ((1 << mb) - 1);
  const float sign = code & 0x80 ? -1 : 1;
  if (f.fnuz && code == 0x80) return NAN;
  if (!f.fnuz && f.bf8 && e == all_ones) return m ? NAN : sign * INFINITY;
  if (!f.fnuz && !f.bf8 && (code & 0x7f) == 0x7f) return NAN;
  const float fraction = (float)m / (1 << mb);
  return sign * (e ? std::ldexp(1 + fraction, e - f.bias()) : std::ldexp(fraction, 1 - f.bias()));
}

typedef std::array<float, 256> Table;
Table table(Fp8Format f) {
  Table t;
  for (int code = 0; code < 256; code++) t[code] = decode(code, f);
  return t;
}

} // namespace

const float* fp8_values(Fp8Format f) {
  static const Table tables[2][2] = {{table({false, false}), table({false, true})},
                                     {table({true, false}), table({true, true})}};
  return tables[f.bf8][f.fnuz].data();
}

uint8_t fp8_encode(float x, Fp8Format f, Fp8Rounding r) {
  const int mb = f.mantissa_bits(), bias = f.bias();
  const uint8_t sign = std::signbit(x) ? 0x80 : 0, zero = f.fnuz ? 0 : sign;
  const uint8_t nan = f.fnuz ? 0x80 : 0x7f | sign;
  const int largest = f.fnuz ? 0x7f : f.bf8 ? 0x7b : 0x7e;
  const uint8_t overflow = r.saturate ? largest | sign : f.fnuz ? 0x80 : f.bf8 ? 0x7c | sign : 0x7f | sign;
  if (std::isnan(x)) return nan;
  if (std::isinf(x)) return overflow;
  const double magnitude = std::fabs((double)x);
  if (magnitude == 0) return zero;
  const int e = std::max((int)std::ilogb(magnitude), 1 - bias);
  const double units = std::ldexp(magnitude, mb - e); // of the last place
  const double random = std::ldexp((double)(r.random >> 8), -24);
  int k = (int)(r.stochastic ? std::floor(units + random) : std::nearbyint(units)), field = e + bias;
  if (k >= 2 << mb) k >>= 1, field++;
  if (k < 1 << mb) field = 0; // subnormal
  const int code = field ? field << mb | (k - (1 << mb)) : k;
  return code == 0 ? zero : code > largest ? overflow : code | sign;
}

} // namespace amdsim
