// What a case may ask for: one table of refusals for paged logits, one for the other operations.
#include "fuzz/case.hpp"
#include "fuzz/case_names.hpp"
#include "fuzz/fields.hpp"

#include <gmock/gmock.h>

namespace mqalab {
namespace {

using testing::HasSubstr;

Case sequences(std::vector<int32_t> lens, int32_t block_size, int64_t max_model_len) {
  Case c;
  c.shape.batch = static_cast<int32_t>(lens.size());
  c.shape.context_lens = std::move(lens);
  c.shape.block_size = block_size;
  c.shape.max_model_len = max_model_len;
  return c;
}

// The smallest legal case of an operation.
Case smallest(Operation op) {
  Case c;
  c.op = op;
  c.shape.lens_per_row = op == Operation::prefill_logits;
  if (op == Operation::head_sum) c.shape.tail = MQA_TAIL_NEG_INF;
  return c;
}

TEST(CaseLegal, EveryOperationHasASmallestCaseAndAnEmptyOne) {
  for (size_t op = 0; op < kOperationNames.size(); ++op) {
    Case c = smallest(static_cast<Operation>(op));
    EXPECT_EQ(why_illegal(c), "") << kOperationNames[op];
    EXPECT_TRUE(case_from_json(to_json(c), "test") == c) << to_json(c);
    EXPECT_EQ(resolve(c).op, c.op);
    c.shape.batch = 0, c.shape.context_lens.clear();
    EXPECT_EQ(why_illegal(c), "") << kOperationNames[op];
    EXPECT_EQ(resolve(c).rows(), 0);
  }
}

TEST(CaseLegal, AFieldIsEitherKnownToTheOperationOrRefused) {
  for (size_t op = 0; op < kOperationNames.size(); ++op)
    for (const Field& f : fields()) {
      Case c = smallest(static_cast<Operation>(op));
      if (f.name == "op" || f.get(c) != f.smallest) continue;
      f.set(c, f.smallest + 1);
      const bool refused = why_illegal(c).find(std::string(f.name) + " has no meaning for") == 0;
      EXPECT_EQ(refused, !has_meaning(c.op, f.name)) << kOperationNames[op] << ": " << why_illegal(c);
      drop_meaningless(c);
      EXPECT_EQ(f.get(c) == f.smallest, !has_meaning(c.op, f.name)) << f.name;
    }
}

TEST(CaseLegal, TheContractAsksNothingThatTheLibraryCannotSee) {
  const Case c = case_from_json(R"({"op": "top_k", "heads": 0, "head_dim": 5})", "test");
  EXPECT_EQ(why_outside_contract(c), "");
  EXPECT_THAT(why_illegal(c), HasSubstr("heads has no meaning for top_k"));
}

TEST(CaseLegal, ASpelledOutCaseOfEveryOperationIsLegalAndResolvesToTheSame) {
  for (size_t op = 0; op < kOperationNames.size(); ++op) {
    Case c = smallest(static_cast<Operation>(op));
    c.shape.max_model_len = 7;
    const Problem p = resolve(c);
    const Case full = spelled_out(c, p, {});
    EXPECT_EQ(why_illegal(full), "");
    const Problem again = resolve(full);
    EXPECT_EQ(again.block_table, p.block_table);
    EXPECT_EQ(again.num_blocks, p.num_blocks);
    EXPECT_EQ(again.logits_stride, p.logits_stride);
    EXPECT_EQ(again.indices_stride, p.indices_stride);
  }
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
        Illegal{R"({"heads": 0})", "heads is 0; allowed: 1 to 1024"},
        Illegal{R"({"heads": 1025})", "heads is 1025"},
        Illegal{R"({"head_dim": 40})", "head_dim is 40; allowed: a multiple of 16 from 16 to 256"},
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

INSTANTIATE_TEST_SUITE_P(
    OtherOperations, CaseLegalRefuses,
    testing::Values(
        Illegal{R"({"op": "top_k", "compressed": true})", "compressed has no meaning for top_k"},
        Illegal{R"({"op": "ragged_mqa_logits", "block_size": 16})",
                "block_size has no meaning for ragged_mqa_logits"},
        Illegal{R"({"op": "ragged_mqa_logits", "context_lens": [-1]})",
                "context_lens[0] is -1; allowed: 0 or more"},
        Illegal{R"({"op": "ragged_mqa_logits", "lens_per_row": true})", "lens_per_row has no meaning"},
        Illegal{R"({"op": "ragged_mqa_logits", "block_table": {"set": [[0, 1, 0]]}})",
                "block_table.set column is 1; allowed: 0 to the sequence's length - 1"},
        Illegal{R"({"op": "per_head_mqa_logits", "max_model_len": 5, "strides": {"logits_head": 4}})",
                "strides.logits_head is 4; allowed: 0 (dense), or 5 and more"},
        Illegal{
            R"({"op": "per_head_mqa_logits", "batch": 2, "max_model_len": 5, "strides": {"logits": 9, "logits_head": 13}})",
            "or 14 and more"},
        Illegal{R"({"op": "per_head_mqa_logits", "strides": {"logits": 9223372036854775807}, "batch": 3})",
                "the largest stride"},
        Illegal{
            R"({"op": "per_head_mqa_logits", "heads": 1024, "max_model_len": 32769, "context_lens": [1]})",
            "heads * rows * max_model_len"},
        Illegal{R"({"op": "paged_mqa_logits", "strides": {"logits_head": 99}})",
                "has no meaning for paged_mqa_logits"},
        Illegal{R"({"op": "per_head_sum"})", "tail is untouched; allowed: neg_inf"},
        Illegal{R"({"op": "prefill_mqa_logits", "batch": 2, "lens_per_row": true})",
                "batch is 2; allowed: 0 or 1"},
        Illegal{R"({"op": "prefill_mqa_logits", "lens_per_row": false})", "lens_per_row is false"},
        Illegal{R"({"op": "prefill_mqa_logits", "starts": [1, 2]})", "starts has 2 entries; allowed: 1"},
        Illegal{R"({"op": "prefill_mqa_logits", "num_blocks": 16777217})",
                "num_blocks is 16777217; allowed: 0 to 16777216"},
        Illegal{R"({"op": "prefill_mqa_logits", "strides": {"kv_block": 127}})", "strides.kv_block is 127"},
        Illegal{R"({"op": "prefill_mqa_logits", "strides": {"kv_block": 130}})", "a multiple of 4"},
        Illegal{R"({"op": "prefill_mqa_logits", "block_table": {"mode": "reversed"}})",
                "block_table.mode has no meaning"},
        Illegal{R"({"op": "top_k", "top_k": {"k": 0}})", "top_k.k is 0; allowed: 1 to 4096"},
        Illegal{R"({"op": "top_k", "top_k": {"k": 4097}})", "top_k.k is 4097"},
        Illegal{R"({"op": "top_k", "starts": [0], "lens_per_row": false})",
                "starts are given without lens_per_row"},
        Illegal{R"({"op": "top_k", "top_k": {"k": 9}, "batch": 2, "strides": {"indices": 8}})",
                "strides.indices is 8"},
        Illegal{R"({"op": "top_k", "data": {"set": [["q", 0, 1]]}})", "data.set has no meaning"},
        Illegal{R"({"op": "cache_write", "next_n": 2})", "next_n has no meaning"},
        Illegal{R"({"op": "cache_write", "context_lens": [-3]})", "context_lens[0] is -3"},
        Illegal{R"({"op": "cache_write", "block_table": {"mode": "one_block"}})",
                "block_table.mode is one_block"},
        Illegal{R"({"op": "indexer", "block_table": {"mode": "alias"}})", "block_table.mode is alias"},
        Illegal{
            R"({"op": "cache_write", "context_lens": [2], "max_model_len": 2, "block_table": {"set": [[0, 1, 0]]}})",
            "block_table.set names block 0 a second time"},
        Illegal{R"({"op": "cache_write", "writer": {"skip_every": -1}})", "writer.skip_every is -1"},
        Illegal{R"({"op": "cache_write", "context_lens": [2], "max_model_len": 2, "strides": {"keys": 127}})",
                "strides.keys is 127"},
        Illegal{R"({"op": "cache_gather", "strides": {"key_scales": -1}})", "strides.key_scales is -1"},
        Illegal{R"({"op": "cache_gather", "data": {"set": [["q", 0, 1]]}})",
                "data.set index of q is 0; allowed: none"},
        Illegal{R"({"op": "indexer", "data": {"set": [["k", 0, 1]]}})",
                "data.set index of k is 0; allowed: none"},
        Illegal{R"({"op": "indexer", "starts": [0]})", "starts has no meaning for indexer"},
        Illegal{R"({"op": "indexer", "config": {"variant": "scheduled", "wave_per_eu": 3}})",
                "config.wave_per_eu is 3"}));

} // namespace
} // namespace mqalab
