// The C API: validate, choose, launch.  No exception leaves it; a message goes to the calling thread.
#include "kernels/api_support.hpp"
#include "kernels/choose.hpp"
#include "kernels/launch.hpp"
#include "kernels/mqa.h"

#include <cstdio>
#include <cstring>

extern "C" const char mqa_kernel_hash_text[]; // generated at build time from the compiled kernels

namespace mqa {

static thread_local char last_error[512];

mqa_status fail(mqa_status status, const std::string& message) {
  snprintf(last_error, sizeof last_error, "%s", message.c_str());
  return status;
}
mqa_status succeed() {
  last_error[0] = 0;
  return MQA_OK;
}
mqa_status launched(hipError_t error) {
  if (error == hipSuccess) return succeed();
  return fail(MQA_DEVICE_ERROR, std::string("the launch failed: ") + hipGetErrorString(error));
}

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

// The database's answer, or the default when the row's configuration cannot run this problem.
mqa_status from_database(const mqa_paged_logits_args& args, const DeviceFacts& device, mqa_choice* choice,
                         LaunchConfig* config, std::string* why) {
  load_from_environment_once();
  *choice = choose(args, device);
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
  return status;
}

mqa_status plan(const mqa_paged_logits_args* args, const mqa_config* wanted, bool shape_only,
                mqa_choice* choice, LaunchConfig* config, const DeviceFacts** device) {
  if (!args) return fail(MQA_INVALID_ARGUMENT, "args is NULL");
  if (std::string why = why_invalid(*args, shape_only); !why.empty()) return fail(MQA_INVALID_ARGUMENT, why);
  std::string why;
  *device = device_facts(&why);
  if (!*device) return fail(MQA_DEVICE_ERROR, why);
  mqa_status status;
  if (wanted) {
    *choice = explicit_choice(*wanted);
    status = resolve_config(*args, *wanted, **device, config, &why);
  } else {
    status = from_database(*args, **device, choice, config, &why);
  }
  if (status != MQA_OK) return fail(status, why);
  choice->config = resolved(*config);
  return MQA_OK;
}

} // namespace
} // namespace mqa

using namespace mqa;

mqa_status mqa_paged_logits(const mqa_paged_logits_args* args, const mqa_config* wanted, void* stream,
                            mqa_choice* to) {
  return guarded([&] {
    mqa_choice choice{};
    LaunchConfig config{};
    const DeviceFacts* device = nullptr;
    if (const auto status = plan(args, wanted, false, &choice, &config, &device); status != MQA_OK)
      return status;
    if (const auto status = give(choice, to); status != MQA_OK) return status;
    return launched(
        launch_paged_logits(prepare(*args, config, *device), config, static_cast<hipStream_t>(stream)));
  });
}

mqa_status mqa_choose(const mqa_paged_logits_args* args, mqa_choice* to) {
  return guarded([&] {
    if (!to) return fail(MQA_INVALID_ARGUMENT, "choice is NULL");
    mqa_choice choice{};
    LaunchConfig config{};
    const DeviceFacts* device = nullptr;
    if (const auto status = plan(args, nullptr, true, &choice, &config, &device); status != MQA_OK)
      return status;
    if (const auto status = give(choice, to); status != MQA_OK) return status;
    return succeed();
  });
}

mqa_status mqa_load_database(const char* paths) {
  return guarded([&] {
    std::string message;
    const mqa_status status = load_database(paths, &message);
    return status == MQA_OK && message.empty() ? succeed() : fail(status, message);
  });
}
void mqa_unload_database(void) { unload_database(); }

const char* mqa_last_error(void) { return last_error; }
const char* mqa_kernel_hash(void) { return mqa_kernel_hash_text; }
const char* mqa_version(void) { return MQA_VERSION_TEXT; }

const char* mqa_device_key(void) {
  static thread_local std::string error;
  const DeviceFacts* facts = device_facts(&error);
  if (!facts) fail(MQA_DEVICE_ERROR, error);
  return facts ? facts->key.c_str() : "";
}

const char* mqa_status_name(int32_t status) {
  switch (status) {
  case MQA_OK: return "ok";
  case MQA_INVALID_ARGUMENT: return "invalid argument";
  case MQA_UNSUPPORTED: return "unsupported";
  case MQA_DEVICE_ERROR: return "device error";
  case MQA_NOT_CERTIFIED: return "not certified";
  case MQA_BAD_DATABASE: return "bad database";
  default: return "unknown status";
  }
}
const char* mqa_source_name(int32_t source) {
  switch (source) {
  case MQA_SOURCE_EXPLICIT: return "explicit";
  case MQA_SOURCE_EXACT: return "exact";
  case MQA_SOURCE_DEFAULT: return "default";
  case MQA_SOURCE_STALE: return "stale";
  case MQA_SOURCE_QUARANTINED: return "quarantined";
  case MQA_SOURCE_MISMATCH: return "mismatch";
  default: return "unknown source";
  }
}
const char* mqa_variant_name(int32_t variant) {
  switch (variant) {
  case MQA_VARIANT_AUTO: return "auto";
  case MQA_VARIANT_STAGED: return "staged";
  case MQA_VARIANT_DIRECT: return "direct";
  case MQA_VARIANT_WGMMA: return "wgmma";
  case MQA_VARIANT_GENERAL: return "general";
  case MQA_VARIANT_SCHEDULED: return "scheduled";
  default: return nullptr;
  }
}
