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

// Entries that no sequence owns lie before a flat list of slots: the first prefix is above 0.
constexpr int32_t kSlotsBefore = 3;

std::vector<int32_t> table_on_device(const Problem& p) {
  std::vector<int32_t> table(is_ragged(p.op) ? kSlotsBefore : 0, -1);
  table.insert(table.end(), p.block_table.begin(), p.block_table.end());
  return table;
}

std::vector<int32_t> slot_prefix(const Problem& p) {
  std::vector<int32_t> prefix;
  for (const int64_t start : table_starts(p)) prefix.push_back(kSlotsBefore + static_cast<int32_t>(start));
  return prefix;
}

bool holds(const DeviceBuffer& device, const std::vector<int32_t>& host) {
  const auto bytes = static_cast<int64_t>(4 * host.size());
  if (bytes > kCompared_bytes) return true; // not looked at
  std::vector<int32_t> now(host.size());
  device.download(0, now.data(), bytes);
  return now == host;
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
  upload_filled(key_scales_, t.key_scales);
  upload_all(context_lens_, p.context_lens);
  upload_all(row_starts_, p.row_starts);
  if (is_ragged(p.op)) upload_all(slot_prefix_, slot_prefix(p));
  upload_table(p);
}

void DeviceInputs::upload_table(const Problem& p) { upload_all(block_table_, table_on_device(p)); }

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
  if (is_ragged(p.op)) // the lengths are in the prefixes
    a.slot_prefix = reinterpret_cast<const int32_t*>(slot_prefix_.data());
  else
    a.context_lens = reinterpret_cast<const int32_t*>(context_lens_.data());
  a.lens_per_row = p.lens_per_row, a.context_lens_stride = p.lens_per_row ? p.next_n : 1;
  a.block_table = reinterpret_cast<const int32_t*>(block_table_.data()),
  a.block_table_stride = p.block_table_stride;
  a.logits = logits, a.logits_stride = p.logits_stride;
  // 0 would say that heads are added up, even where there are no rows.
  a.logits_stride_head = is_per_head(p.op) ? std::max<int64_t>(1, p.logits_stride_head) : 0;
  return a;
}

mqa_prefill_logits_args DeviceInputs::prefill_args(const Problem& p, float* logits) const {
  mqa_prefill_logits_args a{};
  a.struct_size = sizeof a;
  a.rows = static_cast<int32_t>(p.rows()), a.heads = p.heads, a.head_dim = p.head_dim;
  a.fp8 = p.fp8, a.tail = p.tail, a.compressed = p.compressed;
  a.num_keys = p.num_blocks, a.columns = p.max_model_len;
  a.q = q_.data(), a.q_stride_row = p.q_stride_next, a.q_stride_head = p.q_stride_head;
  a.k = kv_cache_.data(), a.k_stride = p.kv_block_stride_bytes;
  a.k_scales = reinterpret_cast<const float*>(key_scales_.data()), a.k_scales_stride = p.key_scales_stride;
  a.weights = reinterpret_cast<const float*>(weights_.data()), a.weights_stride = p.weights_stride;
  a.starts = reinterpret_cast<const int32_t*>(row_starts_.data());
  a.ends = reinterpret_cast<const int32_t*>(context_lens_.data());
  a.logits = logits, a.logits_stride = p.logits_stride;
  return a;
}

std::optional<std::string> DeviceInputs::changed(const Problem& p, const Tensors& t) const {
  struct Input {
    const char* name;
    const DeviceBuffer& device;
    const SparseBuffer& host;
  };
  const bool prefill = p.op == Operation::prefill_logits;
  for (const Input& in :
       {Input{"q", q_, t.q}, Input{prefill ? "k" : "kv_cache", kv_cache_, t.kv_cache},
        Input{"weights", weights_, t.weights}, Input{"k_scales", key_scales_, t.key_scales}}) {
    if (const int64_t byte = first_change(in.device, in.host); byte >= 0)
      return fmt::format("{} byte {}", in.name, byte);
  }
  if (!holds(context_lens_, p.context_lens)) return prefill ? "ends" : "context_lens";
  if (!holds(row_starts_, p.row_starts)) return "starts";
  if (is_ragged(p.op) && !holds(slot_prefix_, slot_prefix(p))) return "slot_prefix";
  if (!holds(block_table_, table_on_device(p))) return "block_table";
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
