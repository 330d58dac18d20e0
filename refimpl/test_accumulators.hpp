// Models of the matrix units (oracle.md, section 3), for tests: one dot product of FP8 bytes as each class
// computes it.
#pragma once
#include "refimpl/fp8.hpp"
#include "refimpl/reference.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

namespace mqalab {

// A product: its exact value and the sum of its operands' exponents, a subnormal counting as the smallest
// normal.
struct Product {
  double value = 0;
  int exponent = -126;
};

inline std::vector<Product> products_of(mqa_fp8 flavour, std::span<const uint8_t> q,
                                        std::span<const uint8_t> k) {
  const int smallest = flavour == MQA_E4M3FN ? -6 : -7;
  std::vector<Product> result;
  for (size_t i = 0; i < q.size(); ++i) {
    const double a = decode_fp8(flavour, q[i]), b = decode_fp8(flavour, k[i]);
    const auto exponent = [smallest](double v) { return std::max(smallest, std::ilogb(v)); };
    result.push_back(a * b == 0 ? Product{} : Product{a * b, exponent(a) + exponent(b)});
  }
  return result;
}

inline double truncated(double v, int unit) { return std::ldexp(std::trunc(std::ldexp(v, -unit)), unit); }
inline double floored(double v, int unit) { return std::ldexp(std::floor(std::ldexp(v, -unit)), unit); }
inline int exponent_of(double v) { return v == 0 ? -126 : std::ilogb(v); }

inline int largest_exponent(std::span<const Product> products, size_t first = 0, size_t step = 1) {
  int largest = -126;
  for (size_t i = first; i < products.size(); i += step) largest = std::max(largest, products[i].exponent);
  return largest;
}

// Products and accumulator aligned, truncated at `bits` fractional bits, added.
inline double fused(double accumulator, std::span<const Product> products, int bits) {
  const int largest = std::max(largest_exponent(products), exponent_of(accumulator));
  double sum = truncated(accumulator, largest - bits);
  for (const Product& p : products) sum += truncated(p.value, largest - bits);
  return sum;
}
inline double cut_to(double v, int bits) { return v == 0 ? 0 : truncated(v, exponent_of(v) - bits); }

inline double cdna3_step(double accumulator, std::span<const Product> products) {
  double half[2];
  int exponent[2];
  for (size_t i = 0; i < 2; ++i) {
    half[i] = 0, exponent[i] = largest_exponent(products, i, 2);
    for (size_t j = i; j < products.size(); j += 2) half[i] += truncated(products[j].value, exponent[i] - 24);
  }
  const int larger = std::max(exponent[0], exponent[1]);
  const double sum = floored(half[0], larger - 24) + floored(half[1], larger - 24);
  const int all = std::max(larger, exponent_of(accumulator));
  const double kept = exponent_of(accumulator) < all - 25 ? 0 : floored(accumulator, all - 24);
  return float(floored(sum, all - 31) + kept);
}

inline double sm90_step(double accumulator, std::span<const Product> products) {
  std::vector<Product> low, high; // k % 4 in {0, 1} and in {2, 3}
  for (size_t i = 0; i < products.size(); ++i) (i % 4 < 2 ? low : high).push_back(products[i]);
  const double first = cut_to(fused(0, low, 25), 23);
  return float(float(cut_to(fused(first, high, 25), 23)) + float(accumulator));
}

inline double model_dot(Accumulation unit, std::span<const Product> products, double sum = 0) {
  const size_t step = unit == Accumulation::fp32_fma                                    ? 1
                      : unit == Accumulation::cdna3_fp8 || unit == Accumulation::hmma16 ? 16
                                                                                        : 32;
  for (size_t i = 0; i < products.size(); i += step) {
    const auto group = products.subspan(i, std::min(step, products.size() - i));
    switch (unit) {
    case Accumulation::cdna3_fp8: sum = cdna3_step(sum, group); break;
    case Accumulation::hmma16: sum = cut_to(fused(sum, group, 25), 23); break;
    case Accumulation::mma_fp8_sm90: sum = sm90_step(sum, group); break;
    case Accumulation::wgmma_fp8:
    case Accumulation::loosest: sum = cut_to(fused(sum, group, 13), 13); break;
    case Accumulation::fp32_fma: sum = float(sum + group[0].value); break;
    }
  }
  return sum;
}

} // namespace mqalab
