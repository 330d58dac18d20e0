// Derivations.  A term aligned to the largest exponent of its group and cut at b fractional bits loses less
// than 2^-b * max(P, C), with P the largest power of two of a product and C the accumulator: 2^floor(log2 C)
// <= C.  C never exceeds the sum of magnitudes A' by more than the error itself, hence the division by (1 -
// share) below; P <= A'.
#include "refimpl/bound.hpp"

#include <algorithm>

namespace mqalab {

namespace {

// share * max(P, C) with C <= A' + error and P <= A'.
DotBound of_running_sum(double share) { return {0, share / (1 - share)}; }

int groups(int32_t head_dim, int terms) { return (head_dim + terms - 1) / terms; }

// Per group of 16: 16 truncations and two floored halves at 24 bits of P: 18 u P.  Accumulator floor, the
// 31-bit floor and the final rounding: 3 u max(P, C).
DotBound cdna3(int32_t head_dim) {
  const int g = groups(head_dim, 16);
  const DotBound running = of_running_sum(3 * g * kRoundoff);
  return {18 * g * kRoundoff * (1 + running.of_sum), running.of_sum};
}

// Per step of 16 products: 17 truncations (16 products and the accumulator) at 25 fractional bits, 2^-25 =
// u/2 each, and the sum truncated to fp32, which loses less than 2^-23 = 2u of it: 17/2 + 2 = 10.5 u max(P,
// C).
DotBound hmma16(int32_t head_dim) { return of_running_sum(groups(head_dim, 16) * 10.5 * kRoundoff); }

// Per 32 products: two groups of 17 truncations (17 u), each truncated to fp32 (2 u twice), one rounded add
// (u).
DotBound mma_fp8_sm90(int32_t head_dim) { return of_running_sum(groups(head_dim, 32) * 22 * kRoundoff); }

// Per 32 products: they and the accumulator truncated at 13 fractional bits, and so is the sum: 34 units of
// 2^-13.
DotBound wgmma_fp8(int32_t head_dim) { return of_running_sum(groups(head_dim, 32) * 34 * 0x1p-13); }

// head_dim rounded additions (the products are exact), in any order.
DotBound fp32_fma(int32_t head_dim) { return {0, roundings(head_dim)}; }

} // namespace

DotBound dot_bound_terms(Accumulation accumulation, int32_t head_dim) {
  switch (accumulation) {
  case Accumulation::cdna3_fp8: return cdna3(head_dim);
  case Accumulation::hmma16: return hmma16(head_dim);
  case Accumulation::mma_fp8_sm90: return mma_fp8_sm90(head_dim);
  case Accumulation::wgmma_fp8: return wgmma_fp8(head_dim);
  case Accumulation::fp32_fma: return fp32_fma(head_dim);
  case Accumulation::loosest: break;
  }
  DotBound loosest;
  for (auto known : {cdna3, hmma16, mma_fp8_sm90, wgmma_fp8, fp32_fma}) {
    loosest.of_largest = std::max(loosest.of_largest, known(head_dim).of_largest);
    loosest.of_sum = std::max(loosest.of_sum, known(head_dim).of_sum);
  }
  return loosest;
}

double dot_bound(Accumulation accumulation, int32_t head_dim, double sum_abs, double largest) {
  const DotBound terms = dot_bound_terms(accumulation, head_dim);
  return terms.of_largest * largest + terms.of_sum * sum_abs;
}

std::string_view name(Accumulation accumulation) {
  switch (accumulation) {
  case Accumulation::cdna3_fp8: return "cdna3_fp8";
  case Accumulation::hmma16: return "hmma16";
  case Accumulation::mma_fp8_sm90: return "mma_fp8_sm90";
  case Accumulation::wgmma_fp8: return "wgmma_fp8";
  case Accumulation::fp32_fma: return "fp32_fma";
  case Accumulation::loosest: return "loosest";
  }
  return "unknown";
}

} // namespace mqalab
