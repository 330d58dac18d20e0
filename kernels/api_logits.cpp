// The logits operations of the C API: validate, choose, launch.  One way for all; only their checks differ.
#include "kernels/api_support.hpp"
#include "kernels/argument_rules.hpp"
#include "kernels/choose.hpp"
#include "kernels/launch.hpp"

#include <cinttypes>
#include <cstdio>

namespace mqa {
namespace {

mqa_choice explicit_choice(const mqa_config& config) {
  mqa_choice choice{};
  choice.config = config;
  choice.source = MQA_SOURCE_EXPLICIT;
  choice.row_id = -1;
  snprintf(choice.reason, sizeof choice.reason, "the caller passed this configuration");
  return choice;
}
mqa_config resolved(const LaunchConfig& c) { return {c.variant, c.chunk_k, c.split_kv, c.wave_per_eu}; }

// What the caller's struct has room for: older callers know fewer fields.
mqa_status give(const mqa_choice& choice, mqa_choice* to) {
  if (!to) return MQA_OK;
  if (to->struct_size != sizeof choice)
    return fail(MQA_INVALID_ARGUMENT, "choice->struct_size is " + std::to_string(to->struct_size) +
                                          "; set it to sizeof(mqa_choice), " + std::to_string(sizeof choice));
  const size_t size = to->struct_size;
  *to = choice;
  to->struct_size = size;
  return MQA_OK;
}

// Nobody is to find out by the clock that a shape takes the slow path.
void note_slow_path(const LaunchConfig& config, mqa_choice* choice) {
  if (config.variant != MQA_VARIANT_GENERAL || choice->source != MQA_SOURCE_DEFAULT) return;
  const std::string before = choice->reason;
  snprintf(choice->reason, sizeof choice->reason,
           "%.110s: the slow path, because no faster variant serves this call", before.c_str());
}

// The database's answer, or the default when the row's configuration cannot run this problem.
template <class Args>
mqa_status from_database(const Args& args, const DeviceFacts& device, mqa_choice* choice,
                         LaunchConfig* config, std::string* why) {
  load_from_environment_once();
  *choice = choose(problem_key(args), device);
  mqa_status status = resolve_config(args, choice->config, device, config, why);
  if (status != MQA_OK && choice->source == MQA_SOURCE_EXACT) {
    choice->source = MQA_SOURCE_DEFAULT;
    snprintf(choice->reason, sizeof choice->reason, "the row's configuration cannot run here: %.140s",
             why->c_str());
    status = resolve_config(args, mqa_config{}, device, config, why);
  }
  if (status == MQA_OK && strict_mode() && choice->source != MQA_SOURCE_EXACT) {
    *why =
        std::string("strict mode (MQALAB_DB_MODE=strict) and no certified configuration: ") + choice->reason;
    return MQA_NOT_CERTIFIED;
  }
  if (status == MQA_OK) note_slow_path(*config, choice);
  return status;
}

struct Plan {
  mqa_choice choice{};
  LaunchConfig config{};
  const DeviceFacts* device = nullptr;
};

template <class Args>
mqa_status make_plan(const Args& args, const mqa_config* wanted, bool shape_only, Plan* plan) {
  if (std::string why = why_invalid(args, shape_only); !why.empty()) return fail(MQA_INVALID_ARGUMENT, why);
  std::string why;
  plan->device = device_facts(&why);
  if (!plan->device) return fail(MQA_DEVICE_ERROR, why);
  mqa_status status;
  if (wanted) {
    plan->choice = explicit_choice(*wanted);
    status = resolve_config(args, *wanted, *plan->device, &plan->config, &why);
  } else {
    status = from_database(args, *plan->device, &plan->choice, &plan->config, &why);
  }
  if (status != MQA_OK) return fail(status, why);
  plan->choice.config = resolved(plan->config);
  return MQA_OK;
}

std::string size_error(const mqa_paged_logits_args& a) {
  return struct_size_error("mqa_paged_logits_args", a.struct_size, sizeof a);
}
std::string size_error(const mqa_prefill_logits_args& a) {
  return struct_size_error("mqa_prefill_logits_args", a.struct_size, sizeof a);
}

// `misplaced`: why these arguments are not for this entry point, or "".
template <class Args, class Misplaced>
mqa_status run(const Args* args, const mqa_config* wanted, void* stream, mqa_choice* to,
               Misplaced misplaced) {
  return guarded([&] {
    if (!args) return fail(MQA_INVALID_ARGUMENT, "args is NULL");
    // A caller built against another header: its fields past the known ones are not to be looked at.
    if (const std::string why = size_error(*args); !why.empty()) return fail(MQA_INVALID_ARGUMENT, why);
    if (const std::string why = misplaced(*args); !why.empty()) return fail(MQA_INVALID_ARGUMENT, why);
    Plan plan;
    if (const auto status = make_plan(*args, wanted, false, &plan); status != MQA_OK) return status;
    if (const auto status = give(plan.choice, to); status != MQA_OK) return status;
    return launched(launch_paged_logits(prepare(*args, plan.config, *plan.device), plan.config,
                                        static_cast<hipStream_t>(stream)));
  });
}

std::string per_head_misplaced(const mqa_paged_logits_args& a) {
  if (!a.logits_stride_head) return "";
  return words("logits_stride_head is %" PRId64
               "; allowed: 0 in this function; per-head logits are mqa_per_head_logits",
               a.logits_stride_head);
}
std::string misplaced_in_paged(const mqa_paged_logits_args& a) {
  if (a.slot_prefix && !a.logits_stride_head)
    return "slot_prefix is set; allowed: NULL in this function; ragged keys are mqa_ragged_logits";
  return per_head_misplaced(a);
}
std::string misplaced_in_ragged(const mqa_paged_logits_args& a) {
  if (!a.slot_prefix)
    return "slot_prefix is NULL; a device pointer is needed; paged keys are mqa_paged_logits";
  return per_head_misplaced(a);
}
std::string misplaced_in_per_head(const mqa_paged_logits_args& a) {
  return a.logits_stride_head
             ? ""
             : "logits_stride_head is 0; allowed: the elements between the planes of two heads; sums "
               "over heads are mqa_paged_logits and mqa_ragged_logits";
}

} // namespace
} // namespace mqa

