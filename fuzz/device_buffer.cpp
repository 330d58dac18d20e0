#include "fuzz/device_buffer.hpp"

#include "fuzz/zones_launch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <mutex>
#include <utility>
#include <vector>

namespace mqalab {

void require(hipError_t error, const char* call) {
  if (error != hipSuccess) throw DeviceError(fmt::format("{} failed: {}", call, hipGetErrorString(error)));
}

Bounds bounds_of_this_platform() {
#ifdef MQALAB_SIM
  return Bounds::exact;
#else
  return Bounds::zones;
#endif
}

namespace {

uint8_t* allocated(int64_t bytes) {
  void* memory = nullptr;
  // An empty tensor still gets an address: a null pointer would be refused before anything is tested.
  if (hipMalloc(&memory, static_cast<size_t>(std::max<int64_t>(bytes, 4))) != hipSuccess)
    throw DeviceError(fmt::format("hipMalloc of {} bytes failed", bytes));
  return static_cast<uint8_t*>(memory);
}

} // namespace

// All buffers with zones of this process.
class Zones {
public:
  static Zones& of_process() {
    static auto* all = new Zones; // never destroyed: buffers of static life ask for it
    return *all;
  }

  void add(DeviceBuffer* buffer) {
    const std::scoped_lock lock(mutex_);
    buffers_.push_back(buffer);
  }
  void remove(DeviceBuffer* buffer) {
    const std::scoped_lock lock(mutex_);
    std::erase(buffers_, buffer);
    stale_ = true;
  }
  void write(const DeviceBuffer& b) {
    const std::scoped_lock lock(mutex_);
    for (const Zone& zone : zones_of(b)) fill(zone);
    stale_ = true;
  }
  void look() {
    const std::scoped_lock lock(mutex_);
    if (stale_) list();
    if (count_ == 0) return;
    require(look_at_zones(list_, count_, dead_), "the look at zones");
    uint32_t dead = 0;
    require(hipMemcpy(&dead, dead_, 4, hipMemcpyDeviceToHost), "hipMemcpy");
    if (dead == 0) return;
    require(hipMemset(dead_, 0, 4), "hipMemset");
    const auto found = mended();
    if (!kept_) kept_ = found;
  }
  std::optional<StrayWrite> take() {
    const std::scoped_lock lock(mutex_);
    return std::exchange(kept_, std::nullopt);
  }
  void release_large() {
    const std::scoped_lock lock(mutex_);
    for (DeviceBuffer* b : buffers_)
      if (b->capacity_ > DeviceBuffer::kKept_bytes) b->release(), stale_ = true;
  }

private:
  static std::vector<Zone> zones_of(const DeviceBuffer& b) {
    if (!b.memory_) return {};
    return {{b.memory_, DeviceBuffer::kZone_bytes}, {b.data_ + b.size_, DeviceBuffer::kZone_bytes}};
  }
  static void fill(const Zone& zone) {
    require(hipMemset(const_cast<uint8_t*>(zone.begin), kZoneByte, static_cast<size_t>(zone.bytes)),
            "hipMemset");
  }
  void list() {
    std::vector<Zone> zones;
    for (const DeviceBuffer* b : buffers_)
      for (const Zone& zone : zones_of(*b)) zones.push_back(zone);
    count_ = static_cast<int>(zones.size());
    if (count_ > room_) {
      if (list_) require(hipFree(std::exchange(list_, nullptr)), "hipFree");
      room_ = 2 * count_;
      list_ = reinterpret_cast<Zone*>(allocated(room_ * static_cast<int64_t>(sizeof(Zone))));
    }
    if (!dead_) {
      dead_ = reinterpret_cast<uint32_t*>(allocated(4));
      require(hipMemset(dead_, 0, 4), "hipMemset");
    }
    if (count_)
      require(hipMemcpy(list_, zones.data(), zones.size() * sizeof(Zone), hipMemcpyHostToDevice),
              "hipMemcpy");
    stale_ = false;
  }
  // The first stray write; all zones are whole again.
  std::optional<StrayWrite> mended() {
    std::optional<StrayWrite> found;
    for (const DeviceBuffer* b : buffers_)
      for (const Zone& zone : zones_of(*b)) {
        std::vector<uint8_t> now(static_cast<size_t>(zone.bytes));
        require(hipMemcpy(now.data(), zone.begin, now.size(), hipMemcpyDeviceToHost), "hipMemcpy");
        const auto differs = [](uint8_t byte) { return byte != kZoneByte; };
        const bool before = zone.begin < b->data_;
        const int64_t at = before ? std::find_if(now.rbegin(), now.rend(), differs).base() - now.begin() - 1
                                  : std::find_if(now.begin(), now.end(), differs) - now.begin();
        if (at < 0 || at == zone.bytes) continue;
        if (!found) found = {b->name_, zone.begin + at - b->data_, b->size_, now[static_cast<size_t>(at)]};
        fill(zone);
      }
    return found;
  }

  std::mutex mutex_;
  std::vector<DeviceBuffer*> buffers_;
  std::optional<StrayWrite> kept_;
  bool stale_ = true; // the list on the device
  Zone* list_ = nullptr;
  uint32_t* dead_ = nullptr;
  int count_ = 0, room_ = 0;
};

DeviceBuffer::DeviceBuffer(const char* name, Bounds bounds) : name_(name), bounds_(bounds) {
  if (bounds_ == Bounds::zones) Zones::of_process().add(this);
}

DeviceBuffer::~DeviceBuffer() {
  if (bounds_ == Bounds::zones) Zones::of_process().remove(this);
  if (memory_) (void)hipFree(memory_);
}

void DeviceBuffer::release() {
  size_ = -1, capacity_ = 0, data_ = nullptr;
  if (memory_) require(hipFree(std::exchange(memory_, nullptr)), "hipFree");
}

bool DeviceBuffer::resize(int64_t bytes) {
  if (bytes == size_) return false;
  const bool zones = bounds_ == Bounds::zones;
  const bool fits = zones && memory_ && bytes <= capacity_ && capacity_ <= kKept_bytes;
  if (!fits) {
    release();
    const int64_t zone = zones ? kZone_bytes : 0;
    const bool kept = zones && bytes <= kKept_bytes;
    const int64_t capacity =
        kept ? std::max<int64_t>(4096, static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(bytes))))
             : bytes;
    memory_ = allocated(zone + capacity + zone);
    data_ = memory_ + zone, capacity_ = capacity;
  }
  size_ = bytes;
  if (zones) Zones::of_process().write(*this);
  return true;
}

void DeviceBuffer::upload(int64_t offset_bytes, const void* from, int64_t bytes) {
  if (bytes)
    require(hipMemcpy(data_ + offset_bytes, from, static_cast<size_t>(bytes), hipMemcpyHostToDevice),
            "hipMemcpy");
}
void DeviceBuffer::download(int64_t offset_bytes, void* to, int64_t bytes) const {
  if (bytes)
    require(hipMemcpy(to, data_ + offset_bytes, static_cast<size_t>(bytes), hipMemcpyDeviceToHost),
            "hipMemcpy");
}

void look_for_stray_writes() { Zones::of_process().look(); }
std::optional<StrayWrite> take_stray_write() { return Zones::of_process().take(); }
void release_large_buffers() { Zones::of_process().release_large(); }

} // namespace mqalab
