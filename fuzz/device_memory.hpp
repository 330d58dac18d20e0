// The tensors of one case on the device.  Inputs: exact allocations, only the filled ranges are copied.
// Outputs lie between two guard zones.
#pragma once
#include "fuzz/device.hpp"
#include "fuzz/watch.hpp"
#include "refimpl/generate.hpp"

#include <optional>
#include <span>
#include <vector>

namespace mqalab {

// Exactly as long as the tensor, and only what is filled of it copied.
void upload_filled(DeviceBuffer&, const SparseBuffer&);
template <class T> void upload_all(DeviceBuffer& to, const std::vector<T>& from) {
  const auto bytes = static_cast<int64_t>(from.size() * sizeof(T));
  to.resize(bytes);
  to.upload(0, from.data(), bytes);
}
// Did a launch write into an input?  First byte that differs, or -1; tensors above 4 MiB are not looked at.
int64_t first_change(const DeviceBuffer&, const SparseBuffer&);

class DeviceInputs {
public:
  void upload(const Problem&, const Tensors&);
  // Only what table padding changes.
  void upload_table(const Problem&);
  // Of every operation whose keys are named by a table or a list.
  mqa_paged_logits_args args(const Problem&, float* logits) const;
  mqa_prefill_logits_args prefill_args(const Problem&, float* logits) const;
  // "kv_cache byte 17" when a launch wrote into an input; looks at tensors up to 4 MiB.
  std::optional<std::string> changed(const Problem&, const Tensors&) const;

private:
  DeviceBuffer q_{"q"}, kv_cache_{"the keys"}, weights_{"weights"}, context_lens_{"context lengths"},
      block_table_{"block table"};
  DeviceBuffer slot_prefix_{"slot prefix"};                              // ragged
  DeviceBuffer row_starts_{"row starts"}, key_scales_{"the key scales"}; // prefill
};

// An output on the device, 32-bit words between two guard zones of canaries.  Watched words are prefilled
// with sentinels (sentinel.hpp) and read back, never the whole of a huge buffer.
class GuardedWords {
public:
  static constexpr int64_t kGuard_bytes = 64 << 10;
  void resize(int64_t words);
  uint8_t* data() const { return buffer_.data() + kGuard_bytes; }
  float* floats() const { return reinterpret_cast<float*>(data()); }
  int64_t words() const { return words_; }
  void prefill(std::span<const Window>, uint64_t salt);
  void prefill_all(uint32_t word);
  // Cells in the order of the windows.
  void read(std::span<const Window>, std::vector<uint32_t>& cells) const;
  void read_all(std::vector<uint32_t>& out) const;
  // The word nearest to the output whose canary is gone: negative before it, from words() on behind it.
  struct DeadCanary {
    int64_t word;
    uint32_t got;
  };
  std::optional<DeadCanary> dead_canary();

private:
  void write_guards();
  DeviceBuffer buffer_{"an output"};
  int64_t words_ = 0;
  std::vector<uint32_t> staging_;
};

} // namespace mqalab
