// Classes before numbers, and the edge of the fp32 range.
#include "refimpl/compare.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace mqalab {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kMax = std::numeric_limits<float>::max();

TEST(Compare, AcceptsNumbersUpToTheBoundAndNotBeyond) {
  EXPECT_TRUE(agrees(1, 0.25, 1.25f));
  EXPECT_TRUE(agrees(1, 0.25, 0.75f));
  EXPECT_FALSE(agrees(1, 0.25, 1.2500001f));
  EXPECT_TRUE(agrees(1, 0, 1.0f));
  EXPECT_TRUE(agrees(0, 0, -0.0f));
}

TEST(Compare, KeepsClassesApart) {
  EXPECT_TRUE(agrees(kNan, 0, kNan));
  EXPECT_TRUE(agrees(kInf, 0, kInf));
  EXPECT_TRUE(agrees(-kInf, 0, -kInf));
  EXPECT_FALSE(agrees(kNan, 1e30, 0.0f));
  EXPECT_FALSE(agrees(0, 1e30, kNan));
  EXPECT_FALSE(agrees(kInf, 1e30, kMax));
  EXPECT_FALSE(agrees(kInf, 1e30, -kInf));
  EXPECT_FALSE(agrees(-kInf, 1e30, kInf));
  EXPECT_FALSE(agrees(5, 1e30, kInf));
  EXPECT_FALSE(agrees(5, 1e30, -kInf));
}

TEST(Compare, FailsOnABoundThatIsNaN) { EXPECT_FALSE(agrees(1, kNan, 1.0f)); }

TEST(Compare, LeavesTheEdgeOfTheFp32RangeToTheBound) {
  EXPECT_TRUE(agrees(1e39, 1e32, kInf));
  EXPECT_FALSE(agrees(1e39, 1e32, kMax));
  EXPECT_TRUE(agrees(-1e39, 1e32, -kInf));
  EXPECT_FALSE(agrees(-1e39, 1e32, kInf));
  EXPECT_TRUE(agrees(double(kMax), 1e32, kInf));
  EXPECT_TRUE(agrees(double(kMax), 1e32, kMax));
  EXPECT_FALSE(agrees(double(kMax), 0, kInf));
  EXPECT_FALSE(agrees(0.9 * kMax, 1e32, kInf));
}

TEST(Compare, AcceptsAnythingWhereFp32SettlesNothing) {
  for (float got : {0.0f, kNan, kInf, -kInf}) EXPECT_TRUE(agrees(3, kAnyResult, got));
}

TEST(Compare, ExactlyMeansTheValueItself) {
  EXPECT_TRUE(agrees_exactly(0.5, 0.5f));
  EXPECT_TRUE(agrees_exactly(0, -0.0f));
  EXPECT_TRUE(agrees_exactly(kNan, kNan));
  EXPECT_FALSE(agrees_exactly(0.5, std::nextafter(0.5f, 1.0f)));
  EXPECT_FALSE(agrees_exactly(0.1, 0.1f)) << "a value that fp32 lacks belongs to no exact lane";
  EXPECT_FALSE(agrees_exactly(kNan, 0.0f));
  EXPECT_FALSE(agrees_exactly(0, kNan));
}

} // namespace
} // namespace mqalab
