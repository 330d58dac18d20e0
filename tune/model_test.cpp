// Sanity of the model: the directions in which a cost must move, and the terms that must bind.
#include "tune/model.hpp"

#include <gtest/gtest.h>

namespace mqalab {
namespace {

const DeviceModel kMi300x = mi300_like(304);

// `blocks` blocks of 4 waves that share 1M tokens of a 64-head cache, as counted on the plain kernel.
LaunchCounts decode(double blocks, double tokens = 1 << 20) {
  LaunchCounts c;
  c.blocks = blocks, c.waves = 4 * blocks, c.threads_per_block = 256, c.vgprs = 96;
  c.valu = 2.4 * tokens + 60 * c.waves, c.scalar = 0.5 * tokens + 60 * c.waves,
  c.vmem_load = 0.2 * tokens + 8 * c.waves;
  c.vmem_store = 0.02 * tokens, c.mfma_multiply_adds = tokens * 64 * 128, c.vmem_bytes = 140 * tokens;
  c.hbm_bytes = 136 * tokens;
  c.instructions = c.valu + c.scalar + c.vmem_load + c.vmem_store;
  c.max_block_instructions = c.instructions / blocks;
  return c;
}
double cost(const LaunchCounts& c) { return model_cost(c, kMi300x).microseconds; }

TEST(Model, LetsMemoryBindALargeEvenLaunch) {
  const Cost c = model_cost(decode(4096, 1 << 24), kMi300x);
  EXPECT_EQ(c.bound, "memory");
  EXPECT_NEAR(c.microseconds, 136.0 * (1 << 24) / (5.3e12 * 0.85) * 1e6, 30);
}

TEST(Model, GrowsWithTheWork) {
  double before = 0;
  for (double tokens = 1 << 12; tokens <= 1 << 26; tokens *= 4) {
    const double now = cost(decode(608, tokens));
    EXPECT_GT(now, before) << tokens;
    before = now;
  }
}

TEST(Model, GainsFromSplittingOneSequenceUntilTheDeviceIsFull) {
  EXPECT_LT(cost(decode(8)), cost(decode(1)));
  EXPECT_LT(cost(decode(64)), cost(decode(8)));
  EXPECT_LT(cost(decode(512)), cost(decode(64)));
}

TEST(Model, PunishesSplittingFarBeyondTheDevice) {
  EXPECT_GT(cost(decode(200000, 1 << 16)), cost(decode(1024, 1 << 16)));
}

TEST(Model, QuantisesRounds) {
  LaunchCounts full = decode(304), over = decode(305);
  full.vgprs = over.vgprs = 512; // one wave a SIMD, so one block a CU
  EXPECT_EQ(model_cost(full, kMi300x).rounds, 1);
  EXPECT_EQ(model_cost(over, kMi300x).rounds, 2);
  EXPECT_GT(cost(over), cost(full));
}

TEST(Model, LosesOccupancyToRegistersAndLds) {
  LaunchCounts lean = decode(4864), fat = decode(4864), local = decode(4864);
  fat.vgprs = 256;
  local.lds_per_block = 48 << 10;
  EXPECT_GT(model_cost(lean, kMi300x).waves_per_simd, model_cost(fat, kMi300x).waves_per_simd);
  EXPECT_GT(model_cost(lean, kMi300x).waves_per_simd, model_cost(local, kMi300x).waves_per_simd);
}

TEST(Model, WaitsForTheLongestBlock) {
  LaunchCounts even = decode(64), uneven = decode(64);
  uneven.max_block_instructions *= 16;
  EXPECT_GT(cost(uneven), cost(even));
}

TEST(Model, NeverFallsBelowTheLaunchAndNeverBreaks) {
  EXPECT_GE(cost({}), 2.5);
  LaunchCounts one;
  one.blocks = one.waves = 1;
  EXPECT_GE(cost(one), 2.5);
  EXPECT_TRUE(cost(one) < 10);
}

TEST(Model, GivesASmallerDeviceMoreTime) {
  EXPECT_GT(model_cost(decode(4096), mi300_like(38)).microseconds, cost(decode(4096)));
}

TEST(Counts, ScaleWithTheBatchButNotPerBlock) {
  const LaunchCounts c = decode(8), s = c.scaled(3);
  EXPECT_DOUBLE_EQ(s.blocks, 24);
  EXPECT_DOUBLE_EQ(s.hbm_bytes, 3 * c.hbm_bytes);
  EXPECT_DOUBLE_EQ(s.max_block_instructions, c.max_block_instructions);
  EXPECT_EQ(s.vgprs, c.vgprs);
}

} // namespace
} // namespace mqalab
