// The tuning run: for each problem, each configuration is gated, then its cost taken, and each outcome is
// committed at once.  Running the same command again continues where it stopped.
#pragma once
#include "db/store.hpp"
#include "fuzz/oracle.hpp"
#include "tune/cost.hpp"
#include "tune/problems.hpp"

#include <functional>
#include <string>
#include <vector>

namespace mqalab {

struct Shard {
  int index = 1, count = 1; // the index-th of count
  bool owns(const std::string& problem_key) const;
  std::string text() const;
};

struct TuneOptions {
  double budget_seconds = 0; // 0: none
  uint64_t seed = 1;
  Shard shard;
  std::function<bool()> stop = [] { return false; };
  std::function<void(const std::string& line)> progress = [](const std::string&) {};
  std::function<std::vector<Candidate>(const Case&)> space; // empty: the library's
};

struct ProblemOutcome {
  std::string key;
  size_t candidates = 0, resumed = 0, passed = 0, failed = 0;
  Best best; // config "" while nothing is certified
};

struct TuneOutcome {
  std::vector<ProblemOutcome> problems;
  size_t left = 0; // problems not begun or not finished
  bool stopped = false;
  size_t failed() const;
};

TuneOutcome tune(Store&, Oracle&, const std::vector<TuneProblem>&, const TuneOptions&);

// The candidates of a problem on the current device.
std::vector<Candidate> device_space(const Case& problem);

} // namespace mqalab
