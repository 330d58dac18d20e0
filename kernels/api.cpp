// The C API but for the operations: messages, the database, names.
#include "kernels/api_support.hpp"
#include "kernels/choose.hpp"
#include "kernels/launch.hpp"

#include <cstdio>

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

} // namespace mqa

using namespace mqa;

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
