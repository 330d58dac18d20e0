// hipMemcpy and hipMemset in all their forms. Ranges are
// checked against the allocations before anything moves.
#include "runtime.hpp"

using namespace amdsim;

namespace {

enum class Must { be_device_memory, not_leave_its_allocation };

hipError_t check_range(const char* call, const void* p, size_t bytes, Must must) {
  if (!bytes) return hipSuccess;
  const auto address = reinterpret_cast<uintptr_t>(p);
  const Alloc* a = mem_find(address);
  if (!a && must == Must::not_leave_its_allocation && p) return hipSuccess; // the program's own memory
  if (!a)
    return misuse(hipErrorInvalidValue, "%s: %p is no device memory: %s", call, p, mem_describe(address));
  if (address + bytes <= a->end) return hipSuccess;
  return misuse(hipErrorInvalidValue, "%s: %zu bytes from %p run out of the memory: %s", call, bytes, p,
                mem_describe(address));
}

Must device_if(bool device) { return device ? Must::be_device_memory : Must::not_leave_its_allocation; }

// ---- requests: each knows how to check itself, and how to do it ---------------------------------
struct Copy {
  void* to;
  const void* from;
  size_t bytes;
  hipMemcpyKind kind;

  hipError_t check(const char* call) const {
    if (kind < hipMemcpyHostToHost || kind > hipMemcpyDefault) return hipErrorInvalidMemcpyDirection;
    const bool both = kind == hipMemcpyDeviceToDevice;
    const hipError_t error = check_range(call, to, bytes, device_if(both || kind == hipMemcpyHostToDevice));
    if (error != hipSuccess) return error;
    return check_range(call, from, bytes, device_if(both || kind == hipMemcpyDeviceToHost));
  }
  void run() const { memmove(to, from, bytes); }
};

size_t bytes_of_rows(size_t pitch, size_t width, size_t height) { return pitch * (height - 1) + width; }

struct Copy2D {
  void* to;
  size_t to_pitch;
  const void* from;
  size_t from_pitch, width, height;
  hipMemcpyKind kind;

  hipError_t check(const char* call) const {
    if (!width || !height) return hipSuccess;
    if (width > to_pitch || width > from_pitch) return hipErrorInvalidPitchValue;
    const size_t to_bytes = bytes_of_rows(to_pitch, width, height);
    const size_t from_bytes = bytes_of_rows(from_pitch, width, height);
    hipError_t error = Copy{to, from, 1, kind}.check(call);
    if (error == hipSuccess) error = check_range(call, to, to_bytes, Must::not_leave_its_allocation);
    if (error == hipSuccess) error = check_range(call, from, from_bytes, Must::not_leave_its_allocation);
    return error;
  }
  void run() const {
    for (size_t row = 0; width && row < height; row++)
      memmove(static_cast<char*>(to) + row * to_pitch, static_cast<const char*>(from) + row * from_pitch,
              width);
  }
};

template <class T> struct Fill {
  void* to;
  T value;
  size_t count;

  hipError_t check(const char* call) const {
    return check_range(call, to, count * sizeof(T), Must::be_device_memory);
  }
  void run() const { std::fill_n(static_cast<T*>(to), count, value); }
};
using Fill8 = Fill<uint8_t>;
using Fill16 = Fill<uint16_t>;
using Fill32 = Fill<uint32_t>;

struct Fill2D {
  void* to;
  size_t pitch;
  int value;
  size_t width, height;

  hipError_t check(const char* call) const {
    if (!width || !height) return hipSuccess;
    if (width > pitch) return hipErrorInvalidPitchValue;
    return check_range(call, to, bytes_of_rows(pitch, width, height), Must::be_device_memory);
  }
  void run() const {
    for (size_t row = 0; row < height; row++) memset(static_cast<char*>(to) + row * pitch, value, width);
  }
};

template <class Request> hipError_t in_stream(const char* call, const Request& request, hipStream_t stream) {
  const ApiCall lock;
  if (const hipError_t error = request.check(call); error != hipSuccess) return fail(error);
  return submit(stream, [request] {
    request.run();
    return hipSuccess;
  });
}

// Without a stream the call waits for the device: an earlier failure is its own, whatever it was asked.
template <class Request> hipError_t now(const char* call, const Request& request) {
  const ApiCall lock;
  return sticky_error != hipSuccess ? fail(sticky_error) : in_stream(call, request, nullptr);
}

} // namespace

HIP_ENTRY hipMemcpy(void* to, const void* from, size_t n, hipMemcpyKind kind) {
  return now("hipMemcpy", Copy{to, from, n, kind});
}
HIP_ENTRY hipMemcpyAsync(void* to, const void* from, size_t n, hipMemcpyKind kind, hipStream_t s) {
  return in_stream("hipMemcpyAsync", Copy{to, from, n, kind}, s);
}
HIP_ENTRY hipMemcpyWithStream(void* to, const void* from, size_t n, hipMemcpyKind kind, hipStream_t s) {
  return in_stream("hipMemcpyWithStream", Copy{to, from, n, kind}, s);
}

// The driver API's names, with the direction in them.
#define DRIVER_COPY(Name, To, From, Kind)                                                                    \
  HIP_ENTRY Name(To to, From from, size_t n) { return now(#Name, Copy{to, from, n, Kind}); }                 \
  HIP_ENTRY Name##Async(To to, From from, size_t n, hipStream_t s) {                                         \
    return in_stream(#Name "Async", Copy{to, from, n, Kind}, s);                                             \
  }
DRIVER_COPY(hipMemcpyHtoD, hipDeviceptr_t, void*, hipMemcpyHostToDevice)
DRIVER_COPY(hipMemcpyDtoH, void*, hipDeviceptr_t, hipMemcpyDeviceToHost)
DRIVER_COPY(hipMemcpyDtoD, hipDeviceptr_t, hipDeviceptr_t, hipMemcpyDeviceToDevice)
#undef DRIVER_COPY

HIP_ENTRY hipMemcpy2D(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                      size_t height, hipMemcpyKind kind) {
  return now("hipMemcpy2D", Copy2D{to, to_pitch, from, from_pitch, width, height, kind});
}
HIP_ENTRY hipMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                           size_t height, hipMemcpyKind kind, hipStream_t s) {
  return in_stream("hipMemcpy2DAsync", Copy2D{to, to_pitch, from, from_pitch, width, height, kind}, s);
}

#define MEMSET(Name, To, Value, Fill)                                                                        \
  HIP_ENTRY Name(To to, Value value, size_t n) {                                                             \
    return now(#Name, Fill{to, static_cast<decltype(Fill::value)>(value), n});                               \
  }                                                                                                          \
  HIP_ENTRY Name##Async(To to, Value value, size_t n, hipStream_t s) {                                       \
    return in_stream(#Name "Async", Fill{to, static_cast<decltype(Fill::value)>(value), n}, s);              \
  }
MEMSET(hipMemset, void*, int, Fill8)
MEMSET(hipMemsetD8, hipDeviceptr_t, unsigned char, Fill8)
MEMSET(hipMemsetD16, hipDeviceptr_t, unsigned short, Fill16)
MEMSET(hipMemsetD32, hipDeviceptr_t, int, Fill32)
#undef MEMSET

HIP_ENTRY hipMemset2D(void* to, size_t pitch, int value, size_t width, size_t height) {
  return now("hipMemset2D", Fill2D{to, pitch, value, width, height});
}
HIP_ENTRY hipMemset2DAsync(void* to, size_t pitch, int value, size_t width, size_t height, hipStream_t s) {
  return in_stream("hipMemset2DAsync", Fill2D{to, pitch, value, width, height}, s);
}
