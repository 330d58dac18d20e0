// The bound against models of the matrix units: never violated, never idle.
#include "refimpl/bound.hpp"
#include "refimpl/random.hpp"
#include "refimpl/test_accumulators.hpp"

#include <gtest/gtest.h>

#include <array>

namespace mqalab {
namespace {

constexpr Accumulation kUnits[] = {Accumulation::cdna3_fp8,    Accumulation::hmma16,
                                   Accumulation::mma_fp8_sm90, Accumulation::wgmma_fp8,
                                   Accumulation::fp32_fma,     Accumulation::loosest};

enum class Data { gaussian, integers, powers, bytes, subnormals, cancelling };
constexpr Data kData[] = {Data::gaussian, Data::integers,   Data::powers,
                          Data::bytes,    Data::subnormals, Data::cancelling};

uint8_t draw_byte(mqa_fp8 flavour, Data data, const Stream& s) {
  switch (data) {
  case Data::gaussian:
  case Data::cancelling: return encode_fp8(flavour, 16 * s.gaussian());
  case Data::integers: return encode_fp8(flavour, double(s.below(17)) - 8);
  case Data::powers: return encode_fp8(flavour, std::ldexp(s.below(2, 1) ? 1 : -1, int(s.below(15)) - 7));
  case Data::subnormals: return uint8_t(s.below(s.below(8, 1) ? 8 : 64) | (s.below(2, 2) << 7));
  case Data::bytes: break;
  }
  return uint8_t(s.below(256));
}

// A pair of vectors without NaN codes; of cancelling data the second half undoes the first, but for one
// element.
void draw_vectors(mqa_fp8 flavour, Data data, const Stream& s, std::span<uint8_t> q, std::span<uint8_t> k) {
  for (size_t d = 0; d < q.size(); ++d) {
    q[d] = draw_byte(flavour, data, s.at(1).at(d)), k[d] = draw_byte(flavour, data, s.at(2).at(d));
    const size_t half = q.size() / 2;
    if (data == Data::cancelling && d >= half && d + 1 < q.size())
      q[d] = encode_fp8(flavour, -decode_fp8(flavour, q[d - half])), k[d] = k[d - half];
    for (uint8_t* byte : {&q[d], &k[d]})
      if (is_nan_code(flavour, *byte)) *byte = 0;
  }
}

struct Terms {
  double exact = 0, sum_abs = 0, largest = 0;
};
Terms terms_of(std::span<const Product> products) {
  Terms t;
  for (const Product& p : products) {
    if (p.value == 0) continue;
    const double power = std::ldexp(1.0, p.exponent);
    t.exact += p.value, t.sum_abs += std::max(std::fabs(p.value), power),
        t.largest = std::max(t.largest, power);
  }
  return t;
}

// Largest error/bound over many vectors.
double worst_ratio(Accumulation unit, int32_t head_dim, Data data, int vectors) {
  double worst = 0;
  std::vector<uint8_t> q(head_dim), k(head_dim);
  for (int i = 0; i < vectors; ++i) {
    const mqa_fp8 flavour = i % 2 ? MQA_E4M3FNUZ : MQA_E4M3FN;
    draw_vectors(flavour, data, Stream(uint64_t(i), 9), q, k);
    const std::vector<Product> products = products_of(flavour, q, k);
    const Terms t = terms_of(products);
    const double error = std::fabs(model_dot(unit, products) - t.exact);
    const double bound = dot_bound(unit, head_dim, t.sum_abs, t.largest);
    if (error != 0) worst = std::max(worst, bound == 0 ? 1e9 : error / bound);
  }
  return worst;
}

TEST(Bound, IsNeverViolatedByAModelOfItsUnitAndIsNotIdle) {
  for (Accumulation unit : kUnits)
    for (int32_t head_dim : {32, 64, 128, 256}) {
      double worst = 0;
      for (Data data : kData) {
        const double ratio = worst_ratio(unit, head_dim, data, 400);
        EXPECT_LE(ratio, 1) << name(unit) << " head_dim " << head_dim << " data " << int(data);
        worst = std::max(worst, ratio);
      }
      EXPECT_GE(worst, 1.0 / 200) << name(unit) << " head_dim " << head_dim << ": the bound is vacuous";
      RecordProperty(std::string(name(unit)) + "_" + std::to_string(head_dim), std::to_string(worst));
    }
}

TEST(Bound, OfAWideUnitIsViolatedByANarrowOne) {
  std::vector<uint8_t> q(128), k(128);
  int violated = 0;
  for (int i = 0; i < 200; ++i) {
    draw_vectors(MQA_E4M3FN, Data::gaussian, Stream(uint64_t(i), 10), q, k);
    const std::vector<Product> products = products_of(MQA_E4M3FN, q, k);
    const Terms t = terms_of(products);
    const double error = std::fabs(model_dot(Accumulation::wgmma_fp8, products) - t.exact);
    violated += !(error <= dot_bound(Accumulation::cdna3_fp8, 128, t.sum_abs, t.largest));
  }
  EXPECT_GT(violated, 100);
}

TEST(Bound, MatchesTheTableOfTheReferenceText) {
  const double u = kRoundoff, huge = 1e3; // P == Cmax == A'
  EXPECT_NEAR(dot_bound(Accumulation::cdna3_fp8, 128, huge, huge), 168 * u * huge, 1e-4 * u * huge * 168);
  EXPECT_NEAR(dot_bound(Accumulation::hmma16, 128, huge, huge), 84 * u * huge, 1e-4 * u * huge * 84);
  EXPECT_NEAR(dot_bound(Accumulation::mma_fp8_sm90, 128, huge, huge), 88 * u * huge, 1e-4 * u * huge * 88);
  EXPECT_NEAR(dot_bound(Accumulation::wgmma_fp8, 128, huge, huge), 136 * 0x1p-13 * huge,
              0.02 * 136 * 0x1p-13 * huge);
  EXPECT_NEAR(dot_bound(Accumulation::fp32_fma, 128, huge, huge), 128 * u * huge, 1e-4 * 128 * u * huge);
}

TEST(Bound, OfTheLoosestClassCoversEveryOther) {
  for (Accumulation unit : kUnits)
    for (int32_t head_dim : {16, 32, 64, 128, 256})
      for (double largest : {0.0, 1.0, 100.0})
        EXPECT_LE(dot_bound(unit, head_dim, 100, largest),
                  dot_bound(Accumulation::loosest, head_dim, 100, largest));
}

TEST(Bound, OfADotOfZerosIsZero) {
  for (Accumulation unit : kUnits) EXPECT_EQ(dot_bound(unit, 128, 0, 0), 0) << name(unit);
}

TEST(Bound, SparesTheExactLaneInEveryUnit) {
  for (Accumulation unit : kUnits) {
    std::vector<uint8_t> q(128), k(128);
    for (int i = 0; i < 500; ++i) {
      draw_vectors(MQA_E4M3FN, Data::integers, Stream(uint64_t(i), 11), q, k);
      const std::vector<Product> products = products_of(MQA_E4M3FN, q, k);
      EXPECT_EQ(model_dot(unit, products), terms_of(products).exact) << name(unit);
    }
  }
}

} // namespace
} // namespace mqalab
