// Shape-domain minimisation (fuzzing.md, section 9): greedy to a fixed point, big wins first, under a
// predicate that says "the same bug", not "still fails".  Works on any predicate of a case; knows nothing of
// kernels or devices.
#pragma once
#include "fuzz/case.hpp"

#include <array>
#include <functional>
#include <string>

namespace mqalab {

// Compared lexicographically: bytes touched, fields that are not at their default, sum of log2 of the sizes.
struct CaseCost {
  int64_t bytes_touched = 0, non_default = 0;
  double log_sizes = 0;
  auto operator<=>(const CaseCost&) const = default;
};
CaseCost cost(const Case&);

using SameBug = std::function<bool(const Case&)>;

struct MinimizeOptions {
  int64_t most_checks = 4000;
  std::function<bool()> stop; // asked before each check; true: best so far
  std::function<void(const Case& best, int64_t checks)> progress; // after every improvement
};
struct Minimized {
  Case smallest;
  int64_t checks = 0, accepted = 0;
  bool finished = true; // false: stopped or out of checks
};
// Precondition: same_bug(start).  Every case that same_bug sees is legal, and none is seen twice.
Minimized minimize(const Case& start, const SameBug& same_bug, const MinimizeOptions& = {});

} // namespace mqalab
