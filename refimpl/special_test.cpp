// The policy table of oracle.md, section 6, and overflow at every step.
#include "refimpl/compare.hpp"
#include "refimpl/special.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace mqalab {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kMax = std::numeric_limits<float>::max();
constexpr Policy kOurs{true, true, Accumulation::cdna3_fp8};
constexpr Policy kScaleFirst{true, false, Accumulation::cdna3_fp8};
constexpr Policy kPropagate{false, true, Accumulation::cdna3_fp8};

Cell cell(std::vector<Dot> dots, std::vector<double> weights, double scale, const Policy& policy = kOurs) {
  return special_cell(dots, weights, scale, policy);
}
bool is_nan(const Cell& c) { return std::isnan(c.value); }
bool is_open(const Cell& c) { return c.bound == kAnyResult; }

// One test per row of the policy table of oracle.md, section 6.
TEST(Special, NanCodesGiveThoseHeadsZeroOrPropagate) {
  EXPECT_EQ(cell({{NAN, 0}, {3, 0}}, {1, 2}, 1).value, 6);
  EXPECT_EQ(cell({{NAN, 0}, {3, 0}}, {1, 2}, 1, kScaleFirst).value, 6);
  EXPECT_TRUE(is_nan(cell({{NAN, 0}, {3, 0}}, {1, 2}, 1, kPropagate)));
  EXPECT_TRUE(is_nan(cell({{NAN, 0}, {3, 0}}, {0, 2}, 1, kPropagate))) << "0 * NaN is NaN";
}

TEST(Special, ANanScaleIsNanAfterTheSumAndZeroBeforeRelu) {
  EXPECT_TRUE(is_nan(cell({{3, 0}}, {1}, NAN)));
  EXPECT_EQ(cell({{3, 0}}, {1}, NAN, kScaleFirst).value, 0);
  EXPECT_TRUE(is_nan(cell({{3, 0}}, {1}, NAN, {false, false, {}})));
}

TEST(Special, AnInfiniteScaleAfterTheSumTakesTheSignOfTheSum) {
  EXPECT_EQ(cell({{3, 0}}, {1}, kInf).value, kInf);
  EXPECT_EQ(cell({{3, 0}}, {-1}, kInf).value, -kInf);
  EXPECT_TRUE(is_nan(cell({{-3, 0.5}}, {1}, kInf))) << "relu leaves 0 for certain";
  EXPECT_TRUE(is_open(cell({{0.25, 0.5}}, {1}, kInf))) << "the dot may round to 0";
  EXPECT_TRUE(is_open(cell({{-0.25, 0.5}}, {1}, kInf))) << "the dot may round above 0";
  EXPECT_TRUE(is_open(cell({{3, 0.1}, {3, 0.1}}, {1, -1}, kInf))) << "the heads may cancel";
}

TEST(Special, AnInfiniteScaleBeforeReluGoesHeadByHead) {
  EXPECT_EQ(cell({{3, 0}, {-3, 0}}, {1, 1}, kInf, kScaleFirst).value, kInf);
  EXPECT_EQ(cell({{0, 0}}, {1}, kInf, kScaleFirst).value, 0) << "0 * Inf is NaN, and relu drops it";
  EXPECT_TRUE(is_nan(cell({{3, 0}, {3, 0}}, {1, -1}, kInf, kScaleFirst)));
}

TEST(Special, ANegativeScaleFlipsTheSumOrKeepsTheNegativeDots) {
  EXPECT_EQ(cell({{3, 0}, {-5, 0}}, {1, 1}, -2).value, -6);
  EXPECT_EQ(cell({{3, 0}, {-5, 0}}, {1, 1}, -2, kScaleFirst).value, 10);
}

TEST(Special, AZeroScaleGivesZero) {
  for (const Policy& policy : {kOurs, kScaleFirst, kPropagate})
    for (double zero : {0.0, -0.0}) EXPECT_EQ(cell({{3, 0}}, {1}, zero, policy).value, 0);
}

TEST(Special, OddWeightsGiveNanOrInf) {
  EXPECT_TRUE(is_nan(cell({{3, 0}}, {NAN}, 1)));
  EXPECT_TRUE(is_nan(cell({{-3, 0}}, {NAN}, 1))) << "0 * NaN is NaN";
  EXPECT_EQ(cell({{3, 0}, {1, 0}}, {kInf, 1}, 1).value, kInf);
  EXPECT_EQ(cell({{3, 0}}, {-kInf}, 1).value, -kInf);
  EXPECT_TRUE(is_nan(cell({{-3, 0.1}}, {kInf}, 1))) << "0 * Inf is NaN";
  EXPECT_TRUE(is_open(cell({{0.1, 0.2}}, {kInf}, 1)));
  EXPECT_TRUE(is_nan(cell({{3, 0}, {3, 0}}, {kInf, -kInf}, 1)));
}

TEST(Special, OverflowOfTheLastResultStaysANumberForTheComparison) {
  const Cell c = cell({{1024, 0}}, {1}, 0x1p127);
  EXPECT_EQ(c.value, 0x1p137);
  EXPECT_TRUE(agrees(c.value, c.bound, std::numeric_limits<float>::infinity()));
  EXPECT_FALSE(agrees(c.value, c.bound, std::numeric_limits<float>::max()));
}

TEST(Special, OverflowOfAnIntermediateIsInfWhenCertain) {
  EXPECT_EQ(cell({{1024, 0}}, {0x1p120}, 0x1p-60).value, kInf)
      << "the sum overflows before the scale shrinks it";
  EXPECT_EQ(cell({{1024, 0}}, {0x1p-20}, 0x1p120, kScaleFirst).value, kInf);
  EXPECT_TRUE(is_open(cell({{kMax / 0x1p100, 0x1p10}}, {0x1p100}, 0x1p-60)));
}

TEST(Special, PartialSumsThatMayOverflowSettleNothing) {
  EXPECT_TRUE(is_open(cell({{2, 0}, {2, 0}, {2, 0}, {2, 0}}, {0x1p126, 0x1p126, -0x1p126, -0x1p126}, 1)));
  EXPECT_FALSE(is_open(cell({{2, 0}, {2, 0}}, {0x1p125, -0x1p125}, 1)));
}

} // namespace
} // namespace mqalab
