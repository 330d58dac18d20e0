#include "fuzz/case_samples.hpp"

#include <gmock/gmock.h>

namespace mqalab {
namespace {

using testing::HasSubstr;

TEST(CaseJson, SmallestCaseIsAnEmptyObject) { EXPECT_EQ(to_json(Case{}, -1), "{}"); }

TEST(CaseJson, EveryCaseComesBackEqual) {
  CaseSampler sampler(3);
  for (int i = 0; i < 5000; ++i) {
    const Case c = sampler.any();
    ASSERT_TRUE(case_from_json(to_json(c), "sample") == c) << "sample " << i << ": " << to_json(c);
    ASSERT_TRUE(case_from_json(to_json(c, 2, true), "sample") == c)
        << "sample " << i << ": " << to_json(c, 2, true);
  }
}

TEST(CaseJson, EveryFieldHasThePlaceThatTheGuideGivesIt) {
  const Case c =
      case_from_json(R"({"op": "paged_mqa_logits", "fp8": "e4m3fnuz", "batch": 2, "next_n": 3, "heads": 16,
    "head_dim": 64, "block_size": 32, "layout": "shuffled", "context_lens": [5, 6], "max_model_len": 40,
    "tail": "neg_inf", "num_blocks": 9,
    "strides": {"q": [1, 2, 3], "weights": 4, "block_table": 5, "logits": 6, "kv_block": 8},
    "block_table": {"mode": "alias", "padding": "zero", "seed": 18446744073709551615, "period": 2, "set": [[1, 2, -3]]},
    "data": {"lane": "special", "pattern": "address", "seed": 7, "set": [["scale", 4, 4294967295]]},
    "config": {"variant": "direct", "chunk_k": 128, "split_kv": 3, "wave_per_eu": 4}})",
                     "test");
  EXPECT_EQ(c.shape.fp8, MQA_E4M3FNUZ);
  EXPECT_EQ(c.shape.layout, MQA_SHUFFLED);
  EXPECT_EQ(c.shape.tail, MQA_TAIL_NEG_INF);
  EXPECT_EQ(c.shape.context_lens, (std::vector<int32_t>{5, 6}));
  EXPECT_FALSE(c.shape.lens_per_row);
  EXPECT_EQ(c.strides.q, (std::array<int64_t, 3>{1, 2, 3}));
  EXPECT_EQ(c.strides.kv_block, 8);
  EXPECT_EQ(c.block_table.mode, TableMode::alias);
  EXPECT_EQ(c.block_table.padding, TablePadding::zero);
  EXPECT_EQ(c.block_table.seed, UINT64_MAX);
  EXPECT_EQ(c.block_table.set.at(0), (TableOverride{1, 2, -3}));
  EXPECT_EQ(c.data.lane, Lane::special);
  EXPECT_EQ(c.data.pattern, Pattern::address);
  EXPECT_EQ(c.data.overrides.at(0), (Override{Tensor::scale, 4, UINT32_MAX}));
  EXPECT_EQ(c.config.variant, MQA_VARIANT_DIRECT);
  EXPECT_EQ(c.config.wave_per_eu, 4);
}

TEST(CaseJson, EveryFieldOfTheOtherOperationsHasItsPlace) {
  const Case c =
      case_from_json(R"({"op": "top_k", "next_n": 3, "context_lens": [4, 5, 6], "starts": [0, -1, 2],
    "compressed": true, "top_k": {"k": 2048, "stable": true},
    "writer": {"key_type": "fp32", "scale_format": "power_of_two", "skip_every": 3},
    "strides": {"logits_head": 1, "keys": 2, "key_scales": 3, "indices": 4}})",
                     "test");
  EXPECT_EQ(c.op, Operation::top_k);
  EXPECT_TRUE(c.shape.lens_per_row);
  EXPECT_EQ(c.shape.starts, (std::vector<int32_t>{0, -1, 2}));
  EXPECT_TRUE(c.shape.compressed);
  EXPECT_EQ(c.selection, (Selection{2048, true}));
  EXPECT_EQ(c.writer, (WriterSpec{MQA_KEY_FP32, MQA_SCALE_POWER_OF_TWO, 3}));
  EXPECT_EQ(c.strides.logits_head, 1);
  EXPECT_EQ(c.strides.keys, 2);
  EXPECT_EQ(c.strides.key_scales, 3);
  EXPECT_EQ(c.strides.indices, 4);
}

TEST(CaseJson, APrefillHasOneEndPerRowHoweverManyThereAre) {
  const Case c = case_from_json(R"({"op": "prefill_mqa_logits", "context_lens": [7]})", "t");
  EXPECT_TRUE(c.shape.lens_per_row);
  EXPECT_EQ(to_json(c, -1), R"({"context_lens":[7],"op":"prefill_mqa_logits"})");
  EXPECT_EQ(case_from_json(R"({"op": "prefill_mqa_logits", "next_n": 3})", "t").shape.context_lens,
            (std::vector<int32_t>{1, 1, 1}));
}

TEST(CaseJson, StartsMeanOneLengthPerRow) {
  EXPECT_TRUE(
      case_from_json(R"({"op": "top_k", "context_lens": [7], "starts": [2]})", "t").shape.lens_per_row);
}

TEST(CaseJson, OneLengthPerRowIsSeenFromTheNumberOfEntries) {
  EXPECT_TRUE(
      case_from_json(R"({"batch": 2, "next_n": 2, "context_lens": [1, 2, 3, 4]})", "t").shape.lens_per_row);
  EXPECT_FALSE(
      case_from_json(R"({"batch": 2, "next_n": 1, "context_lens": [1, 2]})", "t").shape.lens_per_row);
  EXPECT_TRUE(case_from_json(R"({"batch": 2, "context_lens": [1, 2], "lens_per_row": true})", "t")
                  .shape.lens_per_row);
}

