#include "fuzz/repair.hpp"
#include "fuzz/case_rules.hpp"
#include "fuzz/fields.hpp"

#include <algorithm>

namespace mqalab {
namespace {

constexpr int64_t kFarthestStride = int64_t{1} << 34; // products of strides and counts stay far from 2^63
constexpr int64_t kMostColumns = 1 << 24, kMostKeys = 1 << 24;
constexpr int64_t kMostBatch = 4096,
                  kMostNextN = 64; // a prefill's rows are as many as other operations' sequences
constexpr int64_t kMostRaggedTokens = 1 << 20;

template <class T> void clamp(T& value, int64_t low, int64_t high) {
  value = static_cast<T>(std::clamp<int64_t>(static_cast<int64_t>(value), low, high));
}
template <class T> void raise_or_dense(T& stride, int64_t least) {
  if (stride != 0 && stride < least) stride = 0;
}
template <class Enum> void repair_enum(Enum& value, Enum last) {
  if (value > last) value = Enum{};
}

void repair_shape(Case& c) {
  Shape& s = c.shape;
  const bool prefill = c.op == Operation::prefill_logits;
  clamp(s.batch, 0, prefill ? 1 : kMostBatch);
  clamp(s.next_n, 1, prefill ? kMostBatch : kMostNextN);
  clamp(s.heads, 1, 1024);
  clamp(s.head_dim, 16, 256);
  s.head_dim = s.head_dim / 16 * 16;
  clamp(s.block_size, 1, 1024);
  if (s.block_size != 1) s.block_size = std::max(s.block_size / 16 * 16, 16);
  s.fp8 = s.fp8 == MQA_E4M3FN ? MQA_E4M3FN : MQA_E4M3FNUZ;
  s.tail =
      s.tail == MQA_TAIL_UNTOUCHED && c.op != Operation::head_sum ? MQA_TAIL_UNTOUCHED : MQA_TAIL_NEG_INF;
  if (!has_meaning(c.op, "tail")) s.tail = MQA_TAIL_UNTOUCHED;
  s.layout = s.layout == MQA_PLANAR || s.block_size == 1 ? MQA_PLANAR : MQA_SHUFFLED;
  clamp(s.max_model_len, 1, kMostColumns);
  clamp(s.num_blocks, 0, prefill ? kMostKeys : INT32_MAX);
  s.lens_per_row = s.lens_per_row || prefill || !s.starts.empty();
  clamp(c.selection.k, 1, 4096);
  clamp(c.writer.skip_every, 0, 1 << 20);
  repair_enum(c.writer.key_type, MQA_KEY_FP32);
  repair_enum(c.writer.scale_format, MQA_SCALE_POWER_OF_TWO);
}

// Lengths that say how many tokens there are, and not how far a row may see, are not negative and add up.
void repair_lengths(Case& c) {
  fit_lengths(c);
  if (!is_ragged(c.op) && c.op != Operation::cache_write && c.op != Operation::cache_gather) return;
  for (int32_t& length : c.shape.context_lens) length = std::max(length, 0);
  if (all_tokens(c) <= kMostRaggedTokens) return;
  for (int32_t& length : c.shape.context_lens)
    length = static_cast<int32_t>(std::min<int64_t>(length, c.shape.max_model_len));
}

void repair_strides(Case& c) {
  const Shape& s = c.shape;
  Strides& t = c.strides;
  for (const Field& f : fields())
    if (f.name.starts_with("strides.")) f.set(c, std::clamp<int64_t>(f.get(c), 0, kFarthestStride));
  raise_or_dense(t.q[2], s.head_dim);
  const int64_t row = s.heads * std::max<int64_t>(t.q[2], s.head_dim);
  raise_or_dense(t.q[1], row);
  raise_or_dense(t.q[0], s.next_n * std::max(t.q[1], row));
  raise_or_dense(t.weights, s.heads);
  raise_or_dense(t.block_table, table_width(s));
  raise_or_dense(t.logits, s.max_model_len);
  raise_or_dense(t.logits_head, (rows(c) - 1) * std::max(t.logits, s.max_model_len) + s.max_model_len);
  raise_or_dense(t.keys, s.head_dim);
  raise_or_dense(t.indices, c.selection.k);
  t.kv_block = t.kv_block / 4 * 4;
  raise_or_dense(t.kv_block,
                 c.op == Operation::prefill_logits ? s.head_dim : int64_t{s.block_size} * (s.head_dim + 4));
}

void repair_table_and_data(Case& c) {
  BlockTable& t = c.block_table;
  repair_enum(t.mode, TableMode::high);
  repair_enum(t.padding, TablePadding::poisoned);
  const bool writes = c.op == Operation::cache_write || c.op == Operation::indexer;
  if (writes && (t.mode == TableMode::one_block || t.mode == TableMode::alias)) t.mode = TableMode::shuffled;
  clamp(t.period, 1, 1 << 16);
  const auto columns = [&](int32_t row) {
    return is_ragged(c.op) ? c.shape.context_lens[static_cast<size_t>(row)] : table_width(c.shape);
  };
  std::erase_if(t.set, [&](const TableOverride& o) {
    return o.row < 0 || o.row >= c.shape.batch || o.column < 0 || o.column >= columns(o.row);
  });
  repair_enum(c.data.lane, Lane::special);
  repair_enum(c.data.pattern, Pattern::raw_bytes);
  if (c.data.pattern == Pattern::raw_bytes) c.data.lane = Lane::special;
}

// Which variants have a kernel for the case.
bool serves(int32_t variant, const Case& c) {
  if (variant == MQA_VARIANT_AUTO || variant == MQA_VARIANT_GENERAL) return true;
  if (!has_fast_head_dim(c)) return false;
  if ((variant == MQA_VARIANT_STAGED || variant == MQA_VARIANT_SCHEDULED) && !rows_fit(c)) return false;
  if (variant == MQA_VARIANT_STAGED) return true;
  if (variant == MQA_VARIANT_DIRECT) return c.op != Operation::prefill_logits;
  const bool paged = c.op == Operation::paged_logits || c.op == Operation::indexer;
  return paged || (variant == MQA_VARIANT_SCHEDULED && c.op == Operation::ragged_logits);
}

void repair_config(Case& c) {
  mqa_config& config = c.config;
  const bool built = std::ranges::find(kVariants, config.variant) != kVariants.end();
  if (!built || !serves(config.variant, c)) config.variant = MQA_VARIANT_AUTO;
  clamp(config.chunk_k, 0, 4096);
  config.chunk_k = config.chunk_k / 64 * 64;
  clamp(config.split_kv, 0, 1024);
  if (config.wave_per_eu != 1 && config.wave_per_eu != 2 && config.wave_per_eu != 4) config.wave_per_eu = 0;
  if (config.variant == MQA_VARIANT_SCHEDULED) clamp(config.split_kv, 0, 1); // it makes its own schedule
  if (config.variant != MQA_VARIANT_WGMMA) return;
  config.chunk_k = config.split_kv = 0;
  if (config.wave_per_eu == 1) config.wave_per_eu = 3;
}

// What is given up, mildest first, when a case is still illegal for a reason that the rules above do not
// know.
void give_up_a_group(Case& c, int step) {
  switch (step) {
  case 0: c.shape.num_blocks = 0; break;
  case 1: c.block_table = {}; break;
  case 2: c.strides = {}; break;
  case 3: c.data.overrides.clear(); break;
  case 4: c.shape.max_model_len = std::clamp<int64_t>(longest_context(c), 1, kMostColumns); break;
  default: c = smallest_case(c.op); break;
  }
}

} // namespace

Case smallest_case(Operation op) {
  Case c;
  c.op = op;
  c.shape.lens_per_row = op == Operation::prefill_logits;
  if (op == Operation::head_sum) c.shape.tail = MQA_TAIL_NEG_INF;
  return c;
}

bool rows_fit(const Case& c) {
#ifdef MQA_PLATFORM_NVIDIA
  constexpr int64_t kBytesPerDim = 2, kShared_bytes = 224 << 10;
#else
  constexpr int64_t kBytesPerDim = 1, kShared_bytes = 64 << 10;
#endif
  constexpr int64_t kStaged_bytes = 48 << 10, kSchedule_bytes = 2 << 10;
  const int64_t rows = c.op == Operation::prefill_logits ? 1 : c.shape.next_n,
                heads = (c.shape.heads + 15) / 16 * 16;
  const int64_t bytes = rows * heads * (kBytesPerDim * c.shape.head_dim + 4);
  if (c.config.variant != MQA_VARIANT_SCHEDULED) return bytes <= kStaged_bytes;
  const int64_t blocks = std::max(c.config.wave_per_eu, 1); // of one compute unit
  return bytes + kSchedule_bytes <= std::min(kShared_bytes / blocks, kStaged_bytes);
}

void fit_lengths(Case& c) {
  // A wild mutant may want 2^40.
  const auto count = [](int64_t wanted) {
    return static_cast<size_t>(std::clamp<int64_t>(wanted, 0, kMostBatch * kMostNextN));
  };
  auto& lens = c.shape.context_lens;
  lens.resize(count(lens_wanted(c)), lens.empty() ? 1 : lens.back());
  auto& starts = c.shape.starts;
  if (!starts.empty()) starts.resize(count(rows(c)), starts.back());
}

void repair(Case& c) {
  repair_enum(c.op, Operation::indexer);
  drop_meaningless(c);
  repair_shape(c);
  repair_lengths(c);
  repair_strides(c);
  repair_table_and_data(c);
  repair_config(c);
  drop_meaningless(c);
  for (int step = 0; step <= 5 && !why_illegal(c).empty(); ++step) {
    give_up_a_group(c, step);
    fit_lengths(c);
  }
}

} // namespace mqalab
