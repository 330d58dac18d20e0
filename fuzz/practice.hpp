// What the common practice of the field would have said of a launch: the metrics that test suites of these
// kernels use (oracle.md, section 10), each with its usual threshold.  Nothing here judges; it is what the
// oracle is compared with (docs/practice.md).
#pragma once
#include "refimpl/problem.hpp"
#include "refimpl/reference.hpp"

#include <functional>
#include <span>
#include <string_view>
#include <vector>

namespace mqalab {

// What such a suite has in hand: the logits of one launch, whole rows, and the reference's.
struct PracticeInput {
  const Problem& problem;
  std::span<const float>
      logits; // output rows * row stride, as the launch left them over the suite's own prefill
  std::span<const RowReference> rows;
  std::span<const float> again; // of a second launch; empty: none was made
};

struct PracticeMetric {
  std::string_view name;                   // "calc_diff < 1e-3"
  std::string_view source;                 // who uses it
  double (*measure)(const PracticeInput&); // NaN: does not apply
  bool (*passes)(double);
};
std::span<const PracticeMetric> practice_metrics();

} // namespace mqalab
