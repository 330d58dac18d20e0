// Filling in a configuration.
#include "kernels/launch.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mqa {
namespace {

DeviceFacts mi300x() {
  DeviceFacts d;
  d.key = "gfx942/cu304";
  d.compute_units = 304;
  d.wave_size = 64;
  d.lds_bytes = 65536;
  d.fnuz = true;
  return d;
}
mqa_paged_logits_args problem(int32_t batch, int32_t next_n, int32_t heads, int64_t columns) {
  mqa_paged_logits_args a{};
  a.batch = batch;
  a.next_n = next_n;
  a.heads = heads;
  a.head_dim = 128;
  a.max_model_len = columns;
  return a;
}
LaunchConfig resolved(const mqa_paged_logits_args& a, mqa_config wanted = {}) {
  LaunchConfig c{};
  std::string why;
  EXPECT_EQ(resolve_config(a, wanted, mi300x(), &c, &why), MQA_OK) << why;
  return c;
}

TEST(Configuration, SplitsFillTheDeviceOnce) {
  EXPECT_EQ(resolved(problem(1, 1, 64, 1 << 20), {0, 256, 0, 2}).split_kv, 608);
  EXPECT_EQ(resolved(problem(64, 1, 64, 1 << 20), {0, 256, 0, 2}).split_kv, 10);
  EXPECT_EQ(resolved(problem(4096, 1, 64, 1 << 20), {0, 256, 0, 2}).split_kv, 1);
}
TEST(Configuration, NoAutomaticSplitIsWithoutAChunkAtTheLongestContext) {
  EXPECT_EQ(resolved(problem(1, 1, 64, 2049), {0, 256, 0, 2}).split_kv, 9);
  EXPECT_EQ(resolved(problem(1, 1, 64, 1)).split_kv, 1);
}
TEST(Configuration, QueriesThatDoNotFitInLdsAreReadDirectly) {
  EXPECT_EQ(resolved(problem(1, 1, 128, 1000)).variant, MQA_VARIANT_STAGED);
  EXPECT_EQ(resolved(problem(1, 7, 128, 1000)).variant, MQA_VARIANT_DIRECT);
  EXPECT_EQ(resolved(problem(1, 7, 128, 1000)).lds_bytes, 0u);
}
TEST(Configuration, AskedForStagingThatDoesNotFitSaysSo) {
  LaunchConfig c{};
  std::string why;
  EXPECT_EQ(resolve_config(problem(1, 7, 128, 1000), {MQA_VARIANT_STAGED, 0, 0, 0}, mi300x(), &c, &why),
            MQA_UNSUPPORTED);
  EXPECT_THAT(why,
              ::testing::HasSubstr("LDS for next_n 7 x heads 128; allowed: up to 49152; variant direct can"));
}
TEST(Configuration, FnuzTakesTheGeneralPathWhereTheMatrixUnitReadsFn) {
  DeviceFacts gfx950 = mi300x();
  gfx950.fnuz = false;
  gfx950.key = "gfx950/cu256";
  mqa_paged_logits_args a = problem(1, 1, 64, 1000);
  LaunchConfig c{};
  std::string why;
  EXPECT_EQ(resolve_config(a, {}, gfx950, &c, &why), MQA_OK) << why;
  a.fp8 = MQA_E4M3FNUZ;
  EXPECT_EQ(resolve_config(a, {}, gfx950, &c, &why), MQA_OK) << why;
  EXPECT_EQ(c.variant, MQA_VARIANT_GENERAL);
  EXPECT_EQ(resolve_config(a, {MQA_VARIANT_STAGED, 0, 0, 0}, gfx950, &c, &why), MQA_UNSUPPORTED);
  EXPECT_THAT(why, ::testing::HasSubstr("gfx950/cu256"));
}
TEST(Configuration, WorkersFillEveryComputeUnitButNoneIsWithoutAChunkAtTheLongestContext) {
  const mqa_config scheduled{MQA_VARIANT_SCHEDULED, 0, 0, 0};
  EXPECT_EQ(resolved(problem(64, 1, 64, 32768), scheduled).workers, 608);
  EXPECT_EQ(resolved(problem(64, 1, 64, 32768), {MQA_VARIANT_SCHEDULED, 0, 0, 4}).workers, 1216);
  EXPECT_EQ(resolved(problem(3, 1, 64, 257), scheduled).workers, 6);
  EXPECT_EQ(resolved(problem(3, 1, 64, 257), scheduled).split_kv, 1);
  EXPECT_EQ(resolved(problem(64, 4, 64, 32768), scheduled).wave_per_eu, 1) << "two blocks pass 64 KiB of LDS";
}
TEST(Configuration, TheScheduledVariantSaysWhyItCannotRun) {
  struct Bad {
    mqa_paged_logits_args call;
    mqa_config config;
    const char* says;
  };
  mqa_paged_logits_args planes = problem(1, 1, 64, 1000), narrow = planes;
  planes.logits_stride_head = 1000;
  narrow.head_dim = 48;
  for (const Bad& bad :
       {Bad{problem(1, 7, 128, 9),
            {5, 0, 0, 0},
            "a block needs 119344 bytes of LDS for next_n 7 x heads 128; allowed: "
            "up to 49152 with 1 blocks per compute unit; variant direct can"},
        Bad{problem(1, 4, 64, 9), {5, 0, 0, 2}, "allowed: up to 32768 with 2 blocks"},
        Bad{problem(1, 1, 64, 9), {5, 0, 2, 0}, "split_kv is 2; allowed: 0 or 1"},
        Bad{planes, {5, 0, 0, 0}, "serves mqa_paged_logits and mqa_ragged_logits only"},
        Bad{narrow, {5, 0, 0, 0}, "head_dim is 48; allowed: 32, 64, 128; variant general can"}}) {
    LaunchConfig c{};
    std::string why;
    EXPECT_EQ(resolve_config(bad.call, bad.config, mi300x(), &c, &why), MQA_UNSUPPORTED);
    EXPECT_THAT(why, ::testing::HasSubstr(bad.says));
  }
}
DeviceFacts h200() {
  DeviceFacts d;
  d.key = "sm_90a/cu132";
  d.compute_units = 132;
  d.wave_size = 32;
  d.lds_bytes = 49152;
  d.wgmma = true;
  return d;
}
TEST(Configuration, TheWarpgroupVariantIsTheDefaultWhereItCanRun) {
  LaunchConfig c{};
  std::string why;
  ASSERT_EQ(resolve_config(problem(64, 1, 64, 8192), {}, h200(), &c, &why), MQA_OK) << why;
  EXPECT_EQ(c.variant, MQA_VARIANT_WGMMA);
  EXPECT_EQ(c.workers, 4 * 132);
  EXPECT_LE(4 * (c.lds_bytes + 6144), 227u << 10) << "four workers share an SM";
  ASSERT_EQ(resolve_config(problem(64, 2, 64, 8192), {}, h200(), &c, &why), MQA_OK) << why;
  EXPECT_EQ(c.workers, 3 * 132) << "sums of 128 columns leave registers for three";
  EXPECT_LE(3 * (c.lds_bytes + 6144), 227u << 10);
  ASSERT_EQ(resolve_config(problem(1, 1, 64, 2048), {}, h200(), &c, &why), MQA_OK) << why;
  EXPECT_EQ(c.workers, 32) << "no worker without a tile";
  ASSERT_EQ(resolve_config(problem(2000, 1, 64, 2048), {}, h200(), &c, &why), MQA_OK) << why;
  EXPECT_EQ(c.variant, MQA_VARIANT_STAGED) << "a batch past 1024 takes the general path";
}
TEST(Configuration, TheWarpgroupVariantSaysWhyItCannotRun) {
  LaunchConfig c{};
  std::string why;
  EXPECT_EQ(resolve_config(problem(1, 1, 64, 1000), {MQA_VARIANT_WGMMA, 0, 0, 0}, mi300x(), &c, &why),
            MQA_UNSUPPORTED);
  EXPECT_THAT(why, ::testing::HasSubstr("needs an NVIDIA sm_90 device"));
  EXPECT_EQ(resolve_config(problem(1, 1, 64, 1000), {MQA_VARIANT_WGMMA, 128, 0, 0}, h200(), &c, &why),
            MQA_UNSUPPORTED);
  EXPECT_THAT(why, ::testing::HasSubstr("chunk_k is 128; allowed: 0 or 64"));
}
TEST(Configuration, WhatNoMatrixKernelServesTakesTheSlowPathAndSaysSo) {
  mqa_paged_logits_args a = problem(1, 1, 64, 1000);
  a.head_dim = 80;
  EXPECT_EQ(resolved(a).variant, MQA_VARIANT_GENERAL);
  for (int32_t variant : {MQA_VARIANT_STAGED, MQA_VARIANT_DIRECT}) {
    LaunchConfig c{};
    std::string why;
    EXPECT_EQ(resolve_config(a, {variant, 0, 0, 0}, mi300x(), &c, &why), MQA_UNSUPPORTED);
    EXPECT_THAT(why, ::testing::HasSubstr("head_dim is 80; allowed: 32, 64, 128; variant general can"));
  }
}
TEST(Configuration, TheWarpgroupVariantServesPagedSumsOnly) {
  LaunchConfig c{};
  std::string why;
  const int32_t somewhere = 0;
  mqa_paged_logits_args a = problem(4, 1, 64, 8192);
  a.slot_prefix = &somewhere;
  ASSERT_EQ(resolve_config(a, {}, h200(), &c, &why), MQA_OK) << why;
  EXPECT_EQ(c.variant, MQA_VARIANT_STAGED) << "ragged";
  a = problem(4, 1, 64, 8192);
  a.logits_stride_head = 4 * 8192;
  ASSERT_EQ(resolve_config(a, {}, h200(), &c, &why), MQA_OK) << why;
  EXPECT_EQ(c.variant, MQA_VARIANT_STAGED) << "per head";
  EXPECT_EQ(c.form, Form::per_head);
  ASSERT_EQ(resolve_config(problem(4, 1, 129, 8192), {}, h200(), &c, &why), MQA_OK) << why;
  EXPECT_NE(c.variant, MQA_VARIANT_WGMMA) << "its rows have two groups of 64 heads";
  for (int heads : {1, 7, 24, 128}) {
    ASSERT_EQ(resolve_config(problem(4, 1, heads, 8192), {}, h200(), &c, &why), MQA_OK) << why;
    EXPECT_EQ(c.variant, MQA_VARIANT_WGMMA) << heads;
  }
}
TEST(Configuration, PerHeadLogitsHaveOneOccupancyRequest) {
  mqa_paged_logits_args a = problem(1, 1, 64, 1000);
  a.logits_stride_head = 1000;
  for (int32_t waves : {0, 1, 2, 4}) EXPECT_EQ(resolved(a, {0, 0, 0, waves}).wave_per_eu, 2);
}

mqa_prefill_logits_args prefill(int32_t rows, int32_t heads, int64_t keys) {
  mqa_prefill_logits_args a{};
  a.rows = rows, a.heads = heads, a.head_dim = 128, a.num_keys = keys, a.columns = keys;
  return a;
}
LaunchConfig resolved(const mqa_prefill_logits_args& a, mqa_config wanted = {}) {
  LaunchConfig c{};
  std::string why;
  EXPECT_EQ(resolve_config(a, wanted, mi300x(), &c, &why), MQA_OK) << why;
  return c;
}
TEST(Configuration, PrefillTilesAreAsTallAsTheLdsOfTheirOccupancyAllows) {
  EXPECT_EQ(resolved(prefill(1000, 64, 4096), {0, 0, 0, 1}).tile_rows, 5);
  EXPECT_EQ(resolved(prefill(1000, 64, 4096), {0, 0, 0, 2}).tile_rows, 3);
  EXPECT_EQ(resolved(prefill(1000, 64, 4096), {0, 0, 0, 4}).tile_rows, 1);
  EXPECT_EQ(resolved(prefill(1000, 8, 4096), {0, 0, 0, 2}).tile_rows, 15);
  EXPECT_LE(resolved(prefill(1000, 8, 4096), {0, 0, 0, 1}).tile_rows, 16);
}
TEST(Configuration, AWidePrefillRowTakesTheSlowPath) {
  EXPECT_EQ(resolved(prefill(10, 384, 4096)).variant, MQA_VARIANT_GENERAL);
  LaunchConfig c{};
  std::string why;
  EXPECT_EQ(resolve_config(prefill(10, 64, 4096), {MQA_VARIANT_DIRECT, 0, 0, 0}, mi300x(), &c, &why),
            MQA_UNSUPPORTED);
  EXPECT_THAT(why, ::testing::HasSubstr("it does not serve mqa_prefill_logits; variant staged can"));
}
TEST(Configuration, APrefillWithoutKeysHasOneSplit) {
  EXPECT_EQ(resolved(prefill(1, 64, 0)).split_kv, 1);
  EXPECT_EQ(resolved(prefill(3, 64, 1 << 20), {0, 256, 0, 2}).split_kv, 608) << "one tile of three rows";
}
TEST(Configuration, BadValuesAreNamed) {
  struct Bad {
    mqa_config config;
    const char* says;
  };
  for (const Bad& bad : {Bad{{6, 0, 0, 0}, "variant is 6"}, Bad{{0, 100, 0, 0}, "chunk_k is 100"},
                         Bad{{0, 8192, 0, 0}, "chunk_k is 8192"}, Bad{{0, 0, -1, 0}, "split_kv is -1"},
                         Bad{{0, 0, 70000, 0}, "split_kv is 70000"}, Bad{{0, 0, 0, 3}, "wave_per_eu is 3"},
                         Bad{{0, 0, 0, 5}, "wave_per_eu is 5"}}) {
    LaunchConfig c{};
    std::string why;
    EXPECT_EQ(resolve_config(problem(1, 1, 8, 1), bad.config, mi300x(), &c, &why), MQA_INVALID_ARGUMENT);
    EXPECT_THAT(why, ::testing::HasSubstr(bad.says));
  }
}
TEST(Configuration, MoreBlocksThanAGridHoldsIsRefused) {
  LaunchConfig c{};
  std::string why;
  EXPECT_EQ(resolve_config(problem(1 << 20, 1, 8, 1), {0, 0, 65535, 0}, mi300x(), &c, &why),
            MQA_INVALID_ARGUMENT);
  EXPECT_THAT(why, ::testing::HasSubstr("batch * split_kv"));
  EXPECT_EQ(resolve_config(problem(1 << 24, 1, 8, 1), {0, 0, 0, 0}, mi300x(), &c, &why), MQA_INVALID_ARGUMENT)
      << "HIP counts 256 threads a block in 32 bits";
  EXPECT_EQ(resolve_config(problem((1 << 24) - 1, 1, 8, 1), {0, 0, 0, 0}, mi300x(), &c, &why), MQA_OK) << why;
}

} // namespace
} // namespace mqa
