// All three types from two numbers each, so that bf16 and fp16 need no compiler support.
#include "refimpl/key_types.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace mqalab {

namespace {

struct Format {
  int exponent_bits, mantissa_bits;
  int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  uint32_t infinity() const { return ((1u << exponent_bits) - 1) << mantissa_bits; }
  uint32_t sign() const { return 1u << (exponent_bits + mantissa_bits); }
};

Format format_of(mqa_key_type type) {
  switch (type) {
  case MQA_KEY_BF16: return {8, 7};
  case MQA_KEY_FP16: return {5, 10};
  case MQA_KEY_FP32: break;
  }
  return {8, 23};
}

} // namespace

int32_t key_bytes(mqa_key_type type) { return type == MQA_KEY_FP32 ? 4 : 2; }

uint32_t encode_key(mqa_key_type type, double value) {
  const Format f = format_of(type);
  const uint32_t sign = std::signbit(value) ? f.sign() : 0;
  if (std::isnan(value)) return f.infinity() | 1u << (f.mantissa_bits - 1);
  if (std::isinf(value)) return sign | f.infinity();
  if (value == 0) return sign;
  // Mantissas of one exponent are integers after this scaling; a carry out of them moves the exponent by
  // itself.
  const int exponent = std::max(std::ilogb(value), 1 - f.bias());
  const double mantissa = std::nearbyint(std::ldexp(std::fabs(value), f.mantissa_bits - exponent));
  if (exponent > f.bias()) return sign | f.infinity();
  const auto code = (uint32_t(exponent + f.bias() - 1) << f.mantissa_bits) + uint32_t(mantissa);
  return sign | std::min(code, f.infinity());
}

float decode_key(mqa_key_type type, uint32_t bits) {
  const Format f = format_of(type);
  const auto exponent = int((bits & f.infinity()) >> f.mantissa_bits);
  const uint32_t mantissa = bits & ((1u << f.mantissa_bits) - 1);
  const float sign = bits & f.sign() ? -1.0f : 1.0f;
  if (exponent == (1 << f.exponent_bits) - 1)
    return mantissa ? std::numeric_limits<float>::quiet_NaN() : sign * std::numeric_limits<float>::infinity();
  const uint32_t whole = exponent ? mantissa | 1u << f.mantissa_bits : mantissa;
  return sign * std::ldexp(float(whole), std::max(exponent, 1) - f.bias() - f.mantissa_bits);
}

uint32_t load_key_bits(mqa_key_type type, const uint8_t* from) {
  uint32_t bits = 0;
  std::memcpy(&bits, from, size_t(key_bytes(type)));
  return bits;
}

void store_key_bits(mqa_key_type type, uint32_t bits, uint8_t* to) {
  std::memcpy(to, &bits, size_t(key_bytes(type)));
}

float largest_key(mqa_key_type type) { return decode_key(type, format_of(type).infinity() - 1); }

} // namespace mqalab
