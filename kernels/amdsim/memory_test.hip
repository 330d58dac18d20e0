// Hours of allocating: what is freed stays inaccessible for a while, and nothing grows without end.
#include "testing.hpp"

#include <fstream>
#include <random>

using namespace amdsim_test;

namespace {

__global__ void store(int* out) { out[threadIdx.x] = 1; }

constexpr int freed_kept = 512;

int* allocate(size_t bytes) {
  void* p = nullptr;
  EXPECT_EQ(hipMalloc(&p, bytes), hipSuccess) << amdsim_last_message();
  return static_cast<int*>(p);
}
void allocate_and_free(size_t bytes) { EXPECT_EQ(hipFree(allocate(bytes)), hipSuccess); }

size_t mappings() {
  std::ifstream maps("/proc/self/maps");
  size_t lines = 0;
  for (std::string line; std::getline(maps, line);) lines++;
  return lines;
}

class Memory : public Simulator {};
using MemoryDeathTest = Memory;

TEST_F(Memory, AUseAfterTheFreeIsSeenUntilManyLaterFrees) {
  int* freed = allocate(4096);
  ASSERT_EQ(hipFree(freed), hipSuccess);
  for (int i = 0; i < freed_kept - 1; i++) allocate_and_free(4096);
  store<<<1, 64>>>(freed);
  EXPECT_EQ(hipDeviceSynchronize(), hipErrorIllegalAddress);
  EXPECT_NE(std::string(amdsim_last_message()).find("FREED"), std::string::npos) << amdsim_last_message();
}

TEST_F(MemoryDeathTest, HostCodeThatUsesFreedMemoryDies) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  for (size_t bytes : {size_t{4096}, size_t{1} << 20})
    EXPECT_DEATH(
        {
          volatile int* freed = allocate(bytes);
          (void)hipFree(const_cast<int*>(freed));
          freed[0] = 1;
        },
        "");
}

TEST_F(Memory, MappingsDoNotGrowWithTheNumberOfCases) {
  std::mt19937 random(1);
  const auto cases = [&](int n) {
    for (int i = 0; i < n; i++) allocate_and_free(1 + random() % (i % 16 ? 300000 : 20000000));
  };
  cases(3000);
  const size_t before = mappings();
  cases(6000);
  EXPECT_LT(mappings(), before + 200);
}

TEST_F(Memory, AddressesUsedAgainAreZero) {
  for (int i = 0; i < 2 * freed_kept + 100; i++) {
    int* p = allocate(5000);
    for (int k = 0; k < 1250; k++) ASSERT_EQ(p[k], 0);
    memset(p, 0xff, 5000);
    ASSERT_EQ(hipFree(p), hipSuccess);
  }
}

TEST_F(Memory, BoundsAreExactForAddressesUsedAgain) {
  for (int i = 0; i < freed_kept + 10; i++) allocate_and_free(40000);
  for (size_t bytes : {256, 252, 33000}) {
    int* p = allocate(bytes);
    store<<<1, 64>>>(p + bytes / 4 - 64);
    EXPECT_EQ(hipDeviceSynchronize(), bytes >= 256 ? hipSuccess : hipErrorIllegalAddress);
    amdsim_clear_error();
    store<<<1, 64>>>(p + bytes / 4 - 63);
    EXPECT_EQ(hipDeviceSynchronize(), hipErrorIllegalAddress);
    amdsim_clear_error();
    EXPECT_EQ(hipFree(p), hipSuccess);
  }
}

TEST_F(Memory, AllocationsOfManyGiBAreNotTouched) {
  const auto resident_pages = [] {
    size_t total, resident;
    std::ifstream("/proc/self/statm") >> total >> resident;
    return resident;
  };
  ASSERT_EQ(amdsim_set("POISON", "7fc0dead"), 0);
  const size_t before = resident_pages();
  int* p = allocate(size_t{100} << 30);
  store<<<1, 64>>>(p + (size_t{20} << 30));
  EXPECT_EQ(hipDeviceSynchronize(), hipSuccess) << amdsim_last_message();
  EXPECT_LT(resident_pages(), before + 10000);
  EXPECT_EQ(hipFree(p), hipSuccess);
}

TEST_F(Memory, WhatIsUsedIsGivenBack) {
  size_t before, after, total;
  ASSERT_EQ(hipMemGetInfo(&before, &total), hipSuccess);
  for (int i = 0; i < 1000; i++) allocate_and_free(100000);
  store<<<1, 64>>>(DeviceArray<int>(64));
  ASSERT_EQ(hipMemGetInfo(&after, &total), hipSuccess);
  EXPECT_NEAR(static_cast<double>(before), static_cast<double>(after), 1 << 20); // but the code object
}

} // namespace
