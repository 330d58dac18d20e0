// What the parts of the HIP runtime share: the lock, the errors, and how work enters a stream. All work is
// done inside the call: streams are synchronous.
#pragma once
#ifndef __HIP_PLATFORM_AMD__
#define __HIP_PLATFORM_AMD__
#endif
#include <hip/hip_runtime_api.h>

#include "amdsim.h"

#include <functional>

#define HIP_ENTRY extern "C" hipError_t

struct ihipGraph {
  std::vector<std::function<hipError_t()>> work;
};
struct ihipModuleSymbol_t { // what a hipFunction_t points to
  amdsim::Kernel* kernel;
};

namespace amdsim {

// ---- errors.cpp ---------------------------------------------------------------------------------
extern thread_local hipError_t last_error;
extern hipError_t sticky_error; // of a failed kernel: every later call that waits for the device returns it

hipError_t fail(hipError_t error); // remembered for hipGetLastError(); hipSuccess changes nothing
hipError_t misuse(hipError_t error, const char* format, ...)
    __attribute__((format(printf, 2, 3))); // and said

// Stands at the head of every entry point: holds the runtime's lock, and has the settings read.
struct ApiCall {
  ApiCall();
  ~ApiCall();
  ApiCall(const ApiCall&) = delete;
};

// ---- streams.cpp --------------------------------------------------------------------------------
using Work = std::function<hipError_t()>;

bool is_stream(hipStream_t stream);
bool is_capturing(hipStream_t stream);
bool any_capture();
// Does the work now, or adds it to the graph that the stream captures.
hipError_t submit(hipStream_t stream, Work work);

// ---- registration.cpp, modules.cpp
// ------------------------------------------------------------------------------ A kernel by the address of
// its host function, or by a hipFunction_t. nullptr: `error` says why.
Kernel* find_kernel(const void* function, hipError_t& error);
bool is_module_function(hipFunction_t function);

} // namespace amdsim

extern "C" int amdsim_unimplemented(const char* entry_point);
extern "C" void amdsim_unimplemented_abort(const char* entry_point);
