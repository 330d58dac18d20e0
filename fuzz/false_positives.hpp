// How often the oracle accuses the production kernel: generated cases, each of its own seed, so that shards
// and jobs share one list of cases and their counts add up.
#pragma once
#include "fuzz/error_ratios.hpp"
#include "fuzz/isolated.hpp"

#include <functional>
#include <string>
#include <vector>

namespace mqalab {

// Case `index` of `seed`, wherever and in whatever order it is made.
Case false_positive_case(uint64_t seed, int64_t index);

struct FalsePositiveOptions {
  int64_t cases = 300; // of all shards together
  uint64_t seed = 1;
  int64_t shard = 0, shards = 1; // this run checks the cases i with i % shards == shard
  int jobs = 1;                  // threads, each with a checker of its own
  bool until_first = false;      // a finding ends the count
  std::function<void(int64_t done, int64_t all)> progress = {}; // one thread at a time
  std::function<bool()> stop = {};
};

// A finding on the production kernel, or a case without a verdict.
struct Accusation {
  int64_t index = 0;
  VerdictClass verdict = VerdictClass::ok;
  std::string message, signature;
};

struct FalsePositives {
  int64_t cases = 0, findings = 0, refused = 0, without_verdict = 0;
  // Of each sort those of the lowest indices, ascending, at most kMostKept: the same with every number of
  // jobs.
  std::vector<Accusation> accused, lost; // findings; cases without a verdict
  ErrorRatioTable error_ratios;          // of the right cases whose numbers were judged by a bound
  double seconds = 0;
  bool stopped = false;
};
inline constexpr size_t kMostKept = 100;

// new_checker is called once in every job, from the job's own thread.  A checker that throws leaves its case
// without a verdict; the others go on.
FalsePositives count_false_positives(const std::function<Checker()>& new_checker,
                                     const FalsePositiveOptions&);
// So many cases without a verdict that "no finding" says little: more than 5 percent.
bool too_many_lost(const FalsePositives&);
// "0 false positives in 300 cases (2 refused, 0 without a verdict)"
std::string text(const FalsePositives&);

} // namespace mqalab
