// The tensors of one case on the device.  Inputs: exact allocations, only the filled ranges are copied.
// Outputs lie between two guard zones.
#pragma once
#include "fuzz/device.hpp"
#include "fuzz/input_buffer.hpp"
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

class DeviceInputs {
public:
  void upload(const Problem&, const Tensors&);
  // Only what table padding changes.
  void upload_table(const Problem&);
  // Of every operation whose keys are named by a table or a list.
  mqa_paged_logits_args args(const Problem&, float* logits) const;
  mqa_prefill_logits_args prefill_args(const Problem&, float* logits) const;
  // The input that a launch wrote into, as the problem's operation calls it.
  std::optional<ChangedInput> changed(const Problem&) const;
  // The writer was to fill the cache: what it left is what later launches must leave.
  void accept_cache() { kv_cache_.accept(); }

private:
  InputBuffer q_{"q"}, kv_cache_{"the keys"}, weights_{"weights"}, context_lens_{"context lengths"},
      block_table_{"block table"};
  InputBuffer slot_prefix_{"slot prefix"};                              // ragged
  InputBuffer row_starts_{"row starts"}, key_scales_{"the key scales"}; // prefill
};

// An output on the device, 32-bit words between two guard zones.  Watched words are prefilled with sentinels
// (sentinel.hpp) and read back, never the whole of a huge buffer.  Guard words are NaNs, another one in every
// place and, as the salt is, for every launch: neither a copied one nor an equal store goes unseen.
class GuardedWords {
public:
  static constexpr int64_t kGuard_bytes = 64 << 10;
  // The output begins `lead_words` words into the buffer: those are guard words, too.
  void resize(int64_t words, int64_t lead_words = 0);
  uint8_t* data() const { return buffer_.data() + kGuard_bytes; }
  float* floats() const { return reinterpret_cast<float*>(data()); }
  int64_t words() const { return words_; }
  // Each of these also writes the guards.
  void prefill(std::span<const Window>, uint64_t salt);
  void prefill_all(uint32_t word);
  // For words that were prefilled on the device.
  void write_guards(uint64_t salt);
  // Cells in the order of the windows.
  void read(std::span<const Window>, std::vector<uint32_t>& cells) const;
  void read_all(std::vector<uint32_t>& out) const;
  // The guard word nearest to the output that was written since: `distance_words` from the first word when
  // before it (1: the one next to it), from the end when behind (0: the one next to it).  Precondition: the
  // guards were written after the last resize().
  struct DeadGuard {
    bool before;
    int64_t distance_words;
    uint32_t expected, got;
  };
  std::optional<DeadGuard> dead_guard() const;

private:
  // Words of the buffer, counted from data(), and what they hold.
  struct Zone {
    int64_t begin, end;
    std::vector<uint32_t> guards;
  };
  Zone zone_before() const;
  Zone zone_behind() const;

  DeviceBuffer buffer_{"an output"};
  int64_t words_ = 0, lead_words_ = 0;
  uint64_t guard_salt_ = 0;
  std::vector<uint32_t> staging_;
};

} // namespace mqalab
