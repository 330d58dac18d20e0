// The gate: a configuration is timed, stored and served only after the oracle has passed it at the edge
// shapes of the problem's bucket.
#pragma once
#include "fuzz/oracle.hpp"
#include "tune/space.hpp"

#include <string>
#include <vector>

namespace mqalab {

inline constexpr int kOracleVersion = 1;

struct Certification {
  std::string status;      // "ok" or the trial status of a failure
  std::string evidence;    // what the oracle said
  std::string replay;      // the case that failed, as JSON on one line
  std::string edge_shapes; // what was tried
  int64_t cases = 0;
  bool passed() const { return status == "ok"; }
};

// The cases: the problem's shape with a few sequences whose lengths are 0, 1, and one either side of a chunk,
// a block, a split's share and the end; in the exact and the numeric lane.  Bounded in size, so that the
// simulator is done soon.
std::vector<Case> edge_cases(const Case& problem, const mqa_config&);

Certification certify(Oracle&, const Case& problem, const Candidate&);

} // namespace mqalab
