// What the parts of the HIP runtime share: the lock, the errors, and how work enters a stream. All work is done inside the
// call: streams are synchronous.
#pragma once
#ifndef __HIP_PLATFORM_AMD__
#define __HIP_PLATFORM_AMD__
#endif
#include <hip/hip_runtime_api.h>

#include "amdsim.h"

#include <functional>

namespace amdsim {

extern thread_local hipError_t last_error;
extern hipError_t sticky_error;  // of a failed kernel: every later call that waits for the device returns it

// Stands at the head of every entry point: holds the runtime's lock, and has the settings read.
struct ApiCall {
  ApiCall();
  ~ApiCall();
  ApiCall(const ApiCall&) = delete;
};

}  // namespace amdsim
