// The gather undoes the writer, and says what a missing block becomes.
#include "refimpl/cache_gather.hpp"
#include "refimpl/cache_write.hpp"
#include "refimpl/test_problems.hpp"

#include <gtest/gtest.h>

#include <bit>

namespace mqalab {
namespace {

Problem two_sequences(mqa_layout layout) {
  Problem p;
  p.op = Operation::cache_gather;
  p.batch = 3, p.head_dim = 48, p.block_size = 16, p.max_model_len = 40, p.context_lens = {18, 0, 3};
  p.layout = layout;
  p = dense(p);
  p.block_table = {4, 1, -1, -1, -1, -1, 2, -1, -1}, p.num_blocks = 5;
  p.keys_stride = 48, p.key_scales_stride = 1;
  return p;
}

TEST(CacheGather, ThePrefixCountsTheTokensOfEverySequence) {
  EXPECT_EQ(gather_prefix(two_sequences(MQA_PLANAR)), (std::vector<int32_t>{0, 18, 18, 21}));
  EXPECT_EQ(gathered_keys_bytes(two_sequences(MQA_PLANAR)), 21 * 48);
  EXPECT_EQ(gathered_scales_bytes(two_sequences(MQA_PLANAR)), 21 * 4);
}

TEST(CacheGather, GivesBackWhatTheWriterPutThere) {
  for (const mqa_layout layout : {MQA_PLANAR, MQA_SHUFFLED}) {
    const Problem p = two_sequences(layout);
    SparseBuffer cache(kv_cache_bytes(p));
    const std::vector<int64_t> slots = writer_slots(p);
    const auto key = [&](size_t t) {
      QuantisedKey k{std::vector<uint8_t>(48), float(t) + 0.5f};
      for (size_t d = 0; d < 48; ++d) k.values[d] = uint8_t(7 * t + d);
      return k;
    };
    for (size_t t = 0; t < slots.size(); ++t) put_token(p, cache, slots[t], key(t));
    const std::vector<int32_t> prefix = gather_prefix(p);
    for (int32_t b = 0; b < p.batch; ++b)
      for (int32_t row = prefix[size_t(b)]; row < prefix[size_t(b) + 1]; ++row) {
        const GatheredKey got = gathered(p, cache, b, row - prefix[size_t(b)]);
        EXPECT_EQ(got.values, key(size_t(row)).values) << "row " << row;
        EXPECT_EQ(std::bit_cast<float>(got.scale_bits), float(row) + 0.5f);
      }
  }
}

TEST(CacheGather, AMissingBlockGivesZerosAndTheNaNScale) {
  for (const int32_t id : {-1, 5, INT32_MIN}) {
    Problem p = two_sequences(MQA_PLANAR);
    p.block_table[0] = id;
    const GatheredKey got = gathered(p, SparseBuffer(kv_cache_bytes(p)), 0, 3);
    EXPECT_EQ(got.values, std::vector<uint8_t>(48, 0));
    EXPECT_EQ(got.scale_bits, 0x7fc00000u);
  }
}

} // namespace
} // namespace mqalab
