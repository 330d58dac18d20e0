// Who let through what, and who accuses whom.
#include "fuzz/practice.hpp"
#include "fuzz/practice_run.hpp"

#include <set>

namespace mqalab {

Share seen(const Practice& practice, const Fault& fault, size_t judge) {
  Share share;
  for (const PracticeRun& run : practice.runs)
    if (run.fault == &fault && run.visible && run.measured())
      share.count += run.says[judge] == Says::fails, ++share.of;
  return share;
}

namespace {

PracticeScore score_of(const Practice& practice, size_t judge) {
  PracticeScore score;
  std::set<const Fault*> shown;
  for (const PracticeRun& run : practice.runs) {
    if (!run.measured()) continue;
    const bool fails = run.says[judge] == Says::fails;
    if (run.of == RunOf::correct) {
      score.accused.count += fails, ++score.accused.of;
    } else if (run.visible) {
      score.missed.count += !fails, ++score.missed.of;
      Share& origin = score.missed_by_origin[static_cast<size_t>(run.of)];
      origin.count += !fails, ++origin.of;
      shown.insert(run.fault);
    }
  }
  for (const Fault* fault : shown)
    score.faults_missed.count += seen(practice, *fault, judge).count == 0, ++score.faults_missed.of;
  return score;
}

} // namespace

std::vector<PracticeScore> scores(const Practice& practice) {
  std::vector<PracticeScore> all{score_of(practice, 0)};
  all[0].judge = "our oracle", all[0].source = "docs/oracle.md";
  for (const PracticeMetric& m : practice_metrics()) {
    all.push_back(score_of(practice, all.size()));
    all.back().judge = m.name, all.back().source = m.source;
  }
  return all;
}

} // namespace mqalab
