#include "fuzz/device.hpp"

#include "fuzz/case_names.hpp"
#include "fuzz/dirty.hpp"
#include "fuzz/fault_fit.hpp"
#include "fuzz/production.hpp"

#include <fmt/format.h>

#include <cstdlib>

#ifdef MQALAB_SIM
#include <amdsim/control.h>
#endif

namespace mqalab {

namespace {
// A NaN, or a number that no sum hides.
uint32_t poison_word(const Stress& s) { return s.schedule % 2 ? 0x7149f2ca : 0x7fc0dead; }
} // namespace

#ifdef MQALAB_SIM
namespace {

constexpr const char* kHangSeconds = "60";

void set(const char* name, const std::string& value) {
  if (amdsim_set(name, value.c_str()) != 0) throw DeviceError(amdsim_last_message());
}

std::string last_message(hipError_t error) {
  const std::string text = amdsim_last_message();
  return text.empty() ? hipGetErrorString(error) : text;
}

} // namespace

void apply_stress(const Stress& s) {
  amdsim_quiet(1);
  set("SCHED", s.schedule ? fmt::format("random:{}", s.schedule) : "inorder");
  set("POISON", !s.poison ? "off" : fmt::format("{:08x}", poison_word(s)));
  set("LDS_CHECK", s.check_lds ? "1" : "0");
  set("MAX_INST", fmt::format("{}", s.most_instructions));
  set("TIMEOUT", kHangSeconds);
  // As the hardware truncates, unless somebody asks for another sum.
  const char* mfma = std::getenv("AMDSIM_MFMA");
  set("MFMA", mfma && *mfma ? mfma : "cdna3");
}

bool forget_errors() {
  amdsim_clear_error();
  return true;
}
#else
namespace {
std::string last_message(hipError_t error) { return hipGetErrorString(error); }
} // namespace

void apply_stress(const Stress& s) {
  if (!s.poison) return;
  std::string why;
  const mqa::DeviceFacts* facts = mqa::device_facts(&why);
  if (!facts) throw DeviceError(why);
  require(dirty_compute_units(poison_word(s), *facts, nullptr), "the launch that dirties the compute units");
}

bool forget_errors() {
  (void)hipGetLastError();
  return hipDeviceSynchronize() == hipSuccess;
}
#endif

namespace {

// The host ran short of memory for the simulated device: trouble of the machine, not of the kernel.
bool short_of_memory(const std::string& message) {
  return message.find("out of address space") != std::string::npos ||
         message.find("out of memory") != std::string::npos;
}

using PagedEntry = decltype(&mqa_paged_logits);
PagedEntry entry_of(Operation op) {
  if (is_per_head(op)) return production().per_head_logits;
  return is_ragged(op) ? production().ragged_logits : production().paged_logits;
}

template <class Args, class Entry>
LaunchResult launch_production(Entry entry, const Args& args, const mqa_config& config, hipStream_t stream) {
  LaunchResult result;
  result.choice.struct_size = sizeof result.choice;
  const mqa_status status = entry(&args, &config, stream, &result.choice);
  return status == MQA_OK ? result : started(status, config);
}

mqa_choice choice_of(const mqa::LaunchConfig& c) {
  mqa_choice choice{};
  choice.struct_size = sizeof choice;
  choice.config = {c.variant, c.chunk_k, c.split_kv, c.wave_per_eu};
  choice.row_id = -1;
  return choice;
}

template <class Args>
LaunchResult launch_fault(const Args& args, const mqa_config& wanted, const Fault& fault,
                          hipStream_t stream) {
  if (!fault.launch.logits) return planted_elsewhere(fault);
  std::string why = mqa::why_invalid(args, false);
  if (!why.empty()) return {VerdictClass::rejected, why, {}};
  const mqa::DeviceFacts* facts = mqa::device_facts(&why);
  if (!facts) throw DeviceError(why);
  mqa::LaunchConfig config{};
  mqa_config staged = wanted; // where nothing else is asked for, faults are planted in the staged kernel
  if (staged.variant == MQA_VARIANT_AUTO) staged.variant = MQA_VARIANT_STAGED;
  if (mqa::resolve_config(args, staged, *facts, &config, &why) != MQA_OK)
    return {VerdictClass::rejected, why, {}};
  const hipError_t error = fault.launch.logits(mqa::prepare(args, config, *facts), config, stream);
  LaunchResult result = started(error, fault);
  result.choice = choice_of(config);
  return result;
}

} // namespace

LaunchResult planted_elsewhere(const Fault& fault) {
  return {VerdictClass::rejected,
          fmt::format("fault {} is planted in {}; allowed: a case of that operation", fault.name,
                      name_of(operation_of(fault))),
          {}};
}

LaunchResult started(mqa_status status, const mqa_config& config) {
  if (status == MQA_OK) return {};
  const std::string why = fmt::format("{}: {}", mqa_status_name(status), production().last_error());
  const bool automatic = !config.variant && !config.chunk_k && !config.split_kv && !config.wave_per_eu;
  if (status == MQA_UNSUPPORTED || (status == MQA_INVALID_ARGUMENT && !automatic))
    return {VerdictClass::rejected, why, {}};
  return {VerdictClass::fault, why, {}};
}

LaunchResult started(hipError_t error, const Fault& fault) {
  if (error == hipSuccess) return {};
  if (error != hipErrorInvalidValue) return {VerdictClass::fault, hipGetErrorString(error), {}};
  return {VerdictClass::rejected,
          fmt::format("fault {} is not built for this operation, variant or head_dim; allowed: those of its "
                      "witness, {}",
                      fault.name, fault.witness),
          {}};
}

LaunchResult launch(Operation op, const mqa_paged_logits_args& args, const mqa_config& config,
                    const Fault* fault, hipStream_t stream) {
  return fault ? launch_fault(args, config, *fault, stream)
               : launch_production(entry_of(op), args, config, stream);
}
LaunchResult launch(const mqa_prefill_logits_args& args, const mqa_config& config, const Fault* fault,
                    hipStream_t stream) {
  return fault ? launch_fault(args, config, *fault, stream)
               : launch_production(production().prefill_logits, args, config, stream);
}
LaunchResult launch(const mqa_head_sum_args& args, const Fault* fault, hipStream_t stream) {
  if (!fault) return started(production().head_sum(&args, stream));
  if (!fault->launch.head_sum) return planted_elsewhere(*fault);
  if (const std::string why = mqa::why_invalid(args); !why.empty()) return {VerdictClass::rejected, why, {}};
  return started(fault->launch.head_sum(args, stream), *fault);
}

LaunchResult finished(LaunchResult result) {
  const hipError_t error = hipDeviceSynchronize();
  if (error == hipSuccess) look_for_stray_writes();
  if (result.status == VerdictClass::rejected || error == hipSuccess) return result;
  result.status = error == hipErrorLaunchTimeOut ? VerdictClass::hang : VerdictClass::fault;
  result.message = last_message(error);
  if (short_of_memory(result.message)) throw DeviceError(result.message);
  return result;
}

} // namespace mqalab
