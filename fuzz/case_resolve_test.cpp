#include "fuzz/case.hpp"

#include <gmock/gmock.h>

#include <set>

namespace mqalab {
namespace {

using testing::ElementsAre;

Case sequences(std::vector<int32_t> lens, int32_t block_size, int64_t max_model_len) {
  Case c;
  c.shape.batch = static_cast<int32_t>(lens.size());
  c.shape.context_lens = std::move(lens);
  c.shape.block_size = block_size;
  c.shape.max_model_len = max_model_len;
  return c;
}

Problem with_table(TableMode mode, int32_t period = 1) {
  Case c = sequences({33, 17}, 16, 64); // 3 and 2 blocks in rows of 4
  c.block_table.mode = mode;
  c.block_table.period = period;
  return resolve(c);
}

TEST(CaseResolve, DefaultsAreDense) {
  const Problem p = resolve(sequences({1, 2, 3}, 1, 5));
  EXPECT_EQ(p.q_stride_head, 128);
  EXPECT_EQ(p.q_stride_batch, 8 * 128);
  EXPECT_EQ(p.weights_stride, 8);
  EXPECT_EQ(p.block_table_stride, 5);
  EXPECT_EQ(p.logits_stride, 5);
  EXPECT_EQ(p.kv_block_stride_bytes, 132);
  EXPECT_EQ(p.num_blocks, 6);
}

TEST(CaseResolve, EveryTableProgramNamesTheBlocksItPromises) {
  EXPECT_THAT(with_table(TableMode::identity).block_table, ElementsAre(0, 1, 2, -1, 3, 4, -1, -1));
  EXPECT_THAT(with_table(TableMode::reversed).block_table, ElementsAre(4, 3, 2, -1, 1, 0, -1, -1));
  EXPECT_THAT(with_table(TableMode::one_block).block_table, ElementsAre(0, 0, 0, -1, 0, 0, -1, -1));
  EXPECT_THAT(with_table(TableMode::alias, 2).block_table, ElementsAre(0, 1, 0, -1, 0, 1, -1, -1));
  EXPECT_THAT(with_table(TableMode::strided, 3).block_table, ElementsAre(0, 3, 6, -1, 9, 12, -1, -1));
  EXPECT_EQ(with_table(TableMode::strided, 3).num_blocks, 13);
}

TEST(CaseResolve, ShuffledIsAPermutationThatItsSeedDecides) {
  Case c = sequences({4096}, 16, 4096);
  c.block_table.mode = TableMode::shuffled;
  const Problem one = resolve(c);
  EXPECT_EQ(std::set<int32_t>(one.block_table.begin(), one.block_table.end()).size(), 256u);
  c.block_table.seed = 1;
  EXPECT_NE(resolve(c).block_table, one.block_table);
}

TEST(CaseResolve, HighIdsLieBeyondTheSignBitAndEndThePool) {
  for (int32_t period : {1, 2}) {
    const Problem p = with_table(TableMode::high, period);
    EXPECT_GE(p.block_table[0] * p.kv_block_stride_bytes, period * (int64_t{1} << 31));
    EXPECT_LT((p.block_table[0] - 1) * p.kv_block_stride_bytes, period * (int64_t{1} << 31));
    EXPECT_EQ(p.block_table[5], p.num_blocks - 1);
  }
}

TEST(CaseResolve, PoisonedPaddingNamesABlockThatNobodyNeeds) {
  Case c = sequences({33, 17}, 16, 64);
  c.block_table.padding = TablePadding::poisoned;
  EXPECT_THAT(resolve(c).block_table, ElementsAre(0, 1, 2, 5, 3, 4, 5, 5));
  c.block_table.padding = TablePadding::zero;
  EXPECT_THAT(resolve(c).block_table, ElementsAre(0, 1, 2, 0, 3, 4, 0, 0));
}

TEST(CaseResolve, PaddingFallsBackWhenEveryBlockIsNeeded) {
  Problem p = with_table(TableMode::identity);
  fill_table_padding(p, TablePadding::poisoned);
  EXPECT_EQ(p.block_table[3], -1);
}

TEST(CaseResolve, OverridesWinAlsoInThePadding) {
  Case c = sequences({33, 17}, 16, 64);
  c.block_table.set = {{0, 1, 99}, {1, 3, -7}};
  EXPECT_THAT(resolve(c).block_table, ElementsAre(0, 99, 2, -1, 3, 4, -1, -7));
}

TEST(CaseResolve, ASpelledOutCaseResolvesToTheSameProblem) {
  Case c = sequences({33, 17}, 16, 64);
  c.block_table.mode = TableMode::high;
  const Problem p = resolve(c), again = resolve(spelled_out(c, p, {1, 256, 3, 2}));
  EXPECT_EQ(again.block_table, p.block_table);
  EXPECT_EQ(again.num_blocks, p.num_blocks);
  EXPECT_EQ(again.q_stride_batch, p.q_stride_batch);
}

TEST(CaseResolve, RaggedSlotsAreOneListAndLieInTheOrderOfTheSequences) {
  const Problem p = resolve(case_from_json(
      R"({"op": "ragged_mqa_logits", "batch": 3, "context_lens": [2, 0, 3], "max_model_len": 9,
          "block_table": {"mode": "reversed", "set": [[2, 1, -5]]}})",
      "test"));
  EXPECT_THAT(p.block_table, ElementsAre(4, 3, 2, -5, 0));
  EXPECT_EQ(p.block_table_stride, 0);
  EXPECT_EQ(p.num_blocks, 5);
  EXPECT_EQ(p.block_of(2, 0), 2);
}

