// The chain names the step that broke, and its recall is what a model would see.
#include "fuzz/indexer_chain.hpp"
#include "fuzz/scenarios/scenario.hpp"

#include <gmock/gmock.h>

namespace mqalab {
namespace {

using testing::Each;
using testing::HasSubstr;
using testing::Lt;

constexpr const char* kSmall =
    R"({"op": "indexer", "batch": 2, "next_n": 2, "heads": 32, "block_size": 16, "context_lens": [100, 65],
        "max_model_len": 128, "strides": {"logits": 130}, "top_k": {"k": 32, "stable": true},
        "block_table": {"mode": "reversed"}, "data": {"lane": "numeric", "pattern": "positive"}})";

Verdict check(const char* json, const char* fault = "") {
  Oracle oracle;
  return oracle.check(case_from_json(json, "test"), find_fault(fault));
}

TEST(Indexer, TheProductionKernelsPassInEveryFormOfKeysAndLengths) {
  for (
      const char* json :
      {kSmall, R"({"op": "indexer"})", R"({"op": "indexer", "batch": 0, "context_lens": []})",
       R"({"op": "indexer", "context_lens": [0], "top_k": {"k": 3}})",
       R"({"op": "indexer", "next_n": 3, "context_lens": [1], "max_model_len": 4, "top_k": {"k": 2}})",
       R"({"op": "indexer", "context_lens": [70], "max_model_len": 70, "layout": "shuffled", "block_size": 32,
            "fp8": "e4m3fnuz", "writer": {"key_type": "fp32", "scale_format": "power_of_two"}, "top_k": {"k": 64}})",
       R"({"op": "indexer", "context_lens": [70], "max_model_len": 70, "data": {"lane": "special"}, "top_k": {"k": 9}})"}) {
    const Verdict v = check(json);
    EXPECT_EQ(v.verdict, VerdictClass::ok) << json << v.message;
  }
}

TEST(Indexer, AFaultIsSeenInTheStepThatItIsPlantedIn) {
  struct Row {
    const char *fault, *step;
    VerdictClass verdict;
  };
  for (const Row& r : {Row{"writer_truncates", "cache_write: ", VerdictClass::value},
                       Row{"writer_flavour", "cache_write: ", VerdictClass::value},
                       Row{"flavour_k", "logits: ", VerdictClass::value},
                       Row{"mask_lt", "logits: ", VerdictClass::untouched},
                       Row{"topk_stride", "top_k: ", VerdictClass::value}}) {
    const Verdict v = check(kSmall, r.fault);
    EXPECT_EQ(v.verdict, r.verdict) << r.fault << ": " << v.message;
    EXPECT_THAT(v.message, HasSubstr(r.step)) << r.fault;
    EXPECT_THAT(v.signature.pattern, HasSubstr(r.step)) << r.fault;
  }
}

TEST(Indexer, AByteOfTheCacheIsNamedByBlockAndToken) {
  const Verdict v = check(kSmall, "writer_truncates");
  ASSERT_EQ(v.first_bad.size(), 1u);
  EXPECT_THAT(v.first_bad[0].where,
              testing::MatchesRegex("block [0-9]+ byte [0-9]+, token [0-9]+ dim [0-9]+"));
  EXPECT_THAT(v.message, HasSubstr(v.first_bad[0].where));
}

// No fault of the chain can be planted that only the end-to-end rule sees.  Logits within their bounds are
// results that the reference allows, and a selection that is exact against them keeps must and may (the proof
// by test: refimpl/topk_test.cpp); both steps' judges read the very buffers that the chain ends with.  So the
// rule holds the judges and the wiring of the trial, and is tested by selections made by hand here, and in
// trial_top_k_test.cpp without a device.
TEST(Indexer, TheSelectionOfAnotherCaseIsWrongEndToEnd) {
  const Case c = case_from_json(kSmall, "test");
  TrialMemory memory;
  IndexerChain chain(memory, c);
  const struct Setup setup{memory.fresh_salt()};
  const IndexerRun run = chain.run(setup, nullptr, {});
  Case other_keys = c;
  other_keys.data.seed = 2;
  IndexerChain other(memory, other_keys);
  const struct Setup next{memory.fresh_salt()};
  const IndexerRun strange = other.run(next, nullptr, {});
  EXPECT_EQ(chain.judge_whole(setup, run).verdict, VerdictClass::ok);
  const Verdict v = chain.judge_whole(next, strange);
  EXPECT_EQ(v.verdict, VerdictClass::value);
  EXPECT_THAT(v.message, HasSubstr("end to end: value: "));
}

TEST(Indexer, AFaultOfAnotherOperationIsRefused) {
  for (const char* fault : {"gather_row_zero", "sum_offset_32", "prefill_start_ignored"}) {
    ASSERT_NE(find_fault(fault), nullptr) << fault;
    EXPECT_EQ(check(kSmall, fault).verdict, VerdictClass::rejected) << fault;
  }
}

double recall_of(const char* json, const char* fault) {
  const Case c = case_from_json(json, "test");
  TrialMemory memory;
  IndexerChain chain(memory, c);
  const IndexerRun run = chain.run({memory.fresh_salt()}, find_fault(fault), {});
  double worst = 1;
  for (const double recall : chain.recalls(run)) worst = std::min(worst, recall);
  return worst;
}

TEST(Indexer, RecallFallsWithAFaultOnceTheContextPassesK) {
  EXPECT_EQ(recall_of(kSmall, ""), 1.0);
  EXPECT_LT(recall_of(kSmall, "row_neighbour"), 0.8);
  // All columns are selected: the same fault costs nothing.
  EXPECT_EQ(
      recall_of(R"({"op": "indexer", "next_n": 2, "heads": 32, "context_lens": [100], "max_model_len": 100,
                          "top_k": {"k": 128, "stable": true}, "data": {"lane": "numeric"}})",
                "row_neighbour"),
      1.0);
}

TEST(Indexer, AVerdictHoldsTheWorstRowsRecallWhateverItsClass) {
  EXPECT_EQ(check(kSmall).recall, 1);
  const Verdict wrong = check(kSmall, "row_neighbour");
  EXPECT_TRUE(is_finding(wrong.verdict));
  EXPECT_EQ(wrong.recall, recall_of(kSmall, "row_neighbour"));
  EXPECT_EQ(verdict_from_json(to_json(wrong)).recall, wrong.recall);
  EXPECT_EQ(check(R"({"op": "indexer", "context_lens": [0], "top_k": {"k": 3}})").recall, -1);
  EXPECT_EQ(check(R"({"op": "indexer", "batch": 2, "context_lens": [0, 1], "top_k": {"k": 3}})").recall, 1);
}

TEST(Indexer, TheScenariosFaultsExist) { EXPECT_EQ(indexer_faults().size(), 17u); }

} // namespace
} // namespace mqalab