using namespace mqa;

mqa_status mqa_paged_logits(const mqa_paged_logits_args* args, const mqa_config* wanted, void* stream,
                            mqa_choice* to) {
  return run(args, wanted, stream, to, misplaced_in_paged);
}
mqa_status mqa_ragged_logits(const mqa_paged_logits_args* args, const mqa_config* wanted, void* stream,
                             mqa_choice* to) {
  return run(args, wanted, stream, to, misplaced_in_ragged);
}
mqa_status mqa_per_head_logits(const mqa_paged_logits_args* args, const mqa_config* wanted, void* stream,
                               mqa_choice* to) {
  return run(args, wanted, stream, to, misplaced_in_per_head);
}
mqa_status mqa_prefill_logits(const mqa_prefill_logits_args* args, const mqa_config* wanted, void* stream,
                              mqa_choice* to) {
  return run(args, wanted, stream, to, [](const mqa_prefill_logits_args&) { return std::string(); });
}

mqa_status mqa_head_sum(const mqa_head_sum_args* args, void* stream) {
  return guarded([&] {
    if (!args) return fail(MQA_INVALID_ARGUMENT, "args is NULL");
    if (const std::string why = why_invalid(*args); !why.empty()) return fail(MQA_INVALID_ARGUMENT, why);
    return launched(launch_head_sum(*args, static_cast<hipStream_t>(stream)));
  });
}

mqa_status mqa_choose(const mqa_paged_logits_args* args, mqa_choice* to) {
  return guarded([&] {
    if (!args) return fail(MQA_INVALID_ARGUMENT, "args is NULL");
    if (!to) return fail(MQA_INVALID_ARGUMENT, "choice is NULL");
    Plan plan;
    if (const auto status = make_plan(*args, nullptr, true, &plan); status != MQA_OK) return status;
    if (const auto status = give(plan.choice, to); status != MQA_OK) return status;
    return succeed();
  });
}
