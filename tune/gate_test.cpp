// The gate lets the production kernel through and stops planted faults, at the edges that each needs.
#include "tune/gate.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace mqalab {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

Case problem() {
  Case c;
  c.shape.heads = 8, c.shape.block_size = 16, c.shape.max_model_len = 1000, c.shape.context_lens = {1000};
  return c;
}
Candidate candidate(const char* fault = nullptr) {
  return {{MQA_VARIANT_STAGED, 64, 2, 2}, false, fault ? find_fault(fault) : nullptr};
}

TEST(EdgeCases, StandOneEitherSideOfEveryEdge) {
  const auto cases = edge_cases(problem(), {MQA_VARIANT_STAGED, 64, 2, 2});
  ASSERT_EQ(cases.size(), 2u);
  for (const int32_t length : {0, 1, 15, 16, 17, 63, 64, 65})
    EXPECT_THAT(cases[0].shape.context_lens, Contains(length));
  EXPECT_THAT(cases[0].shape.context_lens, Contains(static_cast<int32_t>(cases[0].shape.max_model_len)));
  EXPECT_NE(cases[0].data.lane, cases[1].data.lane);
}

TEST(EdgeCases, AreLegalAndBoundedForEveryShape) {
  for (const int64_t columns : {1, 63, 64, 5000, 1 << 20})
    for (const int32_t next_n : {1, 3})
      for (const bool lens_per_row : {false, true})
        for (const int32_t chunk_k : {64, 1024}) {
          Case c = problem();
          c.shape.max_model_len = columns, c.shape.next_n = next_n, c.shape.lens_per_row = lens_per_row;
          c.shape.context_lens.assign(lens_per_row ? static_cast<size_t>(next_n) : 1, 1);
          for (const Case& edge : edge_cases(c, {MQA_VARIANT_STAGED, chunk_k, 4, 2})) {
            EXPECT_EQ(why_illegal(edge), "");
            EXPECT_LE(edge.shape.max_model_len, std::min<int64_t>(columns, 3 * 1024 + 17));
          }
        }
}

TEST(EdgeCases, KeepFarLogitsFarApart) {
  Case c = problem();
  c.shape.batch = 2, c.shape.context_lens = {1, 1}, c.strides.logits = int64_t{1} << 29;
  const Case edge = edge_cases(c, {MQA_VARIANT_STAGED, 64, 2, 2}).front();
  EXPECT_GT(edge.strides.logits * edge.shape.batch * 4, int64_t{1} << 31);
}

TEST(EdgeCases, HoldAnOddNumberOfChunks) {
  EXPECT_THAT(edge_cases(problem(), {MQA_VARIANT_STAGED, 64, 2, 2})[0].shape.context_lens, Contains(3 * 64));
}

constexpr const char* kTunable[] = {
    R"({"op": "ragged_mqa_logits", "max_model_len": 300, "context_lens": [300]})",
    R"({"op": "per_head_mqa_logits", "block_size": 16, "max_model_len": 300, "context_lens": [300]})",
    R"({"op": "per_head_ragged_mqa_logits", "max_model_len": 300, "context_lens": [300]})",
    R"({"op": "prefill_mqa_logits", "next_n": 8, "max_model_len": 300,
        "context_lens": [300, 300, 300, 300, 300, 300, 300, 300]})"};

TEST(EdgeCases, AreLegalForEveryTunableOperation) {
  for (const char* json : kTunable)
    for (const Case& edge : edge_cases(case_from_json(json, "test"), {MQA_VARIANT_STAGED, 64, 2, 2}))
      EXPECT_EQ(why_illegal(edge), "") << json;
}

TEST(Gate, PassesTheProductionKernelOfEveryTunableOperation) {
  Oracle oracle;
  for (const char* json : kTunable) {
    const Certification result = certify(oracle, case_from_json(json, "test"), candidate());
    EXPECT_TRUE(result.passed()) << json << result.status << ": " << result.evidence;
  }
}

TEST(Gate, StopsAFaultOfAnotherForm) {
  Oracle oracle;
  const Case prefill = case_from_json(kTunable[3], "test");
  for (const char* fault : {"prefill_start_ignored", "prefill_hull_of_first_row"}) {
    ASSERT_NE(find_fault(fault), nullptr) << fault;
    EXPECT_FALSE(certify(oracle, prefill, candidate(fault)).passed()) << fault;
  }
}

TEST(Gate, PassesTheProductionKernel) {
  Oracle oracle;
  const Certification result = certify(oracle, problem(), candidate());
  EXPECT_TRUE(result.passed()) << result.status << ": " << result.evidence;
  EXPECT_EQ(result.cases, 2);
  EXPECT_THAT(result.edge_shapes, HasSubstr("lengths 0 1"));
}

TEST(Gate, StopsFastButWrongConfigurationsAndKeepsTheEvidence) {
  Oracle oracle;
  for (const char* fault : {"split_drops_rest", "split_short_by_one", "scale_missing", "tail_written"}) {
    ASSERT_NE(find_fault(fault), nullptr) << fault;
    const Certification result = certify(oracle, problem(), candidate(fault));
    EXPECT_EQ(result.status, "wrong_result") << fault;
    EXPECT_FALSE(result.evidence.empty()) << fault;
    EXPECT_NO_THROW(case_from_json(result.replay, "replay")) << fault;
  }
}

TEST(Gate, CallsAnImpossibleConfigurationInvalid) {
  Oracle oracle;
  Candidate impossible = candidate();
  impossible.config.chunk_k = 100;
  EXPECT_EQ(certify(oracle, problem(), impossible).status, "invalid");
}

} // namespace
} // namespace mqalab
