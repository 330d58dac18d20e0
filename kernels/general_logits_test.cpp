// The general variant on a device: whatever shape is legal, in every form, against a naive loop.
#include "kernels/naive_test.hpp"

namespace mqa {
namespace {

constexpr mqa_config general(int chunk_k = 0, int split_kv = 0, int wave_per_eu = 0) {
  return {MQA_VARIANT_GENERAL, chunk_k, split_kv, wave_per_eu};
}

TEST(General, EveryHeadDim) {
  for (int head_dim = 16; head_dim <= 256; head_dim += 16)
    for (const bool fnuz : {false, true}) {
      SCOPED_TRACE(head_dim);
      NaiveShape shape;
      shape.head_dim = head_dim, shape.fnuz = fnuz, shape.heads = 5, shape.next_n = 2;
      shape.shuffled = head_dim % 32 == 0;
      shape.lens = {64, 3, 0};
      expect_as_the_naive_loop(shape, general());
    }
}
TEST(General, AnyNumberOfHeads) {
  for (const int heads : {1, 2, 3, 7, 8, 9, 16, 17, 100, 1023, 1024}) {
    SCOPED_TRACE(heads);
    NaiveShape shape;
    shape.head_dim = 16, shape.heads = heads;
    shape.lens = {7, 0, -5};
    expect_as_the_naive_loop(shape, general());
  }
}
TEST(General, BlockSizesAndLayouts) {
  for (const int block_size : {1, 16, 48, 1024})
    for (const bool shuffled : {false, true}) {
      if (block_size == 1 && shuffled) continue;
      SCOPED_TRACE(block_size);
      NaiveShape shape;
      shape.head_dim = 48, shape.heads = 11, shape.block_size = block_size, shape.shuffled = shuffled;
      shape.max_model_len = 300;
      shape.lens = {300, 299};
      expect_as_the_naive_loop(shape, general());
    }
}
TEST(General, ChunksSplitsAndOccupancyDoNotChangeTheResult) {
  for (const int chunk : {64, 128, 4096})
    for (const int splits : {1, 3, 9})
      for (const int waves : {1, 2, 4}) {
        NaiveShape shape;
        shape.max_model_len = 700, shape.next_n = 3, shape.heads = 9;
        shape.lens = {650, 2000, 1};
        shape.neg_inf = splits != 3;
        expect_as_the_naive_loop(shape, general(chunk, splits, waves));
      }
}
TEST(General, LengthsPerRowAndRaggedKeys) {
  NaiveShape rows;
  rows.next_n = 2, rows.per_row = true, rows.head_dim = 80;
  rows.lens = {9, 64, 0, -1, 2000, 1};
  expect_as_the_naive_loop(rows, general());
  NaiveShape ragged;
  ragged.ragged = true, ragged.block_size = 1, ragged.next_n = 2, ragged.head_dim = 80,
  ragged.max_model_len = 90;
  ragged.lens = {300, 0, 1, 17};
  expect_as_the_naive_loop(ragged, general());
}
TEST(General, PerHead) {
  for (const bool ragged : {false, true}) {
    NaiveShape shape;
    shape.per_head = true, shape.heads = 11, shape.next_n = 2, shape.head_dim = 48;
    shape.ragged = ragged, shape.block_size = ragged ? 1 : 16, shape.max_model_len = 80;
    shape.lens = {70, 0, 3};
    expect_as_the_naive_loop(shape, general());
    shape.neg_inf = false;
    expect_as_the_naive_loop(shape, general(64, 2));
  }
}
TEST(General, IsWhatAutoTakesWhereNothingElseFits) {
  NaiveShape shape;
  shape.head_dim = 80, shape.heads = 3;
  shape.lens = {20};
  const NaiveCall call(shape, 1);
  const NaiveLaunch launch(call);
  mqa_choice choice{};
  choice.struct_size = sizeof choice;
  ASSERT_EQ(launch.start({}, nullptr, &choice), MQA_OK) << mqa_last_error();
  EXPECT_EQ(choice.config.variant, MQA_VARIANT_GENERAL);
  expect_same(launch.logits.host(), call.expected(), call.stride());
}
TEST(General, ABadBlockIdGivesNanForItsTokensAndANanDotCountsAsZero) {
  NaiveShape shape;
  shape.lens = {64};
  NaiveCall call(shape, 3);
  call.table[1] = -1, call.table[2] = call.blocks; // tokens 16 to 47
  for (uint8_t& byte : call.q)
    if (&byte < &call.q[shape.head_dim]) byte = 0x80; // head 0: every dot is NaN, in FNUZ
  const NaiveLaunch launch(call);
  ASSERT_EQ(launch.start(general(), nullptr, nullptr), MQA_OK) << mqa_last_error();
  const auto got = launch.logits.host();
  EXPECT_TRUE(std::isnan(got[16]) && std::isnan(got[47]));
  EXPECT_FALSE(std::isnan(got[15]) || std::isnan(got[48]));
  expect_same(got, call.expected(), call.stride());
}

// Rows against contiguous keys; q, weights and keys as the paged call has them in one block of 1024 tokens.
struct Prefill {
  int keys = 300, columns = 310;
  bool compressed = false;
  std::vector<int32_t> starts, ends;
};
void expect_prefill(const NaiveShape& shape, const Prefill& p, const mqa_config& config) {
  const int rows = static_cast<int>(p.starts.size());
  NaiveShape paged = shape;
  paged.block_size = 1024, paged.max_model_len = 1024, paged.lens = std::vector<int32_t>(rows, 1024);
  NaiveCall call(paged, 5);
  std::ranges::fill(call.table, 0);
  const std::vector<float> values = call.expected();
  const int stride = p.columns + kLogitsPadding;
  std::vector<float> expected(static_cast<size_t>(rows * stride), kSentinel);
  for (int row = 0; row < rows; ++row) {
    const int first = std::max(0, p.starts[row]), last = std::min(p.keys, p.ends[row]);
    for (int column = 0; column < p.columns; ++column) {
      const int64_t key = p.compressed ? int64_t{first} + column : column;
      float& cell = expected[static_cast<size_t>(row * stride + column)];
      if (key >= first && key < last)
        cell = values[static_cast<size_t>(row * call.stride() + key)];
      else if (shape.neg_inf)
        cell = -INFINITY;
    }
  }
  const OnDevice<uint8_t> q(call.q), k(call.cache);
  const OnDevice<float> weights(call.weights), logits(std::vector<float>(expected.size(), kSentinel));
  const OnDevice<int32_t> starts(p.starts), ends(p.ends);
  mqa_prefill_logits_args a{};
  a.struct_size = sizeof a;
  a.rows = rows, a.heads = shape.heads, a.head_dim = shape.head_dim;
  a.fp8 = shape.fnuz ? MQA_E4M3FNUZ : MQA_E4M3FN;
  a.tail = shape.neg_inf ? MQA_TAIL_NEG_INF : MQA_TAIL_UNTOUCHED;
  a.compressed = p.compressed, a.num_keys = p.keys, a.columns = p.columns;
  a.q = q.data, a.q_stride_head = shape.head_dim, a.q_stride_row = shape.heads * shape.head_dim;
  a.k = k.data, a.k_stride = shape.head_dim;
  a.k_scales = reinterpret_cast<const float*>(k.data + 1024 * shape.head_dim), a.k_scales_stride = 1;
  a.weights = weights.data, a.weights_stride = shape.heads;
  a.starts = starts.data, a.ends = ends.data;
  a.logits = logits.data, a.logits_stride = stride;
  ASSERT_EQ(mqa_prefill_logits(&a, &config, nullptr, nullptr), MQA_OK) << mqa_last_error();
  ASSERT_EQ(hipDeviceSynchronize(), hipSuccess);
  expect_same(logits.host(), expected, stride);
}
TEST(General, Prefill) {
  for (const bool compressed : {false, true})
    for (const bool neg_inf : {false, true})
      for (const int splits : {1, 3}) {
        NaiveShape shape;
        shape.head_dim = 80, shape.heads = 3, shape.neg_inf = neg_inf;
        Prefill p;
        p.compressed = compressed;
        p.starts = {0, 10, -7, 299, 300, 50, INT32_MIN, INT32_MAX, 0};
        p.ends = {300, 290, 5, 300, 400, 40, INT32_MAX, INT32_MAX, INT32_MIN};
        expect_prefill(shape, p, general(64, splits));
        p.columns = 100;
        expect_prefill(shape, p, general(64, splits));
      }
}

} // namespace
} // namespace mqa
