// Errors: their names, the last one of each thread, and what a misuse of the API says.
#include "runtime.hpp"

#include <cstdarg>

using namespace amdsim;

thread_local hipError_t amdsim::last_error = hipSuccess;
hipError_t amdsim::sticky_error = hipSuccess;

namespace {

// One lock for the whole runtime, taken again where an entry point is made of others. Never destroyed: exit
// handlers of the program still call.
std::recursive_mutex& runtime_lock() {
  static auto* lock = new std::recursive_mutex;
  return *lock;
}

struct ErrorWords {
  hipError_t error;
  const char *name, *words;
};
#define ERROR(name, words) {name, #name, words}
const ErrorWords error_words[] = {
    ERROR(hipSuccess, "no error"),
    ERROR(hipErrorInvalidValue, "invalid argument"),
    ERROR(hipErrorOutOfMemory, "out of memory"),
    ERROR(hipErrorNotInitialized, "initialization error"),
    ERROR(hipErrorDeinitialized, "driver shutting down"),
    ERROR(hipErrorInvalidConfiguration, "invalid configuration argument"),
    ERROR(hipErrorInvalidPitchValue, "invalid pitch argument"),
    ERROR(hipErrorInvalidSymbol, "invalid device symbol"),
    ERROR(hipErrorInvalidDevicePointer, "invalid device pointer"),
    ERROR(hipErrorInvalidMemcpyDirection, "invalid copy direction for memcpy"),
    ERROR(hipErrorInsufficientDriver, "driver version is insufficient for runtime version"),
    ERROR(hipErrorMissingConfiguration, "__global__ function call is not configured"),
    ERROR(hipErrorInvalidDeviceFunction, "invalid device function"),
    ERROR(hipErrorNoDevice, "no ROCm-capable device is detected"),
    ERROR(hipErrorInvalidDevice, "invalid device ordinal"),
    ERROR(hipErrorInvalidImage, "device kernel image is invalid"),
    ERROR(hipErrorInvalidContext, "invalid device context"),
    ERROR(hipErrorNoBinaryForGpu, "no kernel image is available for execution on the device"),
    ERROR(hipErrorInvalidSource, "invalid source"),
    ERROR(hipErrorFileNotFound, "file not found"),
    ERROR(hipErrorSharedObjectSymbolNotFound, "shared object symbol not found"),
    ERROR(hipErrorSharedObjectInitFailed, "shared object initialization failed"),
    ERROR(hipErrorOperatingSystem, "OS call failed or operation not supported on this OS"),
    ERROR(hipErrorInvalidHandle, "invalid resource handle"),
    ERROR(hipErrorNotFound, "named symbol not found"),
    ERROR(hipErrorNotReady, "device not ready"),
    ERROR(hipErrorIllegalAddress, "an illegal memory access was encountered"),
    ERROR(hipErrorLaunchOutOfResources, "too many resources requested for launch"),
    ERROR(hipErrorLaunchTimeOut, "the launch timed out and was terminated"),
    ERROR(hipErrorPeerAccessAlreadyEnabled, "peer access is already enabled"),
    ERROR(hipErrorPeerAccessNotEnabled, "peer access has not been enabled"),
    ERROR(hipErrorLaunchFailure, "unspecified launch failure"),
    ERROR(hipErrorNotSupported, "operation not supported"),
    ERROR(hipErrorStreamCaptureUnsupported, "operation not permitted when stream is capturing"),
    ERROR(hipErrorStreamCaptureInvalidated, "operation failed due to a previous error during capture"),
    ERROR(hipErrorIllegalState, "the operation cannot be performed in the present state"),
    ERROR(hipErrorHostMemoryAlreadyRegistered, "part or all of the requested memory range is already mapped"),
    ERROR(hipErrorHostMemoryNotRegistered, "pointer does not correspond to a registered memory region"),
    ERROR(hipErrorUnknown, "unknown error"),
};
#undef ERROR

const ErrorWords& words_of(hipError_t error) {
  for (const ErrorWords& w : error_words)
    if (w.error == error) return w;
  return std::end(error_words)[-1];
}

} // namespace

ApiCall::ApiCall() {
  runtime_lock().lock();
  init_config();
}
ApiCall::~ApiCall() { runtime_lock().unlock(); }

hipError_t amdsim::fail(hipError_t error) {
  if (error != hipSuccess) last_error = error;
  return error;
}

hipError_t amdsim::misuse(hipError_t error, const char* format, ...) {
  char text[1500];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  report("%s (%s)", text, hipGetErrorName(error));
  if (C.abort_on_fault) abort();
  return fail(error);
}

extern "C" int amdsim_unimplemented(const char* entry_point) {
  const ApiCall call;
  report("%s is not implemented", entry_point);
  if (C.abort_on_fault) abort();
  return fail(hipErrorNotSupported);
}

extern "C" void amdsim_unimplemented_abort(const char* entry_point) {
  report("%s is not implemented", entry_point);
  abort();
}

extern "C" const char* hipGetErrorName(hipError_t error) { return words_of(error).name; }
extern "C" const char* hipGetErrorString(hipError_t error) { return words_of(error).words; }
HIP_ENTRY hipGetLastError() { return std::exchange(last_error, hipSuccess); }
HIP_ENTRY hipPeekAtLastError() { return last_error; }
