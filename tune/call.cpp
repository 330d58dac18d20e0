#include "tune/call.hpp"

#include "kernels/choose.hpp"

#include <cstdio>

namespace mqalab {
namespace {

// Says that keys are ragged; a shape's prefixes are never read.
constexpr int32_t kSomePrefix = 0;

// The steps that mqa_choose() takes for the other struct.
mqa_status choose_prefill(const mqa_prefill_logits_args& args, mqa_choice* choice) {
  std::string why;
  const mqa::DeviceFacts* device = mqa::device_facts(&why);
  if (!device) return MQA_DEVICE_ERROR;
  mqa::load_from_environment_once();
  *choice = mqa::choose(mqa::problem_key(args), *device);
  mqa::LaunchConfig config{};
  const mqa_status status = mqa::resolve_config(args, choice->config, *device, &config, &why);
  if (status == MQA_OK)
    choice->config = {config.variant, config.chunk_k, config.split_kv, config.wave_per_eu};
  return status;
}

} // namespace

LogitsCall device_call(const DeviceInputs& inputs, const Problem& p, float* logits) {
  if (p.op == Operation::prefill_logits) return inputs.prefill_args(p, logits);
  return inputs.args(p, logits);
}

LogitsCall shape_call(const Problem& p) {
  LogitsCall call = device_call(DeviceInputs(), p, nullptr);
  if (is_ragged(p.op)) std::get<mqa_paged_logits_args>(call).slot_prefix = &kSomePrefix;
  return call;
}

mqa::ProblemKey problem_key(const LogitsCall& call) {
  return std::visit([](const auto& args) { return mqa::problem_key(args); }, call);
}
mqa_status resolve_config(const LogitsCall& call, const mqa_config& wanted, const mqa::DeviceFacts& device,
                          mqa::LaunchConfig* config, std::string* why) {
  return std::visit([&](const auto& args) { return mqa::resolve_config(args, wanted, device, config, why); },
                    call);
}
mqa::PagedArgs prepare(const LogitsCall& call, const mqa::LaunchConfig& config,
                       const mqa::DeviceFacts& device) {
  return std::visit([&](const auto& args) { return mqa::prepare(args, config, device); }, call);
}
mqa_status choose(const LogitsCall& call, mqa_choice* choice) {
  if (const auto* paged = std::get_if<mqa_paged_logits_args>(&call)) return mqa_choose(paged, choice);
  return choose_prefill(std::get<mqa_prefill_logits_args>(call), choice);
}

} // namespace mqalab
