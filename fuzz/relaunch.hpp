// A second launch of the same case must give the same result.  How launches differ, and, when their results
// do, which of the differences is to blame: for every trial (trials.hpp).
#pragma once
#include "fuzz/judge.hpp"
#include "fuzz/oracle.hpp"

#include <array>
#include <optional>
#include <vector>

namespace mqalab {

struct Setup {
  uint64_t salt = 0; // of the prefill
  bool other_poison = false;
  uint64_t schedule = 0;
};

// Setups of the launches after the first: each shakes everything that must not matter.
inline Setup shaken(const OracleOptions& o, const Setup& first, uint64_t salt, uint64_t index) {
  return {o.second_sentinel ? salt : first.salt, o.read_set && index % 2 == 1, index};
}
inline int launches_after_first(const OracleOptions& o) {
  return std::max(o.repeats - 1, o.second_sentinel || o.read_set ? 1 : 0);
}

// Launches that differ from the first in one thing each, and what to say when such a one differs in its
// result.
struct Attempt {
  Setup setup;
  VerdictClass verdict;
  const char* pattern;
};
inline std::array<Attempt, 3> attempts(const Setup& first, const Setup& second) {
  return {
      {{first, VerdictClass::unstable, "differs between equal launches"},
       {{first.salt, second.other_poison, first.schedule}, VerdictClass::read, "depends on unneeded memory"},
       {{second.salt, first.other_poison, first.schedule}, VerdictClass::read, "depends on the old output"}}};
}
// When none of them does.
inline constexpr const char* kOrderOfWaves = "depends on the order of waves";

struct Cause {
  VerdictClass verdict;
  const char* pattern;
  std::vector<Deviation> cells;
};
// `differs`: deviations of a launch with this setup from the first one's result; nothing when it did not run.
template <class Differs>
Cause cause_of(const Setup& first, const Setup& second, std::vector<Deviation> seen, Differs differs) {
  for (const Attempt& a : attempts(first, second))
    if (std::optional<std::vector<Deviation>> found = differs(a.setup); found && !found->empty())
      return {a.verdict, a.pattern, std::move(*found)};
  return {VerdictClass::unstable, kOrderOfWaves, std::move(seen)};
}

} // namespace mqalab
