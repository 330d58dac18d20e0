// Memory of the device for one tensor, and what is noticed when a kernel writes beside it.
#pragma once
#include <hip/hip_runtime_api.h>

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>

namespace mqalab {

// A runtime call that failed outside of a launch: machine trouble, not a finding.
struct DeviceError : std::runtime_error {
  using std::runtime_error::runtime_error;
};
void require(hipError_t, const char* call);

// How the end of a buffer is told.
enum class Bounds : uint8_t {
  exact, // an allocation of just so many bytes: the simulator checks every access to the byte
  zones  // real hardware checks pages, if that: zones of canaries lie before and behind the tensor
};
Bounds bounds_of_this_platform();

// Kept from case to case.  With zones, up to kKept_bytes stay allocated and only the zone behind moves.
class DeviceBuffer {
public:
  static constexpr int64_t kZone_bytes = 1 << 20, kKept_bytes = 64 << 20;

  explicit DeviceBuffer(const char* name = "scratch", Bounds = bounds_of_this_platform());
  ~DeviceBuffer();
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;

  // True when the size is another one: what the buffer holds is then undefined.
  bool resize(int64_t bytes);
  uint8_t* data() const { return data_; }
  int64_t size() const { return size_; }
  const char* name() const { return name_; }
  void upload(int64_t offset_bytes, const void* from, int64_t bytes);
  void download(int64_t offset_bytes, void* to, int64_t bytes) const;

private:
  friend class Zones;
  void release();

  const char* name_;
  Bounds bounds_;
  uint8_t *memory_ = nullptr, *data_ = nullptr; // the allocation, and the tensor in it
  int64_t size_ = -1, capacity_ = 0;
};

// A byte beside a buffer that a kernel wrote: the one nearest to the tensor.
struct StrayWrite {
  const char* buffer;
  int64_t offset_bytes; // negative: before the tensor; from size_bytes on: behind it
  int64_t size_bytes;
  uint8_t got;
};
// Looks at the zones of all buffers of the process, on the device, keeps the first stray write there is until
// it is asked for, and mends all.  Precondition: no launch is in flight.  Nothing without zones.
void look_for_stray_writes();
std::optional<StrayWrite> take_stray_write();
// Buffers with zones that hold more than kKept_bytes give them back until they are resized: other processes
// share the GPU.
void release_large_buffers();

} // namespace mqalab
