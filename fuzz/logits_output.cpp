#include "fuzz/logits_output.hpp"

#include "fuzz/device_scan.hpp"
#include "fuzz/sentinel.hpp"

#include <algorithm>

namespace mqalab {

// A plane's prefill that comes through the sum must not pass for a prefill of the output.
constexpr uint64_t kPlanesSalt = 0x706c616e;

LogitsOutput::LogitsOutput(TrialMemory& memory, const Problem& p)
    : LogitsOutput(memory.inputs, memory.outputs, p) {}

LogitsOutput::LogitsOutput(DeviceInputs& inputs, std::array<GuardedWords, 2>& outputs, const Problem& p,
                           int64_t base_shift)
    : inputs_(inputs), outputs_(outputs), problem_(p), base_shift_(base_shift), watch_(p),
      windows_(watch_.windows) {
  for (Window& w : windows_) w.begin += base_shift, w.end += base_shift;
  if (p.op != Operation::head_sum) return;
  planes_problem_ = p, planes_problem_->op = Operation::per_head_logits;
  planes_watch_.emplace(*planes_problem_);
}

std::vector<GuardedOutput> LogitsOutput::guarded() const {
  std::vector<GuardedOutput> all{{"logits", outputs_[0], problem_.output_rows()}};
  if (has_planes()) all.push_back({"planes", outputs_[1], planes_problem_->output_rows()});
  return all;
}

void LogitsOutput::prefill(uint64_t salt) {
  logits().resize(base_shift_ + logits_bytes(problem_) / 4, base_shift_);
  logits().prefill(windows_, salt);
  prefill_planes(salt);
}

void LogitsOutput::prefill_on_the_device(uint64_t salt) {
  const auto fill = [](GuardedWords& words, int64_t count, int64_t lead, uint64_t with) {
    words.resize(count, lead);
    prefill_on_device(reinterpret_cast<uint32_t*>(words.data()), count, with, 0);
    words.write_guards(with);
  };
  fill(logits(), base_shift_ + logits_bytes(problem_) / 4, base_shift_, salt);
  if (has_planes()) fill(planes(), logits_bytes(*planes_problem_) / 4, 0, salt ^ kPlanesSalt);
}

void LogitsOutput::prefill_all(uint32_t word) {
  logits().resize(base_shift_ + logits_bytes(problem_) / 4, base_shift_);
  logits().prefill_all(word);
  prefill_planes(0);
}

void LogitsOutput::prefill_planes(uint64_t salt) {
  if (!has_planes()) return;
  planes().resize(logits_bytes(*planes_problem_) / 4);
  planes().prefill(planes_watch_->windows, salt ^ kPlanesSalt);
}

void LogitsOutput::read(std::vector<uint32_t>& cells) const { outputs_[0].read(windows_, cells); }
uint32_t LogitsOutput::prefilled(uint64_t salt, int64_t element) const {
  return sentinel(salt, element + base_shift_);
}

LaunchResult LogitsOutput::launch(const mqa_config& config, const Fault* fault) {
  return finished(start(config, fault, nullptr));
}

LaunchResult LogitsOutput::start(const mqa_config& config, const Fault* fault, hipStream_t stream) {
  const DeviceInputs& in = inputs_;
  if (problem_.op == Operation::prefill_logits)
    return mqalab::launch(in.prefill_args(problem_, first_logit()), config, fault, stream);
  if (has_planes()) return start_head_sum(config, fault, stream);
  return mqalab::launch(problem_.op, in.args(problem_, first_logit()), config, fault, stream);
}

LaunchResult LogitsOutput::start_head_sum(const mqa_config& config, const Fault* fault, hipStream_t stream) {
  const bool in_first_step = fault && fault->launch.logits;
  const mqa_paged_logits_args args = inputs_.args(*planes_problem_, planes().floats());
  const LaunchResult made =
      mqalab::launch(Operation::per_head_logits, args, config, in_first_step ? fault : nullptr, stream);
  if (made.status != VerdictClass::ok) return made;
  LaunchResult added = mqalab::launch(sum_args(), in_first_step ? nullptr : fault, stream);
  added.choice = made.choice;
  return added;
}

mqa_head_sum_args LogitsOutput::sum_args() {
  mqa_head_sum_args a{};
  a.struct_size = sizeof a;
  a.rows = problem_.rows(), a.heads = problem_.heads, a.columns = problem_.max_model_len;
  a.per_head = planes().floats();
  a.stride_head = std::max<int64_t>(1, planes_problem_->logits_stride_head),
  a.stride_row = planes_problem_->logits_stride;
  a.sums = first_logit(), a.sums_stride = problem_.logits_stride;
  return a;
}

} // namespace mqalab
