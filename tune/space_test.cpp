// The configuration space: legal, without repetition, default first.
#include "tune/call.hpp"
#include "tune/cost.hpp"
#include "tune/problems.hpp"
#include "tune/space.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace mqalab {
namespace {

mqa::DeviceFacts mi300x() {
  mqa::DeviceFacts d;
  d.key = "gfx942", d.compute_units = 304, d.wave_size = 64, d.lds_bytes = 65536, d.fnuz = true;
  return d;
}
Case shape(int64_t max_model_len, int32_t heads = 32, int32_t next_n = 1) {
  Case c;
  c.shape.heads = heads, c.shape.next_n = next_n, c.shape.max_model_len = max_model_len,
  c.shape.block_size = 16;
  return c;
}
std::vector<Candidate> space_of(const Case& c) { return configuration_space(resolve(c), mi300x()); }

TEST(Space, StartsWithTheOnlyDefault) {
  const auto all = space_of(shape(2048));
  EXPECT_TRUE(all.front().is_default);
  EXPECT_EQ(all.front().config.split_kv, 0) << "automatic, as the library has it";
  EXPECT_EQ(std::count_if(all.begin(), all.end(), [](const Candidate& c) { return c.is_default; }), 1);
}

TEST(Space, HoldsEachLaunchOnce) {
  for (const int64_t columns : {1, 64, 65, 2048, 131072}) {
    std::set<std::string> launches;
    const auto call = shape_call(resolve(shape(columns)));
    for (const Candidate& c : space_of(shape(columns))) {
      mqa::LaunchConfig launch{};
      std::string why;
      ASSERT_EQ(resolve_config(call, c.config, mi300x(), &launch, &why), MQA_OK) << why;
      EXPECT_TRUE(
          launches.insert(config_text({launch.variant, launch.chunk_k, launch.split_kv, launch.wave_per_eu}))
              .second);
    }
  }
}

TEST(Space, HasTheSlowPathOnlyWhereThereIsNoOther) {
  const auto variants = [](Case c) {
    std::set<int32_t> all;
    for (const Candidate& candidate : space_of(c)) all.insert(candidate.config.variant);
    return all;
  };
  EXPECT_EQ(variants(shape(2048)),
            (std::set<int32_t>{MQA_VARIANT_STAGED, MQA_VARIANT_DIRECT, MQA_VARIANT_SCHEDULED}));
  Case odd = shape(2048);
  odd.shape.head_dim = 48;
  EXPECT_EQ(variants(odd), std::set<int32_t>{MQA_VARIANT_GENERAL});
  Case prefill = shape(2048);
  prefill.op = Operation::prefill_logits, prefill.shape.block_size = 1, prefill.shape.lens_per_row = true;
  EXPECT_EQ(variants(prefill), std::set<int32_t>{MQA_VARIANT_STAGED});
}

TEST(Space, OffersNoSplitWithoutAChunk) {
  for (const Candidate& c : space_of(shape(1000)))
    if (c.config.split_kv > 0)
      EXPECT_LE(int64_t{c.config.split_kv - 1} * c.config.chunk_k, 1000) << config_text(c.config);
}

TEST(Space, HoldsWhatTheReportsVaried) {
  std::set<std::string> texts;
  for (const Candidate& c : space_of(shape(8192))) texts.insert(config_text(c.config));
  EXPECT_TRUE(texts.contains("variant=staged,chunk_k=64,split_kv=1,wave_per_eu=1"));
  EXPECT_TRUE(texts.contains("variant=direct,chunk_k=256,split_kv=8,wave_per_eu=4"));
  EXPECT_LE(texts.size(), 320u) << "small enough to try everything";
}

TEST(Space, LeavesOutWhatTheDeviceCannotHold) {
  for (const Candidate& c : space_of(shape(1024, 128, 16))) EXPECT_EQ(c.config.variant, MQA_VARIANT_DIRECT);
}

TEST(Clipped, KeepsTheLongestSequenceAndTheShape) {
  Case c = shape(1000);
  c.shape.batch = 4, c.shape.context_lens = {10, 20, 900, 30};
  const Case part = clipped(c, 940);
  EXPECT_EQ(part.shape.context_lens, (std::vector<int32_t>{900, 30, 10}));
  EXPECT_EQ(part.shape.max_model_len, 1000);
  EXPECT_EQ(clipped(c, 1 << 20).shape.context_lens.size(), 4u);
  EXPECT_EQ(clipped(c, 0).shape.batch, 1);
}

TEST(CompulsoryBytes, CountsWhatAnyKernelMustMove) {
  Case c = shape(100, 8);
  c.shape.context_lens = {33};
  const double keys = 33 * (128 + 4), table = 3 * 4, query = 8 * (128 + 4), logits = 33 * 4;
  EXPECT_EQ(compulsory_bytes(resolve(c)), keys + table + query + logits);
}

} // namespace
} // namespace mqalab