TEST(CaseJson, MissingLengthsAreOneTokenForEverySequence) {
  EXPECT_EQ(case_from_json(R"({"batch": 3})", "t").shape.context_lens, (std::vector<int32_t>{1, 1, 1}));
}

struct BadInput {
  const char* json;
  const char* says;
};
class CaseJsonRefuses : public testing::TestWithParam<BadInput> {};

TEST_P(CaseJsonRefuses, NamesFileFieldValueAndWhatIsAllowed) {
  try {
    case_from_json(GetParam().json, "bad.json");
    FAIL() << "accepted: " << GetParam().json;
  } catch (const CaseError& e) {
    EXPECT_THAT(e.what(), HasSubstr("bad.json"));
    EXPECT_THAT(e.what(), HasSubstr("allowed: "));
    EXPECT_THAT(e.what(), HasSubstr(GetParam().says));
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, CaseJsonRefuses,
    testing::Values(
        BadInput{"", "not JSON"}, BadInput{"{", "line 1"}, BadInput{"{} {}", "not JSON"},
        BadInput{"[]", "the file is []"}, BadInput{"null", "the file is null"},
        BadInput{"{\"heads\": 8, \"heads\": 16}", "\"heads\" is given twice"},
        BadInput{"{\"head\": 8}", "unknown field head; allowed: "}, BadInput{"{\"head\": 8}", "try: heads"},
        BadInput{"{\"heads\": 8.5}", "heads is 8.5; allowed: an integer"},
        BadInput{"{\"heads\": 1e30}", "heads is 1e+30"}, BadInput{"{\"heads\": 8.0}", "heads is 8.0"},
        BadInput{"{\"heads\": \"8\"}", "heads is \"8\""}, BadInput{"{\"heads\": true}", "heads is true"},
        BadInput{"{\"heads\": null}", "heads is null"},
        BadInput{"{\"batch\": 2147483648}", "from -2147483648 to 2147483647"},
        BadInput{"{\"max_model_len\": 99999999999999999999}", "max_model_len is"},
        BadInput{"{\"max_model_len\": 18446744073709551615}", "max_model_len is 18446744073709551615"},
        BadInput{"{\"context_lens\": 3}", "context_lens is 3; allowed: an array"},
        BadInput{"{\"context_lens\": [1, \"x\"]}", "context_lens[1] is \"x\""},
        BadInput{"{\"context_lens\": [4294967297]}", "context_lens[0] is 4294967297"},
        BadInput{"{\"lens_per_row\": 1}", "true or false"},
        BadInput{"{\"layout\": \"planer\"}", "try: planar"},
        BadInput{"{\"fp8\": \"e5m2\"}", "allowed: e4m3fn or e4m3fnuz"}, BadInput{"{\"fp8\": 1}", "fp8 is 1"},
        BadInput{"{\"op\": \"gemm\"}", "allowed: paged_mqa_logits, "},
        BadInput{"{\"op\": \"topk\"}", "try: top_k"}, BadInput{"{\"op\": 6}", "op is 6"},
        BadInput{"{\"starts\": 3}", "starts is 3; allowed: an array"},
        BadInput{"{\"starts\": [0.5]}", "starts[0] is 0.5"},
        BadInput{"{\"compressed\": 1}", "compressed is 1; allowed: true or false"},
        BadInput{"{\"top_k\": {\"stable\": 0}}", "top_k.stable is 0; allowed: true or false"},
        BadInput{"{\"top_k\": {\"kk\": 1}}", "try: k"},
        BadInput{"{\"writer\": {\"key_type\": \"f16\"}}", "allowed: bf16, fp16 or fp32"},
        BadInput{"{\"writer\": {\"scale_format\": \"ue8m0\"}}", "allowed: plain or power_of_two"},
        BadInput{"{\"strides\": 3}", "strides is 3"},
        BadInput{"{\"strides\": {\"q\": [1, 2]}}", "strides.q is [1,2]"},
        BadInput{"{\"strides\": {\"logit\": 2}}", "strides.logit; allowed: "},
        BadInput{"{\"block_table\": {\"mode\": \"revers\"}}", "try: reversed"},
        BadInput{"{\"block_table\": {\"seed\": -1}}", "block_table.seed is -1"},
        BadInput{"{\"block_table\": {\"set\": [[0, 0]]}}", "block_table.set[0] is [0,0]"},
        BadInput{"{\"data\": {\"lane\": \"exakt\"}}", "try: exact"},
        BadInput{"{\"data\": {\"set\": [[\"q\", 0, 256]]}}",
                 "data.set[0][2] is 256; allowed: an integer from 0 to 255"},
        BadInput{"{\"data\": {\"set\": [[\"v\", 0, 1]]}}", "q, k, scale or weights"},
        BadInput{"{\"config\": {\"variant\": \"stagd\"}}", "try: staged"},
        BadInput{"{\"config\": {\"variant\": 1}}", "config.variant is 1"},
        BadInput{"{\"config\": {\"chunk\": 1}}", "try: chunk_k"}));

TEST(CaseJson, AMissingFileIsNamedWithItsReason) {
  try {
    load_case("no/such/case.json");
    FAIL();
  } catch (const CaseError& e) {
    EXPECT_THAT(e.what(), HasSubstr("no/such/case.json: cannot be read: No such file"));
  }
}

} // namespace
} // namespace mqalab
