// Our oracle and the metrics of common practice, side by side on the same launches: what each lets through of
// the planted faults, and how often each accuses a correct kernel.  docs/practice.md is its result.
#pragma once
#include "fuzz/case.hpp"
#include "fuzz/fault.hpp"
#include "fuzz/verdict.hpp"

#include <array>
#include <functional>
#include <string>
#include <vector>

namespace mqalab {

// silent: the judge does not apply to this run, and lets everything through.
enum class Says : uint8_t { passes, fails, silent };
// Where a run's case is from.
enum class RunOf : uint8_t { witness, generated, typical, correct };
std::string_view name(RunOf);

// What the comparison needs of a device; a test has another.
struct PracticeBench {
  std::function<Verdict(const Case&, const Fault*)> check;
  // One word a metric of practice_metrics(); empty: the output is too large to be measured.
  std::function<std::vector<Says>(const Case&, const Fault*)> measure;
};

struct PracticeRun {
  const Fault* fault = nullptr; // nullptr: the production kernel
  RunOf of = RunOf::witness;
  // Does the launch show the fault?  Our oracle finds something, or a metric fails that the production kernel
  // passes on the same case.  Only such runs count as missed.
  bool visible = false;
  std::vector<Says> says; // our oracle's first, then one a metric; of our oracle alone: not measured
  bool measured() const { return says.size() > 1; }
};

struct PracticeOptions {
  int64_t cases = 300;           // generated, on the production kernel
  int64_t most_generated = 2000; // until our oracle kills a fault
  size_t faults = 0;             // only the first ones; 0: all
  uint64_t seed = 1;
  std::function<void(const std::string&, size_t done, size_t all)> progress = {};
  std::function<bool()> stop = {};
};
// A fault of an operation that makes no logits: no metric here is for it.
struct PracticeOther {
  const Fault* fault;
  bool found; // by our oracle, on its witness
};
struct Practice {
  std::vector<PracticeRun> runs;
  std::vector<PracticeOther> others;
  bool stopped = false;
};
Practice run_practice(const PracticeBench&, const PracticeOptions&);
// Our oracle and this simulator or device.
PracticeBench device_bench();
// Test shapes as suites have them: batch 4, ordinary numbers, unequal contexts of thousands of tokens.
std::array<Case, 2> typical_cases();

struct Share {
  int64_t count = 0, of = 0;
};
struct PracticeScore {
  std::string judge, source;
  Share missed;                          // visible runs let through
  std::array<Share, 3> missed_by_origin; // of witnesses, generated cases, typical shapes
  Share faults_missed;                   // let through on every visible run
  Share accused;                         // correct runs failed
};
// Our oracle first.
std::vector<PracticeScore> scores(const Practice&);
// Visible runs of the fault that the judge failed.
Share seen(const Practice&, const Fault&, size_t judge);

std::string practice_page(const Practice&, const PracticeOptions&, std::string_view device_key);
std::string to_json(const Practice&, const PracticeOptions&, std::string_view device_key);

} // namespace mqalab
