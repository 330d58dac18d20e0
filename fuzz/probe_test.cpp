// The probe's questions put to models of each class, and to the device at hand.
#include "fuzz/policy.hpp"
#include "fuzz/probe.hpp"
#include "refimpl/test_accumulators.hpp"

#include <gmock/gmock.h>

#include <cstdlib>

namespace mqalab {
namespace {

using testing::HasSubstr;

double decode_half(uint32_t bits) {
  const int field = static_cast<int>(bits >> 10 & 31), mantissa = static_cast<int>(bits & 1023);
  const double magnitude = field ? std::ldexp(1024 + mantissa, field - 25) : std::ldexp(mantissa, -24);
  return bits & 0x8000 ? -magnitude : magnitude;
}

struct Model {
  Accumulation accumulation;
  UnitShape shape;
  mqa_fp8 flavour = MQA_E4M3FN;

  double operand(const uint32_t (&words)[8], int k) const {
    if (shape.operands == Operands::half) return decode_half(words[k / 2] >> 16 * (k % 2) & 0xffff);
    return decode_fp8(flavour, static_cast<uint8_t>(words[k / 4] >> 8 * (k % 4)));
  }
  float sum(const FusedDot& dot) const {
    const int smallest = shape.operands == Operands::half ? -14 : flavour == MQA_E4M3FN ? -6 : -7;
    const auto exponent = [smallest](double v) { return std::max(smallest, std::ilogb(v)); };
    std::vector<Product> products;
    for (int k = 0; k < shape.terms; ++k) {
      const double a = operand(dot.a, k), b = operand(dot.b, k);
      if (std::isnan(a * b)) return std::numeric_limits<float>::quiet_NaN();
      products.push_back(a * b == 0 ? Product{} : Product{a * b, exponent(a) + exponent(b)});
    }
    return static_cast<float>(model_dot(accumulation, products, dot.c));
  }
  UnitAnswers answers() const {
    return ask(shape, [this](std::span<const FusedDot> dots) {
      std::vector<float> sums;
      for (const FusedDot& dot : dots) sums.push_back(sum(dot));
      return sums;
    });
  }
};

constexpr UnitShape kFp8{Operands::fp8, 32}, kHalf{Operands::half, 16};

TEST(Probe, TellsTheModelsOfTheClassesApart) {
  for (const Model& m :
       {Model{Accumulation::cdna3_fp8, kFp8, MQA_E4M3FNUZ}, Model{Accumulation::cdna3_fp8, kFp8},
        Model{Accumulation::wgmma_fp8, kFp8}, Model{Accumulation::hmma16, kHalf},
        Model{Accumulation::mma_fp8_sm90, kFp8}, Model{Accumulation::fp32_fma, kFp8},
        Model{Accumulation::fp32_fma, kFp8, MQA_E4M3FNUZ}}) {
    const UnitAnswers answers = m.answers();
    const UnitClass found = classify(m.shape, answers);
    EXPECT_EQ(found.accumulation, m.accumulation) << name(m.accumulation) << ": " << text(answers);
    EXPECT_EQ(found.reason, "");
    EXPECT_EQ(answers.flavour, m.shape.operands == Operands::fp8 ? std::optional(m.flavour) : std::nullopt);
    EXPECT_EQ(answers.negative_zero_is_nan, m.flavour == MQA_E4M3FNUZ && answers.flavour);
  }
}

// What an unknown unit may do, one answer at a time: its results are judged by the loosest bound.
TEST(Probe, OneAnswerThatNoClassGivesSelectsTheLoosest) {
  const UnitAnswers known = Model{Accumulation::cdna3_fp8, kFp8}.answers();
  std::vector<UnitAnswers> doctored(9, known);
  --doctored[0].product_bits;
  --doctored[1].beside_accumulator_bits;
  --doctored[2].accumulator_bits;
  doctored[3].product = Cut::floored;
  doctored[4].other_half = Cut::truncated;
  doctored[5].accumulator = Cut::nearest;
  doctored[6].sum = Cut::truncated;
  doctored[7].fused_with_first = ~0x11u;
  doctored[8].subnormals_kept = false;
  for (const UnitAnswers& answers : doctored) {
    const UnitClass found = classify(kFp8, answers);
    EXPECT_EQ(found.accumulation, Accumulation::loosest) << text(answers);
    EXPECT_THAT(found.reason, HasSubstr("no known class")) << text(answers);
  }
  EXPECT_EQ(classify(kHalf, known).accumulation, Accumulation::loosest); // another number of terms
}

TEST(Probe, AUnitThatKnowsNeitherFlavourAnswersNothing) {
  const FusedUnit zeros = [](std::span<const FusedDot> dots) { return std::vector<float>(dots.size()); };
  EXPECT_THROW(ask(kFp8, zeros), std::runtime_error);
}

TEST(Probe, AProbeThatCannotRunSaysWhyAndSelectsTheLoosest) {
#ifdef MQA_PLATFORM_NVIDIA
  const UnitReport report = probe(Unit::mfma_fp8);
#else
  const UnitReport report = probe(Unit::wgmma_fp8);
#endif
  EXPECT_FALSE(report.answers);
  EXPECT_EQ(report.found.accumulation, Accumulation::loosest);
  EXPECT_THAT(report.found.reason, HasSubstr("launch failed"));
}

TEST(Probe, EveryUnitOfThisDeviceIsOfAKnownClass) {
  for (const Unit unit : units()) {
    const UnitReport& report = probed(unit);
    ASSERT_TRUE(report.answers) << name(unit) << ": " << report.found.reason;
    EXPECT_NE(report.found.accumulation, Accumulation::loosest)
        << name(unit) << ": " << text(*report.answers);
    EXPECT_EQ(&probed(unit), &report); // asked once
  }
  EXPECT_EQ(declared_policy(MQA_VARIANT_GENERAL).accumulation, Accumulation::fp32_fma);
}

#ifdef MQA_PLATFORM_NVIDIA
TEST(Probe, HopperIsOfTheClassesThatTheReferenceMeasured) {
  EXPECT_EQ(declared_policy(MQA_VARIANT_WGMMA).accumulation, Accumulation::wgmma_fp8);
  EXPECT_EQ(declared_policy(MQA_VARIANT_STAGED).accumulation, Accumulation::hmma16);
}
#endif

#ifdef MQALAB_SIM
class SimulatedMatrixUnit : public testing::Test {
protected:
  ~SimulatedMatrixUnit() override { unsetenv("AMDSIM_MFMA"); }
  static UnitReport with_mode(const char* mode) {
    setenv("AMDSIM_MFMA", mode, 1);
    return probe(Unit::mfma_fp8);
  }
};
TEST_F(SimulatedMatrixUnit, IsThatOfCdna3WhereTheLabUsesIt) {
  const UnitReport report = probe(Unit::mfma_fp8);
  EXPECT_EQ(report.found.accumulation, Accumulation::cdna3_fp8) << text(*report.answers);
  EXPECT_EQ(report.answers->flavour, MQA_E4M3FNUZ);
  EXPECT_TRUE(report.answers->negative_zero_is_nan);
  EXPECT_EQ(declared_policy().accumulation, Accumulation::cdna3_fp8);
}
// Neither the exact sum nor one fma after the other makes more roundings than fp32_fma allows for.
TEST_F(SimulatedMatrixUnit, InOtherModesIsJudgedAsFp32) {
  for (const char* mode : {"exact", "seq"}) {
    const UnitReport report = with_mode(mode);
    EXPECT_EQ(report.found.accumulation, Accumulation::fp32_fma) << mode << ": " << text(*report.answers);
  }
}
#endif

} // namespace
} // namespace mqalab
