// The bookkeeping of the comparison, with a bench that needs no device.
#include "fuzz/practice.hpp"
#include "fuzz/practice_run.hpp"

#include <gtest/gtest.h>

namespace mqalab {
namespace {

PracticeRun run(const Fault* fault, RunOf of, bool visible, Says ours, Says metric) {
  PracticeRun r{fault, of, visible, {ours}};
  r.says.resize(practice_metrics().size() + 1, metric);
  return r;
}

TEST(PracticeRun, CountsMissesByOriginAndFaultsMissedEverywhere) {
  using enum Says;
  const Fault *a = &faults()[0], *b = &faults()[1];
  Practice p;
  p.runs = {
      run(a, RunOf::witness, true, fails, passes),        run(a, RunOf::typical, true, fails, silent),
      run(a, RunOf::typical, false, passes, passes),      run(b, RunOf::witness, true, passes, fails),
      run(b, RunOf::generated, true, fails, passes),      run(nullptr, RunOf::correct, false, passes, fails),
      run(nullptr, RunOf::correct, false, passes, silent)};
  p.runs.push_back({a, RunOf::witness, true, {fails}}); // too large: counts for nobody
  const std::vector<PracticeScore> all = scores(p);
  ASSERT_EQ(all.size(), practice_metrics().size() + 1);
  EXPECT_EQ(all[0].missed.count, 1);
  EXPECT_EQ(all[1].missed.count, 3);
  EXPECT_EQ(all[1].missed.of, 4);
  EXPECT_EQ(all[1].missed_by_origin[0].count, 1);
  EXPECT_EQ(all[1].missed_by_origin[0].of, 2);
  EXPECT_EQ(all[0].faults_missed.count, 0);
  EXPECT_EQ(all[1].faults_missed.count, 1);
  EXPECT_EQ(all[1].faults_missed.of, 2);
  EXPECT_EQ(all[0].accused.count, 0);
  EXPECT_EQ(all[1].accused.count, 1);
  EXPECT_EQ(all[1].accused.of, 2);
}

// A metric that fails the production kernel on the same case, too, shows no fault; one that does not, does.
TEST(PracticeRun, AMetricThatAccusesTheProductionKernelShowsNoFault) {
  for (const bool accuses : {true, false}) {
    const PracticeBench bench{[](const Case&, const Fault*) { return Verdict{}; },
                              [&](const Case&, const Fault* fault) {
                                return std::vector<Says>(practice_metrics().size(),
                                                         fault || accuses ? Says::fails : Says::passes);
                              }};
    PracticeOptions options;
    options.cases = 3, options.most_generated = 2, options.faults = 5;
    const Practice p = run_practice(bench, options);
    const PracticeScore ours = scores(p)[0];
    EXPECT_GT(p.runs.size(), 10U);
    EXPECT_EQ(ours.missed.count > 0, !accuses);
    EXPECT_EQ(ours.missed.count, ours.missed.of);
  }
}

} // namespace
} // namespace mqalab
