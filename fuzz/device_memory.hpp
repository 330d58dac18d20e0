// The tensors of one case on the device.  Inputs: exact allocations, only the filled ranges are copied.
// Logits: between two guard zones of canaries; watched cells are prefilled with sentinels and read back,
// never the whole of a huge buffer.
#pragma once
#include "fuzz/device.hpp"
#include "fuzz/watch.hpp"
#include "refimpl/generate.hpp"

#include <optional>
#include <vector>

namespace mqalab {

class DeviceInputs {
public:
  void upload(const Problem&, const Tensors&);
  // Only what table padding changes.
  void upload_table(const Problem&);
  mqa_paged_logits_args args(const Problem&, float* logits) const;
  // "kv_cache byte 17" when a launch wrote into an input; looks at tensors up to 4 MiB.
  std::optional<std::string> changed(const Problem&, const Tensors&) const;

private:
  DeviceBuffer q_, kv_cache_, weights_, context_lens_, block_table_;
};

class DeviceLogits {
public:
  static constexpr int64_t kGuard_bytes = 64 << 10;
  void resize(const Problem&);
  float* data() const { return reinterpret_cast<float*>(buffer_.data() + kGuard_bytes); }
  void prefill(const Watch&, uint64_t salt);
  void prefill_all(uint32_t word);
  void read(const Watch&, std::vector<uint32_t>& cells) const;
  void read_all(std::vector<float>& out) const;
  // The element nearest to the logits whose canary is gone: negative before them, from the end on behind
  // them.
  struct DeadCanary {
    int64_t element;
    uint32_t got;
  };
  std::optional<DeadCanary> dead_canary();

private:
  void write_guards();
  DeviceBuffer buffer_;
  int64_t bytes_ = 0;
  std::vector<uint32_t> staging_;
};

} // namespace mqalab
