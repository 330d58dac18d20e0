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

Problem prefill_rows(bool compressed, std::vector<int32_t> starts, std::vector<int32_t> ends) {
  Problem p;
  p.op = Operation::prefill_logits, p.compressed = compressed, p.lens_per_row = true;
  p.next_n = int32_t(starts.size()), p.row_starts = std::move(starts), p.context_lens = std::move(ends);
  p.num_blocks = 20, p.max_model_len = 10, p.kv_block_stride_bytes = 132, p.key_scales_stride = 3;
  return p;
}

TEST(Problem, CutsThePrefillRangesOfDenseRowsAtKeysAndColumns) {
  const Problem p =
      prefill_rows(false, {0, 3, -7, 12, 9, INT32_MIN, INT32_MAX}, {5, 8, 99, 14, 4, INT32_MAX, INT32_MIN});
  const std::pair<int64_t, int64_t> expected[] = {{0, 5}, {3, 8},  {0, 10}, {10, 10},
                                                  {9, 9}, {0, 10}, {10, 10}};
  for (int64_t row = 0; row < p.rows(); ++row)
    EXPECT_EQ(std::pair(p.first(row), p.limit(row)), expected[row]) << "row " << row;
}

TEST(Problem, StartsCompressedPrefillRowsAtColumnZero) {
  const Problem p = prefill_rows(true, {0, 3, 12, 9, 15, INT32_MAX}, {5, 8, 18, 4, 99, INT32_MAX});
  const int64_t limits[] = {5, 5, 6, 0, 5, 0};
  for (int64_t row = 0; row < p.rows(); ++row) {
    EXPECT_EQ(p.first(row), 0);
    EXPECT_EQ(p.limit(row), limits[row]) << "row " << row;
  }
  EXPECT_EQ(p.block_at(2, 4), 16);
}

TEST(Problem, NeedsThePrefillKeysThatSomeRowSees) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    const Problem p = random_problem(Operation::prefill_logits, seed);
    std::set<int32_t> keys;
    for (int64_t row = 0; row < p.rows(); ++row)
      for (int64_t column = p.first(row); column < p.limit(row); ++column)
        keys.insert(p.block_at(row, column));
    std::vector<NeededBlock> expected;
    for (int32_t key : keys) expected.push_back({key, 1});
    EXPECT_EQ(needed_pool(p), expected) << "seed " << seed;
    EXPECT_EQ(p.needed_tokens(0), keys.empty() ? 0 : *keys.rbegin() + 1);
  }
}

TEST(Problem, EndsKeysAndTheirScalesAtTheLastElement) {
  const Problem p = prefill_rows(false, {0}, {1});
  EXPECT_EQ(kv_cache_bytes(p), 19 * 132 + 128);
  EXPECT_EQ(key_scales_bytes(p), 4 * (19 * 3 + 1));
  EXPECT_EQ(value_offset_bytes(p, 2, 0, 5), 2 * 132 + 5);
  EXPECT_EQ(scale_offset_bytes(p, 2, 0), 4 * 2 * 3);
}

TEST(Problem, FindsTheSlotsOfASequenceBehindThoseOfTheSequencesBefore) {
  Problem p;
  p.op = Operation::ragged_logits, p.batch = 3, p.context_lens = {2, 0, 3}, p.max_model_len = 2;
  p.block_table = {10, 11, 12, 13, 14}, p.num_blocks = 100;
  EXPECT_EQ(table_starts(p), (std::vector<int64_t>{0, 2, 2, 5}));
  EXPECT_EQ(p.block_of(0, 1), 11);
  EXPECT_EQ(p.block_of(2, 0), 12);
  EXPECT_EQ(needed_pool(p), (std::vector<NeededBlock>{{10, 1}, {11, 1}, {12, 1}, {13, 1}}));
}

TEST(Problem, GivesEveryElementOfTheOutputToOneRow) {
  for (int64_t plane : {13, 15, 16, 40}) { // the least: planes begin in the padding of the last row
    Problem p;
    p.op = Operation::per_head_logits, p.heads = 3, p.batch = 2, p.max_model_len = 5, p.logits_stride = 8;
    p.context_lens = {5, 5}, p.logits_stride_head = plane;
    EXPECT_EQ(p.output_rows(), 6);
    int64_t element = 0;
    for (int64_t row = 0; row < 6; ++row) {
      EXPECT_EQ(p.output_offset(row), row / 2 * plane + row % 2 * 8);
      for (; element < p.output_end(row); ++element) ASSERT_EQ(p.output_row_at(element), row) << element;
    }
    EXPECT_EQ(4 * element, logits_bytes(p));
  }
}

TEST(Problem, GivesTheRowsOfEveryPlaneTheSameColumns) {
  Problem p;
  p.op = Operation::per_head_logits, p.heads = 2, p.batch = 2, p.max_model_len = 9, p.context_lens = {4, 7};
  EXPECT_EQ(p.limit(2), 4);
  EXPECT_EQ(p.limit(3), 7);
}

} // namespace
} // namespace mqalab
