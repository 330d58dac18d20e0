// Edge coverage of machine code: the map must show the other
// side of a branch, and nothing but what was executed.
#include "testing.hpp"

#include <algorithm>

using namespace amdsim_test;
using Map = std::vector<uint8_t>;

namespace {

constexpr size_t map_bytes = 65536;

__global__ void steps(int* out, int n) { // a loop and a branch that depend on data
  int sum = 0;
  for (int i = 0; i < n; i++) sum += out[i & 7] * i;
  if (n > 10) out[9] = sum;
  out[8] = sum;
}
__global__ void same_steps(int* out, int n) {
  int sum = 0;
  for (int i = 0; i < n; i++) sum += out[i & 7] * i;
  if (n > 10) out[9] = sum;
  out[8] = sum;
}
__global__ void divergent(int* out, int lanes) {
  if (static_cast<int>(threadIdx.x) < lanes) out[threadIdx.x] = 1;
}

template <class Launch> Map covered(Launch launch, size_t bytes = map_bytes) {
  Map map(bytes);
  EXPECT_EQ(amdsim_coverage_into(map.data(), map.size()), 0);
  launch();
  EXPECT_EQ(hipDeviceSynchronize(), hipSuccess) << amdsim_last_message();
  amdsim_coverage_into(nullptr, 0);
  return map;
}
size_t counters(const Map& map) { return map.size() - std::count(map.begin(), map.end(), 0); }
size_t new_counters(const Map& map, const Map& seen) {
  size_t n = 0;
  for (size_t i = 0; i < map.size(); i++) n += map[i] && !seen[i];
  return n;
}

class Coverage : public Simulator {
protected:
  DeviceArray<int> out{256};
  Map of_steps(int n) {
    return covered([&] { steps<<<1, 64>>>(out, n); });
  }
};

TEST_F(Coverage, TheOtherSideOfABranchShowsNewCounters) {
  const Map small = of_steps(5), large = of_steps(15);
  EXPECT_GT(counters(small), 0u);
  EXPECT_GT(new_counters(large, small), 0u);
  EXPECT_GT(new_counters(small, large), 0u);
}

TEST_F(Coverage, TheSameRunTwiceGivesTheSameMap) { EXPECT_EQ(of_steps(15), of_steps(15)); }

TEST_F(Coverage, TheOrderOfBlocksDoesNotMatter) {
  const auto run = [&] { return covered([&] { steps<<<7, 192>>>(out, 12); }); };
  const Map in_order = run();
  ASSERT_EQ(amdsim_set("SCHED", "random:5"), 0);
  EXPECT_EQ(run(), in_order);
}

TEST_F(Coverage, CountersAddUpAndSaturate) {
  Map map(map_bytes);
  amdsim_coverage_into(map.data(), map.size());
  for (int launch = 0; launch < 3; launch++) steps<<<1, 64>>>(out, 5);
  const Map three = map;
  for (int launch = 0; launch < 300; launch++) steps<<<1, 64>>>(out, 5);
  EXPECT_EQ(*std::min_element(three.begin(), three.end(),
                              [](int a, int b) { return (a ? a : 256) < (b ? b : 256); }),
            3);
  for (size_t i = 0; i < map.size(); i++) EXPECT_EQ(map[i], three[i] ? 255 : 0);
}

TEST_F(Coverage, KernelsWithTheSameCodeHaveTheirOwnCounters) {
  const Map one = of_steps(5), other = covered([&] { same_steps<<<1, 64>>>(out, 5); });
  EXPECT_EQ(counters(one), counters(other));
  EXPECT_EQ(new_counters(one, other), counters(one));
}

TEST_F(Coverage, LanesSwitchedOffAreFactsOfTheirOwn) {
  const auto lanes_on = [&](int n) { return covered([&] { divergent<<<1, 64>>>(out, n); }); };
  const Map all = lanes_on(64), some = lanes_on(20), none = lanes_on(0);
  EXPECT_GT(new_counters(some, all), 0u);
  EXPECT_GT(new_counters(none, all), 0u);
  EXPECT_GT(new_counters(none, some), 0u);
  EXPECT_EQ(some, lanes_on(33)) << "how many are on is no fact";
}

TEST_F(Coverage, ABlockOfLessThanAWaveHasAllItsLanes) {
  const Map full = covered([&] { divergent<<<1, 64>>>(out, 64); });
  EXPECT_EQ(covered([&] { divergent<<<1, 40>>>(out, 64); }), full);
}

TEST_F(Coverage, NothingIsCountedWhenOff) {
  Map map(map_bytes);
  amdsim_coverage_into(map.data(), map.size());
  amdsim_coverage_into(nullptr, 0);
  steps<<<1, 64>>>(out, 5);
  EXPECT_EQ(counters(map), 0u);
}

TEST_F(Coverage, AMapHasAPowerOfTwoOfBytes) {
  Map map(map_bytes);
  for (size_t bytes : {0, 3, 100, 65535}) {
    EXPECT_EQ(amdsim_coverage_into(map.data(), bytes), -1);
    EXPECT_NE(std::string(amdsim_last_message()).find("power of two"), std::string::npos);
  }
  for (size_t bytes : {1, 64, 4096})
    EXPECT_GT(counters(covered([&] { steps<<<1, 64>>>(out, 5); }, bytes)), 0u);
}

TEST_F(Coverage, WhatAFaultedLaunchExecutedIsCovered) {
  Map map(map_bytes);
  amdsim_coverage_into(map.data(), map.size());
  steps<<<1, 64>>>(nullptr, 5);
  divergent<<<1, 64>>>(nullptr, 20);
  amdsim_clear_error();
  divergent<<<1, 64>>>(nullptr, 20);
  EXPECT_EQ(hipDeviceSynchronize(), hipErrorIllegalAddress);
  EXPECT_GT(counters(map), 0u);
}

} // namespace
