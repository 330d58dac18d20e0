// The output of a problem that makes logits, on the device: how it is prefilled, and the launch that fills
// it.
#pragma once
#include "fuzz/guards.hpp"
#include "fuzz/trials.hpp"
#include "fuzz/watch.hpp"

#include <optional>
#include <vector>

namespace mqalab {

// The problem must outlive it.
class LogitsOutput {
public:
  LogitsOutput(TrialMemory&, const Problem&);
  // The logits start `base_shift` elements into the buffer.
  LogitsOutput(DeviceInputs&, std::array<GuardedWords, 2>& outputs, const Problem&, int64_t base_shift = 0);

  const Watch& watch() const { return watch_; }
  GuardedWords& logits() { return outputs_[0]; }
  // A head sum has two steps: planes by mqa_per_head_logits, then mqa_head_sum over them.
  bool has_planes() const { return planes_problem_.has_value(); }
  GuardedWords& planes() { return outputs_[1]; }
  // For look_at_guards().
  std::vector<GuardedOutput> guarded() const;

  // Watched cells hold sentinels.
  void prefill(uint64_t salt);
  // All cells do, and nothing but their number crosses the bus.
  void prefill_on_the_device(uint64_t salt);
  // All cells hold `word`.
  void prefill_all(uint32_t word);
  // The watched cells; and what a cell that was not written holds.
  void read(std::vector<uint32_t>& cells) const;
  uint32_t prefilled(uint64_t salt, int64_t element) const;
  // Over the inputs in memory, waited for.  A fault stands in for the step that it is planted in.
  LaunchResult launch(const mqa_config&, const Fault*);
  // The same on a stream and not waited for: finished() does that.
  LaunchResult start(const mqa_config&, const Fault*, hipStream_t);

private:
  float* first_logit() { return logits().floats() + base_shift_; }
  void prefill_planes(uint64_t salt);
  LaunchResult start_head_sum(const mqa_config&, const Fault*, hipStream_t);
  mqa_head_sum_args sum_args();

  DeviceInputs& inputs_;
  std::array<GuardedWords, 2>& outputs_;
  const Problem& problem_;
  int64_t base_shift_;
  Watch watch_;
  std::vector<Window> windows_; // watch_, in words of the buffer
  std::optional<Problem> planes_problem_;
  std::optional<Watch> planes_watch_;
};

} // namespace mqalab
