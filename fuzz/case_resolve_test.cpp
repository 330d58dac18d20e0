#include "fuzz/case.hpp"

#include <gmock/gmock.h>

#include <set>

namespace mqalab {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

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

TEST(CaseLegal, TheSmallestCaseIsLegalAndSoIsAnEmptyBatch) {
  EXPECT_EQ(why_illegal(Case{}), "");
  EXPECT_EQ(why_illegal(sequences({}, 1, 1)), "");
}

TEST(CaseLegal, NegativeAndHugeLengthsAreLegal) {
  EXPECT_EQ(why_illegal(sequences({-5, INT32_MAX}, 16, 100)), "");
}

struct Illegal {
  const char* json;
  const char* says;
};
TEST(CaseLegal, AStrideOfASingleItemIsTheLabsConcernAndNotTheContracts) {
  const Case c = case_from_json(R"({"strides": {"weights": 7}})", "test");
  EXPECT_EQ(why_outside_contract(c), "");
  EXPECT_THAT(why_illegal(c), HasSubstr("strides.weights is 7"));
}

class CaseLegalRefuses : public testing::TestWithParam<Illegal> {};

TEST_P(CaseLegalRefuses, SaysWhatWasGivenAndWhatIsAllowed) {
  const std::string why = why_illegal(case_from_json(GetParam().json, "test"));
  EXPECT_THAT(why, HasSubstr(GetParam().says));
  EXPECT_THAT(why, HasSubstr("; allowed: "));
}

INSTANTIATE_TEST_SUITE_P(
    All, CaseLegalRefuses,
    testing::Values(
        Illegal{R"({"batch": -1})", "batch is -1"}, Illegal{R"({"next_n": 0})", "next_n is 0"},
        Illegal{R"({"heads": 12})", "heads is 12; allowed: a multiple of 8"},
        Illegal{R"({"heads": 136})", "heads is 136"}, Illegal{R"({"head_dim": 48})", "32, 64 or 128"},
        Illegal{R"({"block_size": 24})", "block_size is 24"},
        Illegal{R"({"layout": "shuffled"})", "block_size is 1"},
        Illegal{R"({"max_model_len": 0})", "max_model_len is 0"},
        Illegal{R"({"max_model_len": 16777217})", "1 to 16777216"},
        Illegal{R"({"num_blocks": -1})", "num_blocks is -1"},
        Illegal{R"({"num_blocks": 4294967296})", "num_blocks is 4294967296"},
        Illegal{R"({"context_lens": [1, 2]})", "context_lens has 2 entries"},
        Illegal{R"({"batch": 2147483647, "next_n": 2147483647, "context_lens": [1]})", "batch * next_n is"},
        Illegal{R"({"strides": {"q": [0, 0, 127]}})", "strides.q[2] is 127"},
        Illegal{R"({"strides": {"q": [-1, 0, 0]}})", "strides.q[0] is -1"},
        Illegal{R"({"strides": {"weights": 7}})", "strides.weights is 7"},
        Illegal{R"({"max_model_len": 9, "strides": {"block_table": 8}})", "strides.block_table is 8"},
        Illegal{R"({"max_model_len": 9, "strides": {"logits": 8}})", "strides.logits is 8"},
        Illegal{R"({"strides": {"kv_block": 128}})", "strides.kv_block is 128"},
        Illegal{R"({"strides": {"kv_block": 134}})", "a multiple of 4"},
        Illegal{R"({"strides": {"kv_block": 9223372036854775804}})", "the largest stride"},
        Illegal{R"({"strides": {"q": [0, 0, 9223372036854775807]}})", "the largest stride"},
        Illegal{R"({"strides": {"q": [34359738368, 0, 0]}, "batch": 3})", "q is"},
        Illegal{R"({"strides": {"logits": 34359738368}})", "logits is"},
        Illegal{R"({"num_blocks": 2147483647})", "kv_cache is"},
        Illegal{
            R"({"block_table": {"mode": "strided", "period": 2147483647}, "context_lens": [9], "max_model_len": 9})",
            "kv_cache is"},
        Illegal{R"({"block_table": {"period": 0}})", "block_table.period is 0"},
        Illegal{R"({"block_table": {"set": [[1, 0, 0]]}})", "block_table.set row is 1"},
        Illegal{R"({"block_table": {"set": [[0, 1, 0]]}})", "block_table.set column is 1"},
        Illegal{R"({"data": {"set": [["q", 1024, 0]]}})", "data.set index of q is 1024; allowed: 0 to 1023"},
        Illegal{R"({"data": {"set": [["scale", 1, 0]]}})", "data.set index of scale is 1"},
        Illegal{R"({"batch": 4, "max_model_len": 16777216})", "rows * max_model_len"},
        Illegal{R"({"context_lens": [2000000], "max_model_len": 2000000})", "visible tokens"},
        Illegal{R"({"config": {"chunk_k": 100}})", "config.chunk_k is 100"},
        Illegal{R"({"config": {"split_kv": 65536}})", "config.split_kv is 65536"},
        Illegal{R"({"config": {"wave_per_eu": 3}})", "config.wave_per_eu is 3"}));

} // namespace
} // namespace mqalab
