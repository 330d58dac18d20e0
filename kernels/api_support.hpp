// What every entry point of the C API shares: the thread's last message, and the wall that no exception
// passes.
#pragma once
#include "kernels/mqa.h"

#include <hip/hip_runtime_api.h>

#include <exception>
#include <string>

namespace mqa {

// Sets the thread's last error and returns `status`; succeed() clears it.
mqa_status fail(mqa_status status, const std::string& message);
mqa_status succeed();
// What a launch that returned `error` means to the caller.
mqa_status launched(hipError_t error);

// Runs an entry point's body; whatever is thrown inside becomes a status.
template <class Body> mqa_status guarded(Body body) noexcept {
  try {
    return body();
  } catch (const std::exception& e) {
    return fail(MQA_DEVICE_ERROR, std::string("unexpected: ") + e.what());
  }
}

} // namespace mqa
