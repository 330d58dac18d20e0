// Which configuration wins, from raw samples: a pure function of a set of trials, so every host and every
// order of merging gets the same winner.
#pragma once
#include "db/content.hpp"

#include <string>
#include <vector>

namespace mqalab {

struct Series {
  const Trial* trial;
  std::string uuid;
};

// The margin by which the default must be beaten, and the width of a tie (reference: the winner's identity is
// noise).
inline constexpr double kMargin = 0.02, kTie = 0.01;

// Times are compared as ratios to the default's time in the same round of the same session; only
// configurations that took part in the most rounds of a session (its finalists) count.  Within the noise of
// the fastest the canonical order decides: default, smallest split_kv, chunk_k, wave_per_eu, then text.
// Precondition: series is not empty.
Best decide(const std::vector<Series>& series);

// Sorts before: smaller split_kv, then chunk_k, wave_per_eu, text.
bool canonically_before(const std::string& config, const std::string& other);

// The number after `name=` in a configuration's text, or 0.
int64_t config_field(const std::string& config, const std::string& name);

double median(std::vector<double> values); // precondition: not empty

} // namespace mqalab
