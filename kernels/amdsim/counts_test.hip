// Counts of a launch against kernels whose instructions can be counted by hand.
#include "testing.hpp"

using namespace amdsim_test;

namespace {

__global__ void store_one(int* out) { out[blockIdx.x * blockDim.x + threadIdx.x] = 1; }
__global__ void loop_of_block(int* out) { // block b goes round 10 b times
  int sum = 0;
  for (unsigned i = 0; i < 10 * blockIdx.x; i++) sum += out[i & 63];
  out[64 + blockIdx.x] = sum;
}
__global__ void through_lds(int* out) {
  __shared__ int lds[128];
  extern __shared__ int dynamic[];
  lds[threadIdx.x] = dynamic[threadIdx.x] = threadIdx.x;
  __syncthreads();
  out[threadIdx.x] = lds[127 - threadIdx.x] + dynamic[threadIdx.x];
}
__global__ void matrix([[maybe_unused]] float* out) {
#ifdef __HIP_DEVICE_COMPILE__
  typedef float v4f __attribute__((ext_vector_type(4)));
  v4f sum = {};
  for (int i = 0; i < 3; i++)
    sum = __builtin_amdgcn_mfma_f32_16x16x32_fp8_fp8(0x3838383838383838, 0x3838383838383838, sum, 0, 0, 0);
  out[threadIdx.x] = sum[0];
#endif
}

class Counts : public Simulator {
protected:
  Counts() { amdsim_collect_counts(1); }
  static amdsim_counts last() {
    amdsim_counts counts = {};
    counts.struct_size = sizeof counts;
    EXPECT_EQ(hipDeviceSynchronize(), hipSuccess) << amdsim_last_message();
    EXPECT_EQ(amdsim_counts_last(&counts), 0) << amdsim_last_message();
    return counts;
  }
  DeviceArray<int> out{4096};
};

TEST_F(Counts, AStoreOfEveryLane) {
  store_one<<<5, 128>>>(out);
  const amdsim_counts c = last();
  EXPECT_EQ(c.waves, 10u);
  EXPECT_EQ(c.blocks, 5u);
  EXPECT_EQ(c.threads_per_block, 128u);
  EXPECT_EQ(c.vmem_store, 10u);
  EXPECT_EQ(c.vmem_store_bytes, 5u * 128 * 4);
  EXPECT_EQ(c.vmem_load + c.lds + c.mfma + c.barrier, 0u);
  EXPECT_EQ(c.instructions, c.valu + c.valu_packed + c.trans + c.vmem_store + c.smem + c.salu + c.branch +
                                c.waitcnt + c.other);
}

TEST_F(Counts, AreOfTheLastLaunchOnly) {
  store_one<<<5, 128>>>(out);
  store_one<<<1, 64>>>(out);
  EXPECT_EQ(last().vmem_store, 1u);
}

TEST_F(Counts, TheLargestBlockOfAnUnbalancedGrid) {
  loop_of_block<<<1, 64>>>(out);
  const uint64_t empty_loop = last().instructions;
  loop_of_block<<<4, 64>>>(out);
  const amdsim_counts c = last();
  EXPECT_GT(c.max_block_instructions, empty_loop + 30);
  EXPECT_LT(c.max_block_instructions, c.instructions);
  EXPECT_GT(4 * c.max_block_instructions, c.instructions);
}

TEST_F(Counts, WhatRanUncountedIsNoPartOfTheNextLaunch) {
  loop_of_block<<<4, 64>>>(out);
  const uint64_t alone = last().instructions;
  amdsim_collect_counts(0);
  loop_of_block<<<4, 64>>>(out);
  amdsim_collect_counts(1);
  loop_of_block<<<4, 64>>>(out);
  EXPECT_EQ(last().instructions, alone);
}

TEST_F(Counts, LdsAndBarriers) {
  through_lds<<<1, 128, 512>>>(out);
  const amdsim_counts c = last();
  EXPECT_EQ(c.lds_per_block, 1024u);
  EXPECT_EQ(c.barrier, 2u);
  EXPECT_EQ(c.lds_bytes, 128u * 4 * 4);
}

TEST_F(Counts, MultiplyAddsOfMatrixInstructions) {
  matrix<<<1, 64>>>(reinterpret_cast<float*>(static_cast<int*>(out)));
  const amdsim_counts c = last();
  EXPECT_EQ(c.mfma, 3u);
  EXPECT_EQ(c.mfma_multiply_adds, 3u * 16 * 16 * 32);
  EXPECT_GT(c.vgprs, 0u);
  EXPECT_GT(c.sgprs, 0u);
}

TEST_F(Counts, AnOlderCallersSmallerStructIsFilledAsFarAsItGoes) {
  store_one<<<1, 64>>>(out);
  amdsim_counts counts;
  memset(&counts, 0xee, sizeof counts);
  counts.struct_size = offsetof(amdsim_counts, instructions);
  ASSERT_EQ(amdsim_counts_last(&counts), 0);
  EXPECT_EQ(counts.waves, 1u);
  EXPECT_EQ(counts.struct_size, offsetof(amdsim_counts, instructions));
  EXPECT_EQ(counts.instructions, 0xeeeeeeeeeeeeeeeeu);
}

TEST_F(Counts, AStructOfUnknownSizeIsRefused) {
  store_one<<<1, 64>>>(out);
  amdsim_counts counts = {};
  EXPECT_EQ(amdsim_counts_last(&counts), -1);
  EXPECT_NE(std::string(amdsim_last_message()).find("struct_size"), std::string::npos);
  EXPECT_EQ(amdsim_counts_last(nullptr), -1);
}

TEST_F(Counts, OffKeepsTheLastOnes) {
  store_one<<<5, 128>>>(out);
  EXPECT_EQ(amdsim_collect_counts(0), 1);
  store_one<<<1, 64>>>(out);
  EXPECT_EQ(last().vmem_store, 10u);
}

} // namespace
