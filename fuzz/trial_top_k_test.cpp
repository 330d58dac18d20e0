// Judging selections: from made-up outputs, then on a device with the production kernel, every planted
// fault's witness and launchers that spoil what the kernel left.
#include "fuzz/judge_top_k.hpp"
#include "fuzz/oracle.hpp"
#include "fuzz/sentinel.hpp"
#include "refimpl/compare.hpp"

#include <gmock/gmock.h>

#include <string>

namespace mqalab {
namespace {

using testing::HasSubstr;

Case of(const std::string& json) { return case_from_json(json, "test"); }

// ---- without a device ----
// One row of five logits, k 2 of a stride of 4.
struct OneRow {
  Problem p;
  OneRow() {
    p.op = Operation::top_k;
    p.max_model_len = p.logits_stride = 5, p.context_lens = {5}, p.k = 2, p.indices_stride = 4;
  }
  Verdict judged(std::vector<uint32_t> cells, std::vector<uint64_t> old_salts = {}) const {
    const Watch watch(index_cells(p));
    return judge_top_k(p, [](int64_t) { return std::vector<float>{5, 4, 4, 4, 1}; },
                       {watch, cells, 7, old_salts});
  }
  static uint32_t prefill(int64_t element, uint64_t salt = 7) { return sentinel(salt, element); }
};

TEST(JudgeTopK, ARightSelectionIsOk) {
  const auto v = OneRow().judged({0, 3, OneRow::prefill(2), OneRow::prefill(3)});
  EXPECT_EQ(v.verdict, VerdictClass::ok) << v.message;
  EXPECT_EQ(v.cells_checked, 4);
}

TEST(JudgeTopK, UntouchedComesBeforeStaleBeforeTouched) {
  const OneRow row;
  const uint32_t two = OneRow::prefill(2), three = OneRow::prefill(3);
  EXPECT_EQ(row.judged({0, OneRow::prefill(1), 5, three}).verdict, VerdictClass::untouched);
  EXPECT_EQ(row.judged({0, OneRow::prefill(1, 3), 5, three}, {3}).verdict, VerdictClass::stale);
  const Verdict touched = row.judged({0, 1, two, 9});
  EXPECT_EQ(touched.verdict, VerdictClass::touched);
  EXPECT_EQ(touched.signature.region, "row padding");
}

TEST(JudgeTopK, AWrongClassIsAnIndexThatIsNoColumn) {
  const Verdict v = OneRow().judged({0, 7, OneRow::prefill(2), OneRow::prefill(3)});
  EXPECT_EQ(v.verdict, VerdictClass::wrong_class);
  EXPECT_EQ(v.signature.pattern, "out of range");
  EXPECT_THAT(v.message, HasSubstr("row 0 position 1, column 7 is no candidate"));
}

TEST(JudgeTopK, AWrongSelectionIsAValue) {
  const Verdict v = OneRow().judged({1, 1, OneRow::prefill(2), OneRow::prefill(3)});
  EXPECT_EQ(v.verdict, VerdictClass::value);
  EXPECT_EQ(v.signature.pattern, "duplicate");
  EXPECT_EQ(v.cells_bad, 2) << "and column 0 is missing";
}

TEST(JudgeTopK, SpeaksOfPositionsAndOfColumnsThatTheyHold) {
  const uint32_t two = OneRow::prefill(2), three = OneRow::prefill(3);
  const Verdict untouched = OneRow().judged({0, OneRow::prefill(1), two, three});
  EXPECT_THAT(untouched.message,
              HasSubstr("untouched; row 0 position 1. First: row 0 position 1, never written"));
  EXPECT_EQ(untouched.first_bad.front().where, "row 0 position 1");
  EXPECT_EQ(untouched.first_bad.front().expected, 1) << "the column that is due";
  EXPECT_THAT(OneRow().judged({7, 8, two, three}).message,
              HasSubstr("class: 3 mistakes in 4 indices, out of range; every promised cell. First: row 0"))
      << "two indices are no columns, and column 0 is missing";
  EXPECT_THAT(OneRow().judged({0, ~0u, two, three}).message, HasSubstr("-1 where a column is due"));
  OneRow few;
  few.p.k = 2;
  const Watch watch(index_cells(few.p));
  const auto one = [](int64_t) { return std::vector<float>{5}; };
  EXPECT_THAT(judge_top_k(few.p, one, {watch, std::vector<uint32_t>{0, 1, two, three}, 7, {}}).message,
              HasSubstr("position 1, column 1 where -1 is due"));
}

TEST(JudgeTopK, RecallIsOfEveryVerdictAndOfTheWorstRow) {
  const uint32_t two = OneRow::prefill(2), three = OneRow::prefill(3);
  EXPECT_EQ(OneRow().judged({0, 3, two, three}).recall, 1);
  EXPECT_EQ(OneRow().judged({2, 1, two, three}).recall, 0.5);
  EXPECT_EQ(OneRow().judged({4, OneRow::prefill(1), two, three}).recall, 0) << "untouched";
  OneRow pair;
  pair.p.batch = 2, pair.p.context_lens = {5, 5}, pair.p.indices_stride = 2;
  EXPECT_EQ(pair.judged({0, 3, 4, 0}).recall, 0.5);
  EXPECT_EQ(pair.judged({4, 0, 0, 3}).recall, 0.5);
  const Watch watch(index_cells(pair.p));
  const auto nothing = [](int64_t) { return std::vector<float>(); };
  EXPECT_EQ(judge_top_k(pair.p, nothing, {watch, std::vector<uint32_t>(4, ~0u), 7, {}}).recall, -1);
}

// ---- end to end: the same row, as a reference with a bound of 0.5 on the fourth logit and none else ----
struct Reference : OneRow {
  std::vector<RowReference> rows{{{5, 4, 4, 3.5, 1}, {0, 0, 0, 0.5, 0}}};
  Verdict judged(std::vector<uint32_t> cells) const {
    const Watch watch(index_cells(p));
    return judge_end_to_end(p, rows, {watch, cells, 7, {}});
  }
};

TEST(JudgeEndToEnd, WhatTheBoundsLeaveOpenIsNotJudged) {
  for (const uint32_t second : {1u, 2u, 3u}) {
    const auto v = Reference().judged({0, second, OneRow::prefill(2), OneRow::prefill(3)});
    EXPECT_EQ(v.verdict, VerdictClass::ok) << v.message;
  }
  Reference open;
  open.rows[0].bound = {kAnyResult, kAnyResult, kAnyResult, kAnyResult, kAnyResult};
  EXPECT_EQ(open.judged({3, 4, 0, 0}).verdict, VerdictClass::ok);
}

TEST(JudgeEndToEnd, AColumnThatMustBeThereIsMissed) {
  const Verdict v = Reference().judged({1, 2, OneRow::prefill(2), OneRow::prefill(3)});
  EXPECT_EQ(v.verdict, VerdictClass::value);
  EXPECT_EQ(v.signature.pattern, "must be selected");
  EXPECT_EQ(v.cells_bad, 1);
  EXPECT_THAT(v.message, HasSubstr("row 0 position 0, column 0 is missing"));
}

TEST(JudgeEndToEnd, AColumnThatMayNotBeThereIsSeen) {
  const Verdict v = Reference().judged({0, 4, OneRow::prefill(2), OneRow::prefill(3)});
  EXPECT_EQ(v.verdict, VerdictClass::value);
  EXPECT_EQ(v.signature.pattern, "may not be selected");
  EXPECT_EQ(v.cells_bad, 1);
  EXPECT_THAT(v.message, HasSubstr("row 0 position 1, column 4 is selected"));
  EXPECT_THAT(Reference().judged({0, 7, 0, 0}).message, HasSubstr("column 7 is no candidate"));
  EXPECT_THAT(Reference().judged({0, 0, 0, 0}).message, HasSubstr("column 0 for the second time"));
  EXPECT_EQ(Reference().judged({0, ~0u, 0, 0}).verdict, VerdictClass::value) << "-1 where a column is due";
}

TEST(JudgeEndToEnd, NanComesLastAndFewerColumnsThanKAreAllDue) {
  Reference nan;
  nan.rows[0] = {{NAN, 1, -INFINITY, NAN}, {0, 0, 0, 0}};
  EXPECT_EQ(nan.judged({1, 2, 0, 0}).verdict, VerdictClass::ok);
  EXPECT_EQ(nan.judged({1, 3, 0, 0}).verdict, VerdictClass::value);
  nan.rows[0] = {{NAN}, {0}};
  EXPECT_EQ(nan.judged({0, ~0u, 0, 0}).verdict, VerdictClass::ok);
  EXPECT_EQ(nan.judged({~0u, ~0u, 0, 0}).verdict, VerdictClass::value);
  nan.rows[0] = {};
  EXPECT_EQ(nan.judged({~0u, ~0u, 0, 0}).verdict, VerdictClass::ok);
}

TEST(JudgeEndToEnd, TheRegionIsOfRowsAndPositions) {
  Reference two;
  two.p.batch = 2, two.p.context_lens = {5, 5}, two.p.indices_stride = 2;
  two.rows.push_back(two.rows[0]);
  const Watch watch(index_cells(two.p));
  const Verdict v = judge_end_to_end(two.p, two.rows, {watch, std::vector<uint32_t>{0, 1, 4, 3}, 7, {}});
  EXPECT_EQ(v.cells_bad, 2);
  EXPECT_EQ(v.first_bad.front().row, 1);
  EXPECT_EQ(v.signature.region, "rows from");
}

// ---- on a device ----
TEST(TrialTopK, TheProductionKernelIsRightOnOddShapes) {
  Oracle oracle;
  for (
      const char* json :
      {R"({"op": "top_k"})", R"({"op": "top_k", "batch": 0, "context_lens": []})",
       R"({"op": "top_k", "batch": 3, "next_n": 3, "context_lens": [1, 65, 200], "max_model_len": 201,
            "strides": {"logits": 211, "indices": 71}, "top_k": {"k": 64}, "data": {"lane": "special"}})",
       R"({"op": "top_k", "batch": 2, "context_lens": [1500, 1301], "max_model_len": 1501, "top_k": {"k": 700, "stable": true},
            "data": {"pattern": "one_head"}})",
       R"({"op": "top_k", "next_n": 4, "context_lens": [50, 60, 7, 90], "starts": [3, -5, 9, 89], "max_model_len": 90,
            "top_k": {"k": 8}, "data": {"lane": "numeric"}})",
       R"({"op": "top_k", "context_lens": [5000], "max_model_len": 6000, "top_k": {"k": 2048},
            "data": {"lane": "special", "pattern": "raw_bytes"}})",
       R"({"op": "top_k", "batch": 2, "context_lens": [9, 9], "max_model_len": 9, "top_k": {"k": 3},
            "strides": {"logits": 1073741824, "indices": 536870913}})"}) {
    const Case c = of(json);
    ASSERT_EQ(why_illegal(c), "") << json;
    const Verdict v = oracle.check(c);
    EXPECT_EQ(v.verdict, VerdictClass::ok) << json << "\n" << v.message;
  }
}

