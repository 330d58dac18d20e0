#include "fuzz/device_memory.hpp"

#include "fuzz/sentinel.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace mqalab {
namespace {

constexpr uint32_t kCanary = 0x7fd5a3c6u; // a NaN, so that a guard read as a number shows
constexpr int64_t kCompared_bytes = 4 << 20;
constexpr int64_t kGuard_words = GuardedWords::kGuard_bytes / 4;

int64_t filled_bytes(const SparseBuffer& b) {
  int64_t total = 0;
  for (const ByteRange& r : b.filled()) total += r.end - r.begin;
  return total;
}

} // namespace

void upload_filled(DeviceBuffer& to, const SparseBuffer& from) {
  to.resize(from.size());
  for (const ByteRange& r : from.filled()) to.upload(r.begin, from.data() + r.begin, r.end - r.begin);
}

int64_t first_change(const DeviceBuffer& device, const SparseBuffer& host) {
  if (filled_bytes(host) > kCompared_bytes) return -1;
  std::vector<uint8_t> now;
  for (const ByteRange& r : host.filled()) {
    now.resize(static_cast<size_t>(r.end - r.begin));
    device.download(r.begin, now.data(), r.end - r.begin);
    const uint8_t* was = host.data() + r.begin;
    if (std::memcmp(now.data(), was, now.size()) == 0) continue;
    return r.begin + (std::mismatch(now.begin(), now.end(), was).first - now.begin());
  }
  return -1;
}

void DeviceInputs::upload(const Problem& p, const Tensors& t) {
  upload_filled(q_, t.q);
  upload_filled(kv_cache_, t.kv_cache);
  upload_filled(weights_, t.weights);
  upload_all(context_lens_, p.context_lens);
  upload_table(p);
}

void DeviceInputs::upload_table(const Problem& p) { upload_all(block_table_, p.block_table); }

mqa_paged_logits_args DeviceInputs::args(const Problem& p, float* logits) const {
  mqa_paged_logits_args a{};
  a.struct_size = sizeof a;
  a.batch = p.batch, a.next_n = p.next_n, a.heads = p.heads, a.head_dim = p.head_dim,
  a.block_size = p.block_size;
  a.layout = p.layout, a.fp8 = p.fp8, a.tail = p.tail;
  a.max_model_len = p.max_model_len, a.num_blocks = p.num_blocks;
  a.q = q_.data();
  a.q_stride_batch = p.q_stride_batch, a.q_stride_next = p.q_stride_next, a.q_stride_head = p.q_stride_head;
  a.kv_cache = kv_cache_.data(), a.kv_block_stride_bytes = p.kv_block_stride_bytes;
  a.weights = reinterpret_cast<const float*>(weights_.data()), a.weights_stride = p.weights_stride;
  a.context_lens = reinterpret_cast<const int32_t*>(context_lens_.data());
  a.lens_per_row = p.lens_per_row, a.context_lens_stride = p.lens_per_row ? p.next_n : 1;
  a.block_table = reinterpret_cast<const int32_t*>(block_table_.data()),
  a.block_table_stride = p.block_table_stride;
  a.logits = logits, a.logits_stride = p.logits_stride;
  return a;
}

std::optional<std::string> DeviceInputs::changed(const Problem& p, const Tensors& t) const {
  struct Input {
    const char* name;
    const DeviceBuffer& device;
    const SparseBuffer& host;
  };
  for (const Input& in : {Input{"q", q_, t.q}, Input{"kv_cache", kv_cache_, t.kv_cache},
                          Input{"weights", weights_, t.weights}}) {
    if (const int64_t byte = first_change(in.device, in.host); byte >= 0)
      return fmt::format("{} byte {}", in.name, byte);
  }
  std::vector<int32_t> now(p.context_lens.size());
  context_lens_.download(0, now.data(), static_cast<int64_t>(4 * now.size()));
  if (now != p.context_lens) return "context_lens";
  if (static_cast<int64_t>(4 * p.block_table.size()) > kCompared_bytes) return {};
  now.resize(p.block_table.size());
  block_table_.download(0, now.data(), static_cast<int64_t>(4 * now.size()));
  if (now != p.block_table) return "block_table";
  return {};
}

void GuardedWords::resize(int64_t words) {
  words_ = words;
  if (buffer_.resize(4 * words + 2 * kGuard_bytes)) write_guards();
}

void GuardedWords::write_guards() {
  const std::vector<uint32_t> canaries(kGuard_words, kCanary);
  buffer_.upload(0, canaries.data(), kGuard_bytes);
  buffer_.upload(kGuard_bytes + 4 * words_, canaries.data(), kGuard_bytes);
}

void GuardedWords::prefill(std::span<const Window> windows, uint64_t salt) {
  for (const Window& w : windows) {
    staging_.resize(static_cast<size_t>(w.size()));
    for (int64_t i = 0; i < w.size(); ++i) staging_[i] = sentinel(salt, w.begin + i);
    buffer_.upload(kGuard_bytes + 4 * w.begin, staging_.data(), 4 * w.size());
  }
}

void GuardedWords::prefill_all(uint32_t word) {
  staging_.assign(static_cast<size_t>(words_), word);
  buffer_.upload(kGuard_bytes, staging_.data(), 4 * words_);
}

void GuardedWords::read(std::span<const Window> windows, std::vector<uint32_t>& cells) const {
  const int64_t count = windows.empty() ? 0 : windows.back().first + windows.back().size();
  cells.resize(static_cast<size_t>(count));
  for (const Window& w : windows)
    buffer_.download(kGuard_bytes + 4 * w.begin, cells.data() + w.first, 4 * w.size());
}

void GuardedWords::read_all(std::vector<uint32_t>& out) const {
  out.resize(static_cast<size_t>(words_));
  buffer_.download(kGuard_bytes, out.data(), 4 * words_);
}

std::optional<GuardedWords::DeadCanary> GuardedWords::dead_canary() {
  std::optional<DeadCanary> dead;
  staging_.resize(kGuard_words);
  const auto differs = [](uint32_t word) { return word != kCanary; };
  buffer_.download(0, staging_.data(), kGuard_bytes);
  if (const auto it = std::find_if(staging_.rbegin(), staging_.rend(), differs); it != staging_.rend())
    dead = {-1 - (it - staging_.rbegin()), *it};
  buffer_.download(kGuard_bytes + 4 * words_, staging_.data(), kGuard_bytes);
  if (const auto it = std::find_if(staging_.begin(), staging_.end(), differs); it != staging_.end())
    dead = {words_ + (it - staging_.begin()), *it};
  if (dead) write_guards();
  return dead;
}

} // namespace mqalab
