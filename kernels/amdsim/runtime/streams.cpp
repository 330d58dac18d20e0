// Streams and events. Work is done when it is submitted, unless
// the stream captures it; an event holds the host's time.
#include "runtime.hpp"

#include <chrono>
#include <set>

using namespace amdsim;

struct ihipStream_t {
  unsigned flags = 0;
  int priority = 0;
  hipGraph_t captured = nullptr; // while it captures
};
struct ihipEvent_t {
  unsigned flags = 0;
  bool recorded = false;
  std::chrono::steady_clock::time_point time;
};

namespace {

std::set<hipStream_t>& streams() {
  static auto* all = new std::set<hipStream_t>;
  return *all;
}

bool is_created(hipStream_t stream) { return streams().count(stream); }

} // namespace

bool amdsim::is_stream(hipStream_t stream) {
  return !stream || stream == hipStreamPerThread || is_created(stream);
}
bool amdsim::is_capturing(hipStream_t stream) { return is_created(stream) && stream->captured; }
bool amdsim::any_capture() { return std::any_of(streams().begin(), streams().end(), is_capturing); }

hipError_t amdsim::submit(hipStream_t stream, Work work) {
  if (!is_stream(stream))
    return misuse(hipErrorInvalidHandle, "not a stream: %p", static_cast<void*>(stream));
  if (is_capturing(stream)) {
    stream->captured->work.push_back(std::move(work));
    return hipSuccess;
  }
  if (sticky_error != hipSuccess) return fail(sticky_error);
  return fail(work());
}

HIP_ENTRY hipStreamCreateWithPriority(hipStream_t* stream, unsigned flags, int priority) {
  const ApiCall call;
  if (!stream) return fail(hipErrorInvalidValue);
  *stream = new ihipStream_t{flags, priority};
  streams().insert(*stream);
  return hipSuccess;
}
HIP_ENTRY hipStreamCreate(hipStream_t* stream) { return hipStreamCreateWithPriority(stream, 0, 0); }
HIP_ENTRY hipStreamCreateWithFlags(hipStream_t* stream, unsigned flags) {
  return hipStreamCreateWithPriority(stream, flags, 0);
}
HIP_ENTRY hipStreamDestroy(hipStream_t stream) {
  const ApiCall call;
  if (!streams().erase(stream)) return fail(hipErrorInvalidHandle);
  delete stream;
  return hipSuccess;
}
HIP_ENTRY hipStreamSynchronize(hipStream_t stream) {
  const ApiCall call;
  if (!is_stream(stream)) return fail(hipErrorInvalidHandle);
  if (is_capturing(stream))
    return misuse(hipErrorStreamCaptureUnsupported, "hipStreamSynchronize on a capturing stream");
  return fail(sticky_error);
}
HIP_ENTRY hipStreamQuery(hipStream_t stream) { return hipStreamSynchronize(stream); }
HIP_ENTRY hipStreamWaitEvent(hipStream_t stream, hipEvent_t event, unsigned) {
  const ApiCall call;
  return is_stream(stream) && event ? hipSuccess : fail(hipErrorInvalidHandle);
}
HIP_ENTRY hipStreamGetFlags(hipStream_t stream, unsigned* flags) {
  const ApiCall call;
  if (!flags || !is_stream(stream)) return fail(hipErrorInvalidValue);
  *flags = is_created(stream) ? stream->flags : 0;
  return hipSuccess;
}
HIP_ENTRY hipStreamGetPriority(hipStream_t stream, int* priority) {
  const ApiCall call;
  if (!priority || !is_stream(stream)) return fail(hipErrorInvalidValue);
  *priority = is_created(stream) ? stream->priority : 0;
  return hipSuccess;
}
HIP_ENTRY hipStreamAddCallback(hipStream_t stream, hipStreamCallback_t callback, void* user, unsigned) {
  const ApiCall call;
  return submit(stream, [=] {
    callback(stream, hipSuccess, user);
    return hipSuccess;
  });
}

// ---- capture ------------------------------------------------------------------------------------
HIP_ENTRY hipStreamBeginCapture(hipStream_t stream, hipStreamCaptureMode) {
  const ApiCall call;
  if (!is_created(stream))
    return misuse(hipErrorStreamCaptureUnsupported, "hipStreamBeginCapture on the default stream");
  if (stream->captured) return fail(hipErrorIllegalState);
  stream->captured = new ihipGraph;
  return hipSuccess;
}
HIP_ENTRY hipStreamEndCapture(hipStream_t stream, hipGraph_t* graph) {
  const ApiCall call;
  if (!graph || !is_capturing(stream)) return fail(hipErrorIllegalState);
  *graph = std::exchange(stream->captured, nullptr);
  return hipSuccess;
}
HIP_ENTRY hipStreamIsCapturing(hipStream_t stream, hipStreamCaptureStatus* status) {
  const ApiCall call;
  if (!status) return fail(hipErrorInvalidValue);
  *status = is_capturing(stream) ? hipStreamCaptureStatusActive : hipStreamCaptureStatusNone;
  return hipSuccess;
}
HIP_ENTRY hipThreadExchangeStreamCaptureMode(hipStreamCaptureMode*) { return hipSuccess; }

// ---- events -------------------------------------------------------------------------------------
HIP_ENTRY hipEventCreateWithFlags(hipEvent_t* event, unsigned flags) {
  const ApiCall call;
  if (!event) return fail(hipErrorInvalidValue);
  *event = new ihipEvent_t{flags, false, {}};
  return hipSuccess;
}
HIP_ENTRY hipEventCreate(hipEvent_t* event) { return hipEventCreateWithFlags(event, 0); }
HIP_ENTRY hipEventDestroy(hipEvent_t event) {
  const ApiCall call;
  if (!event) return fail(hipErrorInvalidHandle);
  delete event;
  return hipSuccess;
}
HIP_ENTRY hipEventRecord(hipEvent_t event, hipStream_t stream) {
  const ApiCall call;
  if (!event || !is_stream(stream)) return fail(hipErrorInvalidHandle);
  if (is_capturing(stream)) return hipSuccess;
  event->recorded = true;
  event->time = std::chrono::steady_clock::now();
  return hipSuccess;
}
HIP_ENTRY hipEventSynchronize(hipEvent_t event) {
  const ApiCall call;
  return event ? fail(sticky_error) : fail(hipErrorInvalidHandle);
}
HIP_ENTRY hipEventQuery(hipEvent_t event) { return hipEventSynchronize(event); }
HIP_ENTRY hipEventElapsedTime(float* milliseconds, hipEvent_t start, hipEvent_t end) {
  const ApiCall call;
  if (!milliseconds || !start || !end) return fail(hipErrorInvalidValue);
  if (!start->recorded || !end->recorded) return fail(hipErrorInvalidHandle);
  *milliseconds = std::chrono::duration<float, std::milli>(end->time - start->time).count();
  return hipSuccess;
}