TEST(TrialTopK, EveryPlantedFaultIsSeenForWhatItIs) {
  Oracle oracle;
  int seen = 0;
  for (const Fault& fault : faults()) {
    if (!fault.launch.top_k) continue;
#ifndef MQALAB_SIM
    if (fault.needs_lds_checker) continue;
#endif
    const Case witness = of(fault.witness);
    ASSERT_EQ(why_illegal(witness), "") << fault.name;
    const Verdict clean = oracle.check(witness), v = oracle.check(witness, &fault);
    EXPECT_EQ(clean.verdict, VerdictClass::ok) << fault.name << ": " << clean.message;
    EXPECT_EQ(name(v.verdict), fault.sees) << fault.name << ": " << v.message;
    ++seen;
  }
  EXPECT_GE(seen, 10);
}

// What the kernel left, then a spoiled copy of it.
hipError_t launch_right(const mqa_top_k_args& a, hipStream_t s) {
  const hipError_t error = mqa::launch_top_k(a, s);
  return error == hipSuccess ? hipDeviceSynchronize() : error;
}
template <class T> T peek(const T* device) {
  T value{};
  (void)hipMemcpy(&value, device, sizeof value, hipMemcpyDeviceToHost);
  return value;
}
template <class T> void poke(const T* device, T value) {
  (void)hipMemcpy(const_cast<T*>(device), &value, sizeof value, hipMemcpyHostToDevice);
}
Fault spoiling(mqa::TopKFn launch) { return {"spoiling", "", "", FaultKind::must_kill, launch, "{}"}; }

