// The gate's rules and counts, with checkers that need no device.
#include "fuzz/fault.hpp"
#include "fuzz/gate.hpp"

#include <gtest/gtest.h>

#include <mutex>
#include <set>

namespace mqalab {
namespace {

Verdict says(VerdictClass verdict, std::string message = "") {
  Verdict v;
  v.verdict = verdict, v.message = std::move(message);
  return v;
}

std::string_view first_must_kill() {
  for (const Fault& fault : faults())
    if (fault.kind == FaultKind::must_kill && !fault.needs_lds_checker) return fault.name;
  return {};
}

FalsePositives count(FalsePositiveOptions options, std::set<std::string>* seen = nullptr) {
  std::mutex mutex;
  return count_false_positives(
      [&] {
        return [&](const Case& c, const Fault*) {
          const std::scoped_lock lock(mutex);
          if (seen) seen->insert(to_json(c, -1));
          return says(VerdictClass::ok);
        };
      },
      options);
}

TEST(FalsePositives, ShardsAndJobsShareOneListOfCases) {
  std::set<std::string> whole, parts, jobs;
  EXPECT_EQ(count({.cases = 41, .seed = 3}, &whole).cases, 41);
  int64_t cases = 0;
  for (int64_t shard = 0; shard < 4; ++shard)
    cases += count({.cases = 41, .seed = 3, .shard = shard, .shards = 4}, &parts).cases;
  EXPECT_EQ(cases, 41);
  count({.cases = 41, .seed = 3, .jobs = 3}, &jobs);
  EXPECT_EQ(whole, parts);
  EXPECT_EQ(whole, jobs);
  EXPECT_GT(whole.size(), 35U);
  std::set<std::string> other;
  count({.cases = 41, .seed = 4}, &other);
  EXPECT_NE(whole, other);
}

TEST(FalsePositives, EveryOutcomeIsCountedApart) {
  int64_t turn = 0;
  const FalsePositives f = count_false_positives(
      [&] {
        return [&](const Case&, const Fault*) -> Verdict {
          switch (turn++ % 4) {
          case 0: return says(VerdictClass::ok);
          case 1: return says(VerdictClass::rejected);
          case 2: return says(VerdictClass::value, "wrong");
          default: throw std::runtime_error("the child is gone");
          }
        };
      },
      {.cases = 10});
  EXPECT_EQ(f.cases, 10);
  EXPECT_EQ(f.findings, 2);
  EXPECT_EQ(f.refused, 3);
  EXPECT_EQ(f.without_verdict, 2);
  ASSERT_EQ(f.accused.size(), 2U);
  EXPECT_EQ(f.accused[0].index, 2);
  ASSERT_EQ(f.lost.size(), 2U);
  EXPECT_EQ(f.lost[0].message, "none: the child is gone");
  EXPECT_TRUE(too_many_lost(f));
  EXPECT_EQ(text(f), "2 false positives in 10 cases (3 refused, 2 without a verdict)");
}

// Every case is accused and the lists are full: jobs that run ahead must not keep their higher indices.
TEST(FalsePositives, TheLowestAreKeptWithAnyNumberOfJobs) {
  const FalsePositives f = count_false_positives(
      [] { return [](const Case&, const Fault*) { return says(VerdictClass::value); }; },
      {.cases = 3 * static_cast<int64_t>(kMostKept), .jobs = 4});
  ASSERT_EQ(f.accused.size(), kMostKept);
  for (size_t i = 0; i < kMostKept; ++i) EXPECT_EQ(f.accused[i].index, static_cast<int64_t>(i));
}

Verdict right_by(double share_of_bound) {
  Verdict v;
  v.accumulation = "cdna3_fp8", v.worst_error_ratio = share_of_bound;
  v.launched.config.variant = MQA_VARIANT_STAGED;
  return v;
}

TEST(ErrorRatios, AreCountedByPowersOfTwoAndKernel) {
  const auto count_with = [](int jobs) {
    return count_false_positives(
        [] {
          return
              [](const Case& c, const Fault*) { return right_by(c.data.lane == Lane::numeric ? 0.26 : 0.0); };
        },
        {.cases = 200, .jobs = jobs});
  };
  const FalsePositives f = count_with(1);
  const ErrorRatios& numeric = f.error_ratios.at("staged, numeric, cdna3_fp8");
  EXPECT_GT(numeric.cases, 20);
  EXPECT_EQ(numeric.power[1], numeric.cases); // above 1/4, up to 1/2
  EXPECT_EQ(numeric.worst, 0.26);
  const ErrorRatios& special = f.error_ratios.at("staged, special, cdna3_fp8");
  EXPECT_EQ(special.exact, special.cases);
  EXPECT_EQ(special.worst_index, -1);
  EXPECT_TRUE(drifts(f.error_ratios).empty());
  const FalsePositives by_jobs = count_with(3);
  EXPECT_EQ(by_jobs.error_ratios.at("staged, numeric, cdna3_fp8").worst_index, numeric.worst_index);
}

TEST(ErrorRatios, ACreepTowardsTheBoundIsSaidAndIsNoFinding) {
  int64_t turn = 0;
  Gate gate;
  gate.false_positives = count_false_positives(
      [&] { return [&](const Case&, const Fault*) { return right_by(turn++ == 7 ? 0.8 : 0.01); }; },
      {.cases = 10});
  const FalsePositives& f = *gate.false_positives;
  EXPECT_EQ(f.findings, 0);
  ASSERT_EQ(drifts(f.error_ratios).size(), 1U);
  EXPECT_NE(gate_table(gate).find("an error of 0.8 of its bound in case 7 of "), std::string::npos);
}

TEST(ErrorRatios, OnlyRightCasesWithABoundHaveOne) {
  Verdict v = right_by(0.2);
  EXPECT_EQ(ratio_key(v, Lane::numeric), "staged, numeric, cdna3_fp8");
  v.accumulation.clear();
  EXPECT_EQ(ratio_key(v, Lane::numeric), "");
  v = right_by(1.2), v.verdict = VerdictClass::value;
  EXPECT_EQ(ratio_key(v, Lane::numeric), "");
}

TEST(FalsePositives, OneCaseInTwentyMayBeLost) {
  FalsePositives f;
  f.cases = 100, f.without_verdict = 5;
  EXPECT_FALSE(too_many_lost(f));
  f.without_verdict = 6;
  EXPECT_TRUE(too_many_lost(f));
}

TEST(FalsePositives, TheFirstFindingEndsTheCountWhenAsked) {
  int64_t asked = 0;
  const FalsePositives f = count_false_positives(
      [&] {
        return [&](const Case&, const Fault*) {
          return says(++asked == 3 ? VerdictClass::value : VerdictClass::ok);
        };
      },
      {.cases = 10, .until_first = true});
  EXPECT_EQ(f.cases, 3);
  EXPECT_EQ(f.findings, 1);
  EXPECT_FALSE(f.stopped);
}

// The witness dies, no generated case does: a full gate is closed, a quick one asks the witness only.
TEST(Gate, AFaultKilledByItsWitnessOnlyFailsTheFullGate) {
  for (const bool quick : {true, false}) {
    int64_t with_fault = 0;
    const Checker check = [&](const Case&, const Fault* fault) {
      if (!fault || with_fault++ > 0) return says(VerdictClass::ok);
      for (size_t i = 0; i < kVerdictClasses; ++i)
        if (fault->sees == name(static_cast<VerdictClass>(i))) return says(static_cast<VerdictClass>(i));
      return says(VerdictClass::none);
    };
    GateOptions options;
    options.quick = quick, options.most_generated = 5, options.only = {std::string(first_must_kill())};
    const Gate gate = run_gate(check, options);
    ASSERT_EQ(gate.rows.size(), 1U);
    EXPECT_TRUE(gate.rows[0].witness_killed);
    EXPECT_EQ(gate.passed(), quick) << gate.rows[0].message;
  }
}

TEST(Gate, CountsCasesToKillByGroup) {
  Gate gate;
  for (const int64_t cases : {7, 0, 1, 3}) {
    GateRow row;
    row.kind = GateKind::must_kill, row.generated_asked = true, row.generated_to_kill = cases;
    row.expected = "value", row.generated_lane = cases == 7 ? "numeric" : "exact";
    gate.rows.push_back(row);
  }
  const std::vector<CasesToKill> groups = cases_to_kill(gate);
  ASSERT_EQ(groups.size(), 4U);
  EXPECT_EQ(groups[0].group, "all");
  EXPECT_EQ(groups[0].killed, 3);
  EXPECT_EQ(groups[0].survived, 1);
  EXPECT_EQ(groups[0].median, 3);
  EXPECT_EQ(groups[0].worst, 7);
  EXPECT_EQ(groups[2].group, "lane numeric");
  EXPECT_EQ(groups[2].worst, 7);
}

TEST(Gate, NamesWhatItDoesNotKnow) {
  EXPECT_TRUE(unknown_rows({"must-kill", "false-positives", std::string(first_must_kill())}).empty());
  EXPECT_EQ(unknown_rows({"must-kil"}), std::vector<std::string>{"must-kil"});
}

} // namespace
} // namespace mqalab
