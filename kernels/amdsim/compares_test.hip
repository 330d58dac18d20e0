// Constants of comparisons: those of the launched kernels, wherever in their code, and no others.
#include "testing.hpp"

#include <algorithm>

using namespace amdsim_test;

namespace {

__device__ inline void step() { asm volatile("" ::: "memory"); }

__global__ void three_thresholds(int* out, int n, int m, long long wide) {
  if (n == 4711) {
    step();
    if (m < -77) {
      step();
      if (wide > 0x123456789) *out = 1;
    }
  }
}
__global__ void of_lanes(int* out, int n) {
  if (static_cast<int>(threadIdx.x) * n == 137) out[threadIdx.x] = 1;
}
__global__ void of_floats(float* out, float x) {
  if (x > 4.0f) *out = x;
}

class Compares : public Simulator {
protected:
  static std::vector<int64_t> constants() {
    std::vector<int64_t> all(amdsim_compare_constants(nullptr, 0));
    EXPECT_EQ(amdsim_compare_constants(all.data(), all.size()), all.size());
    return all;
  }
  // A threshold, or what a compiler made of it: n <= 5 for n < 6.
  static bool has(int64_t value) {
    const auto all = constants();
    return std::any_of(all.begin(), all.end(), [&](int64_t v) { return v >= value - 1 && v <= value + 1; });
  }
  DeviceArray<int> out{64};
};

TEST_F(Compares, AreFoundBehindBranchesThatWereNotTaken) {
  amdsim_collect_compares(1);
  three_thresholds<<<1, 64>>>(out, 1, 1, 1);
  EXPECT_TRUE(has(4711));
  EXPECT_TRUE(has(-77));
}

TEST_F(Compares, OfLanesAreFoundToo) {
  amdsim_collect_compares(1);
  of_lanes<<<1, 64>>>(out, 1);
  EXPECT_TRUE(has(137));
}

TEST_F(Compares, OfKernelsThatWereNotLaunchedAreNot) {
  amdsim_collect_compares(1);
  of_lanes<<<1, 64>>>(out, 1);
  EXPECT_FALSE(has(4711));
  three_thresholds<<<1, 64>>>(out, 1, 1, 1);
  EXPECT_TRUE(has(4711) && has(137));
}

TEST_F(Compares, OfFloatsAreNone) {
  amdsim_collect_compares(1);
  of_floats<<<1, 64>>>(reinterpret_cast<float*>(static_cast<int*>(out)), 1);
  EXPECT_FALSE(has(0x40800000) || has(4));
}

TEST_F(Compares, AreAscendingAndEachOnce) {
  amdsim_collect_compares(1);
  three_thresholds<<<1, 64>>>(out, 1, 1, 1);
  three_thresholds<<<1, 64>>>(out, 2, 1, 1);
  const auto all = constants();
  EXPECT_TRUE(std::is_sorted(all.begin(), all.end(), std::less_equal<>{}));
  int64_t two[2] = {};
  EXPECT_EQ(amdsim_compare_constants(two, 2), all.size()) << "how many there are, not how many fitted";
  EXPECT_EQ(two[1], all[1]);
}

TEST_F(Compares, AreForgottenWhenCollectingBeginsAgain) {
  EXPECT_EQ(amdsim_collect_compares(1), 0);
  of_lanes<<<1, 64>>>(out, 1);
  EXPECT_EQ(amdsim_collect_compares(1), 1);
  EXPECT_TRUE(constants().empty());
  EXPECT_EQ(amdsim_collect_compares(0), 1);
  of_lanes<<<1, 64>>>(out, 1);
  EXPECT_TRUE(constants().empty()) << "off";
}

} // namespace