constexpr const char* kTwoOfFive =
    R"({"op": "top_k", "context_lens": [4], "max_model_len": 5, "top_k": {"k": 2},
                                       "data": {"pattern": "address"}})";

TEST(TrialTopK, AStoreBesideTheIndicesIsSeenInTheGuards) {
  Oracle oracle;
  const Fault before = spoiling([](const mqa_top_k_args& a, hipStream_t s) {
    const hipError_t error = launch_right(a, s);
    poke(a.indices - 3, 1);
    return error;
  });
  const Verdict v = oracle.check(of(kTwoOfFive), &before);
  EXPECT_EQ(v.verdict, VerdictClass::guard);
  EXPECT_THAT(v.message, HasSubstr("12 bytes before the first row"));
  EXPECT_EQ(oracle.check(of(kTwoOfFive)).verdict, VerdictClass::ok) << "the canaries were put back";
}

TEST(TrialTopK, AWriteIntoAnInputIsTouched) {
  Oracle oracle;
  const Fault writes_logits = spoiling([](const mqa_top_k_args& a, hipStream_t s) {
    const hipError_t error = launch_right(a, s);
    poke(a.logits + 4, 1.0f); // behind the limit
    return error;
  });
  const Fault writes_lengths = spoiling([](const mqa_top_k_args& a, hipStream_t s) {
    const hipError_t error = launch_right(a, s);
    poke(a.context_lens, 77);
    return error;
  });
  EXPECT_THAT(oracle.check(of(kTwoOfFive), &writes_logits).message, HasSubstr("logits byte 18"));
  EXPECT_THAT(oracle.check(of(kTwoOfFive), &writes_lengths).message, HasSubstr("context_lens"));
}