TEST(CaseResolve, RaggedSlotsPastTheColumnsArePadding) {
  const Problem p = resolve(case_from_json(
      R"({"op": "per_head_ragged_mqa_logits", "batch": 2, "context_lens": [3, 4], "max_model_len": 2,
          "block_table": {"padding": "poisoned"}})",
      "test"));
  EXPECT_THAT(p.block_table, ElementsAre(0, 1, 4, 2, 3, 4, 4));
  EXPECT_EQ(p.num_blocks, 5);
}

TEST(CaseResolve, APrefillHasKeysAndNoTable) {
  const Problem p = resolve(case_from_json(
      R"({"op": "prefill_mqa_logits", "next_n": 3, "starts": [0, 5, -1], "context_lens": [4, 9, 2147483647],
          "max_model_len": 20, "strides": {"key_scales": 3}})",
      "test"));
  EXPECT_EQ(p.num_blocks, 20) << "an end past every column is an end past the keys";
  EXPECT_THAT(p.row_starts, ElementsAre(0, 5, -1));
  EXPECT_TRUE(p.block_table.empty());
  EXPECT_EQ(p.kv_block_stride_bytes, 128);
  EXPECT_EQ(p.key_scales_stride, 3);
  EXPECT_EQ(p.limit(1), 9);
}

TEST(CaseResolve, ACompressedPrefillNeedsKeysPastItsColumns) {
  const Problem p = resolve(case_from_json(
      R"({"op": "prefill_mqa_logits", "next_n": 2, "starts": [30, 2147483600], "context_lens": [99, 7],
          "max_model_len": 4, "compressed": true})",
      "test"));
  EXPECT_EQ(p.num_blocks, 34) << "the second row is empty";
  EXPECT_THAT(resolve(case_from_json(R"({"op": "prefill_mqa_logits", "next_n": 2})", "test")).row_starts,
              ElementsAre(0, 0));
}

TEST(CaseResolve, PlanesOfHeadsAreDenseUnlessAStrideSaysOtherwise) {
  Case c = case_from_json(R"({"op": "per_head_mqa_logits", "batch": 3, "max_model_len": 5,
                              "strides": {"logits": 7}})",
                          "test");
  EXPECT_EQ(resolve(c).logits_stride_head, 21);
  c.strides.logits_head = 50;
  EXPECT_EQ(resolve(c).logits_stride_head, 50);
}

TEST(CaseResolve, TopKHasNoCacheAndStartsOnlyWhereTheyAreGiven) {
  Case c = case_from_json(R"({"op": "top_k", "max_model_len": 9, "top_k": {"k": 4}})", "test");
  EXPECT_EQ(resolve(c).num_blocks, 0);
  EXPECT_EQ(resolve(c).indices_stride, 4);
  EXPECT_TRUE(resolve(c).row_starts.empty());
  c.shape.starts = {2}, c.shape.lens_per_row = true;
  EXPECT_THAT(resolve(c).row_starts, ElementsAre(2));
}

TEST(CaseResolve, ACacheWriteNamesItsSlotsByTheTableProgram) {
  const Problem p = resolve(case_from_json(
      R"({"op": "cache_write", "batch": 2, "block_size": 16, "context_lens": [17, 3], "max_model_len": 40,
          "block_table": {"mode": "strided", "period": 3}, "writer": {"skip_every": 5}})",
      "test"));
  EXPECT_THAT(p.block_table, ElementsAre(0, 3, -1, 6, -1, -1));
  EXPECT_EQ(p.keys_stride, 128);
  EXPECT_EQ(p.skip_every, 5);
}

} // namespace
} // namespace mqalab
