// Layouts by bytes worked out by hand, limits and needed blocks against a naive enumeration.
#include "refimpl/problem.hpp"
#include "refimpl/test_problems.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>

namespace mqalab {
namespace {

Problem blocks_of_32(mqa_layout layout) {
  Problem p;
  p.block_size = 32, p.layout = layout, p.max_model_len = 64, p.context_lens = {64};
  return dense(p);
}

TEST(Problem, PutsTheWorkedExampleOfTheShuffledLayoutWhereTheReferenceTextDoes) {
  const Problem p = blocks_of_32(MQA_SHUFFLED);
  EXPECT_EQ(value_offset_bytes(p, 0, 17, 35), 2579);
  EXPECT_EQ(scale_offset_bytes(p, 0, 17), 4164);
  EXPECT_EQ(value_offset_bytes(p, 3, 17, 35), 3 * 4224 + 2579);
}

TEST(Problem, KeepsPlanarTokensTogetherAndTheirScalesBehindAllValues) {
  const Problem p = blocks_of_32(MQA_PLANAR);
  EXPECT_EQ(value_offset_bytes(p, 0, 17, 35), 17 * 128 + 35);
  EXPECT_EQ(scale_offset_bytes(p, 0, 17), 4164);
  EXPECT_EQ(scale_offset_bytes(p, 1, 0), 4224 + 4096);
}

TEST(Problem, GivesEveryByteOfABlockToExactlyOneElement) {
  for (mqa_layout layout : {MQA_PLANAR, MQA_SHUFFLED})
    for (int32_t block_size : {16, 48}) {
      Problem p;
      p.block_size = block_size, p.layout = layout, p.head_dim = 64, p.context_lens = {1};
      p = dense(p);
      std::vector<int> owners(size_t(p.kv_block_stride_bytes), 0);
      for (int32_t t = 0; t < block_size; ++t) {
        for (int32_t d = 0; d < 64; ++d) ++owners[value_offset_bytes(p, 0, t, d)];
        for (int byte = 0; byte < 4; ++byte) ++owners[scale_offset_bytes(p, 0, t) + byte];
      }
      EXPECT_EQ(owners, std::vector<int>(owners.size(), 1));
    }
}

TEST(Problem, KeepsOffsetsPastFourGibibytes) {
  Problem p = blocks_of_32(MQA_PLANAR);
  p.kv_block_stride_bytes = 1435968;
  EXPECT_EQ(scale_offset_bytes(p, 100000, 1), 100000 * int64_t{1435968} + 4100);
  p.q_stride_batch = int64_t{1} << 33;
  EXPECT_EQ(query_offset_bytes(p, 3, 2, 5), 3 * (int64_t{1} << 33) + 2 * 128 + 5);
}

TEST(Problem, ClampsLimitsToTheColumnsThatExist) {
  Problem p;
  p.batch = 4, p.next_n = 3, p.max_model_len = 10, p.context_lens = {2, 10, 11, -5};
  const int64_t expected[] = {0, 1, 2, 8, 9, 10, 9, 10, 10, 0, 0, 0};
  for (int64_t row = 0; row < 12; ++row) EXPECT_EQ(p.limit(row), expected[row]) << "row " << row;
}

TEST(Problem, SurvivesTheExtremeLengths) {
  Problem p;
  p.next_n = 3, p.max_model_len = 10, p.context_lens = {INT32_MIN};
  EXPECT_EQ(p.limit(0), 0);
  p.context_lens = {INT32_MAX};
  EXPECT_EQ(p.limit(2), 10);
}

TEST(Problem, TakesLengthsPerRowAsGiven) {
  Problem p;
  p.batch = 2, p.next_n = 2, p.max_model_len = 10, p.lens_per_row = true, p.context_lens = {7, 0, -1, 12};
  EXPECT_EQ(p.limit(0), 7);
  EXPECT_EQ(p.limit(1), 0);
  EXPECT_EQ(p.limit(2), 0);
  EXPECT_EQ(p.limit(3), 10);
  EXPECT_EQ(p.needed_tokens(0), 7);
  EXPECT_EQ(p.needed_tokens(1), 10);
}

TEST(Problem, CountsBlocksRoundedUp) {
  Problem p;
  p.block_size = 16, p.max_model_len = 100;
  for (auto [context, blocks] :
       std::map<int, int>{{-3, 0}, {0, 0}, {1, 1}, {16, 1}, {17, 2}, {100, 7}, {101, 7}}) {
    p.context_lens = {context};
    EXPECT_EQ(p.needed_blocks(0), blocks) << "context " << context;
  }
}

TEST(Problem, ListsNeededBlocksAsANaiveEnumerationDoes) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    const Problem p = random_problem(seed);
    std::map<int32_t, int32_t> tokens;
    for (int32_t sequence = 0; sequence < p.batch; ++sequence)
      for (int64_t pos = 0; pos < p.needed_tokens(sequence); ++pos) {
        const int32_t block = p.block_table[sequence * p.block_table_stride + pos / p.block_size];
        if (block < 0 || block >= p.num_blocks) continue;
        tokens[block] = std::max(tokens[block], int32_t(pos % p.block_size) + 1);
      }
    std::vector<NeededBlock> expected;
    for (auto [block, count] : tokens) expected.push_back({block, count});
    EXPECT_EQ(needed_pool(p), expected) << "seed " << seed;
  }
}

TEST(Problem, EndsEveryBufferAtTheLastByteThatIsTouched) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    const Problem p = random_problem(seed);
    int64_t last = 0;
    for (int64_t row = 0; row < p.rows(); ++row)
      for (int32_t h = 0; h < p.heads; ++h)
        last = std::max(last, query_offset_bytes(p, row, h, p.head_dim - 1));
    EXPECT_EQ(query_bytes(p), last + 1);
    EXPECT_EQ(weights_bytes(p), 4 * ((p.rows() - 1) * p.weights_stride + p.heads));
    EXPECT_EQ(kv_cache_bytes(p), p.num_blocks * p.kv_block_stride_bytes);
    EXPECT_EQ(logits_bytes(p), 4 * p.rows() * p.logits_stride);
  }
}

TEST(Problem, OfNoSequencesHasEmptyBuffers) {
  Problem p;
  p.batch = 0, p.num_blocks = 0;
  EXPECT_EQ(query_bytes(p) + weights_bytes(p) + kv_cache_bytes(p) + logits_bytes(p), 0);
  EXPECT_TRUE(needed_pool(p).empty());
}

} // namespace
} // namespace mqalab