TEST(TrialTopK, ASelectionThatDependsOnUnneededLogitsIsRead) {
  Oracle oracle;
  const Fault reads_poison = spoiling([](const mqa_top_k_args& a, hipStream_t s) {
    const hipError_t error = launch_right(a, s);
    if (peek(a.logits + 4) > 0) poke(a.indices, 0);
    return error;
  });
  for (const bool stable : {false, true}) {
    Case c = of(kTwoOfFive);
    c.selection.stable = stable;
    const Verdict v = oracle.check(c, &reads_poison);
    EXPECT_EQ(v.verdict, VerdictClass::read) << v.message;
    EXPECT_EQ(v.signature.pattern, "depends on unneeded memory");
  }
}

TEST(TrialTopK, ASelectionThatDependsOnTheOldIndicesIsRead) {
  Oracle oracle;
  static uint32_t first_prefill;
  first_prefill = 0;
  const Fault reads_output = spoiling([](const mqa_top_k_args& a, hipStream_t s) {
    const auto old = static_cast<uint32_t>(peek(a.indices));
    if (!first_prefill) first_prefill = old;
    const hipError_t error = launch_right(a, s);
    if (old != first_prefill) poke(a.indices, 0);
    return error;
  });
  const Verdict v = oracle.check(of(kTwoOfFive), &reads_output);
  EXPECT_EQ(v.verdict, VerdictClass::read);
  EXPECT_EQ(v.signature.pattern, "depends on the old output");
}

TEST(TrialTopK, AnotherResultOfAnEqualLaunchIsUnstable) {
  Oracle oracle;
  static int launches;
  launches = 0;
  const Fault moody = spoiling([](const mqa_top_k_args& a, hipStream_t s) {
    const hipError_t error = launch_right(a, s);
    if (++launches > 1) poke(a.indices, 0);
    return error;
  });
  const Verdict v = oracle.check(of(kTwoOfFive), &moody);
  EXPECT_EQ(v.verdict, VerdictClass::unstable);
  EXPECT_THAT(v.message, HasSubstr("First: row 0 position 0, "));
  EXPECT_THAT(v.message, HasSubstr(" at first, then 0"));
}

TEST(TrialTopK, WithoutOrderAnotherTieInTheSecondLaunchIsRight) {
  Oracle oracle;
  static int launches;
  launches = 0;
  const Fault other_tie = spoiling([](const mqa_top_k_args& a, hipStream_t s) {
    const hipError_t error = launch_right(a, s);
    if (++launches > 1) poke(a.indices, (peek(a.indices) + 1) % 4);
    return error;
  });
  Case c = of(R"({"op": "top_k", "context_lens": [4], "max_model_len": 4, "data": {"pattern": "one_head"}})");
  EXPECT_EQ(oracle.check(c, &other_tie).verdict, VerdictClass::ok);
  launches = 0, c.selection.stable = true;
  EXPECT_EQ(oracle.check(c, &other_tie).verdict, VerdictClass::unstable);
}

TEST(TrialTopK, AFaultOfAnotherOperationIsRejected) {
  Oracle oracle;
  EXPECT_EQ(oracle.check(of(kTwoOfFive), find_fault("mask_le")).verdict, VerdictClass::rejected);
}

} // namespace
} // namespace mqalab
