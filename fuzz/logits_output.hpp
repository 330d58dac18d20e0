// The output of a problem that makes logits, on the device: how it is prefilled, and the launch that fills
// it.
#pragma once
#include "fuzz/trials.hpp"
#include "fuzz/watch.hpp"

#include <optional>

namespace mqalab {

// The problem must outlive it.
class LogitsOutput {
public:
  LogitsOutput(TrialMemory&, const Problem&);

  const Watch& watch() const { return watch_; }
  GuardedWords& logits() { return memory_.outputs[0]; }
  // A head sum has two steps: planes by mqa_per_head_logits, then mqa_head_sum over them.
  bool has_planes() const { return planes_problem_.has_value(); }
  GuardedWords& planes() { return memory_.outputs[1]; }

  // Watched cells hold sentinels.
  void prefill(uint64_t salt);
  // All cells hold `word`.
  void prefill_all(uint32_t word);
  // Over the inputs in memory.  A fault stands in for the step that it is planted in.
  LaunchResult launch(const mqa_config&, const Fault*);

private:
  void prefill_planes(uint64_t salt);
  LaunchResult launch_head_sum(const mqa_config&, const Fault*);
  mqa_head_sum_args sum_args();

  TrialMemory& memory_;
  const Problem& problem_;
  Watch watch_;
  std::optional<Problem> planes_problem_;
  std::optional<Watch> planes_watch_;
};

} // namespace mqalab
