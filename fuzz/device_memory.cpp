#include "fuzz/device_memory.hpp"

#include "fuzz/sentinel.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace mqalab {
namespace {

constexpr int64_t kGuard_words = GuardedWords::kGuard_bytes / 4;

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

// Guard words of one salt by their place in a zone; one pattern is hashed, the salt changes it.
const std::vector<uint32_t>& guard_pattern() {
  static const std::vector<uint32_t> pattern = [] {
    std::vector<uint32_t> words(kGuard_words);
    for (int64_t i = 0; i < kGuard_words; ++i) words[static_cast<size_t>(i)] = sentinel(0x6775617264, i);
    return words;
  }();
  return pattern;
}
std::vector<uint32_t> guard_words(int64_t count, uint64_t salt, int64_t first) {
  const std::vector<uint32_t>& pattern = guard_pattern();
  // Sign and payload: it stays a quiet NaN.
  const uint32_t change = sentinel(salt, first) & 0x803fffffu;
  std::vector<uint32_t> words(static_cast<size_t>(count));
  for (int64_t done = 0; done < count; done += kGuard_words)
    for (int64_t i = 0; i < std::min(kGuard_words, count - done); ++i) words[done + i] = pattern[i] ^ change;
  return words;
}

} // namespace

void upload_filled(DeviceBuffer& to, const SparseBuffer& from) {
  to.resize(from.size());
  for (const ByteRange& r : from.filled()) to.upload(r.begin, from.data() + r.begin, r.end - r.begin);
}

void DeviceInputs::upload(const Problem& p, const Tensors& t) {
  q_.put(t.q);
  kv_cache_.put(t.kv_cache);
  weights_.put(t.weights);
  key_scales_.put(t.key_scales);
  context_lens_.put(p.context_lens);
  row_starts_.put(p.row_starts);
  if (is_ragged(p.op)) slot_prefix_.put(slot_prefix(p));
  upload_table(p);
}

void DeviceInputs::upload_table(const Problem& p) { block_table_.put(table_on_device(p)); }

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

std::optional<ChangedInput> DeviceInputs::changed(const Problem& p) const {
  if (p.op == Operation::prefill_logits)
    return first_changed({{"q", q_},
                          {"k", kv_cache_},
                          {"weights", weights_},
                          {"k_scales", key_scales_},
                          {"starts", row_starts_},
                          {"ends", context_lens_}});
  return first_changed(
      {{"q", q_},
       {"kv_cache", kv_cache_},
       {"weights", weights_},
       is_ragged(p.op) ? NamedInput{"slot_prefix", slot_prefix_} : NamedInput{"context_lens", context_lens_},
       {"block_table", block_table_}});
}

void GuardedWords::resize(int64_t words, int64_t lead_words) {
  words_ = words, lead_words_ = lead_words;
  buffer_.resize(4 * words + 2 * kGuard_bytes);
}

GuardedWords::Zone GuardedWords::zone_before() const {
  return {-kGuard_words, lead_words_, guard_words(kGuard_words + lead_words_, guard_salt_, -1)};
}
GuardedWords::Zone GuardedWords::zone_behind() const {
  return {words_, words_ + kGuard_words, guard_words(kGuard_words, guard_salt_, words_)};
}

void GuardedWords::write_guards(uint64_t salt) {
  guard_salt_ = salt;
  for (const Zone& z : {zone_before(), zone_behind()})
    buffer_.upload(kGuard_bytes + 4 * z.begin, z.guards.data(), 4 * (z.end - z.begin));
}

void GuardedWords::prefill(std::span<const Window> windows, uint64_t salt) {
  for (const Window& w : windows) {
    staging_.resize(static_cast<size_t>(w.size()));
    for (int64_t i = 0; i < w.size(); ++i) staging_[i] = sentinel(salt, w.begin + i);
    buffer_.upload(kGuard_bytes + 4 * w.begin, staging_.data(), 4 * w.size());
  }
  write_guards(salt);
}

void GuardedWords::prefill_all(uint32_t word) {
  staging_.assign(static_cast<size_t>(words_), word);
  buffer_.upload(kGuard_bytes, staging_.data(), 4 * words_);
  write_guards(word);
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

std::optional<GuardedWords::DeadGuard> GuardedWords::dead_guard() const {
  std::optional<DeadGuard> nearest;
  std::vector<uint32_t> now;
  for (const bool before : {true, false}) {
    const Zone z = before ? zone_before() : zone_behind();
    now.resize(z.guards.size());
    buffer_.download(kGuard_bytes + 4 * z.begin, now.data(), 4 * (z.end - z.begin));
    if (now == z.guards) continue;
    size_t at = 0;
    if (before)
      at = now.size() - 1 -
           static_cast<size_t>(std::mismatch(now.rbegin(), now.rend(), z.guards.rbegin()).first -
                               now.rbegin());
    else
      at = static_cast<size_t>(std::mismatch(now.begin(), now.end(), z.guards.begin()).first - now.begin());
    const auto place = static_cast<int64_t>(before ? now.size() - at : at);
    if (!nearest || place < nearest->distance_words) nearest = {before, place, z.guards[at], now[at]};
  }
  return nearest;
}

} // namespace mqalab
