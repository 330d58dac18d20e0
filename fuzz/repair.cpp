#include "fuzz/repair.hpp"
#include "fuzz/fields.hpp"

#include <algorithm>

namespace mqalab {
namespace {

constexpr int64_t kDensePool_bytes = 1 << 24;         // larger pools are filled where needed only
constexpr int64_t kFarthestStride = int64_t{1} << 34; // products of strides and counts stay far from 2^63
constexpr int64_t kMostColumns = 1 << 24;
constexpr int64_t kAutomaticBlocks =
    608; // what automatic splits fill: two blocks for each of 304 compute units
constexpr int64_t kMostBatch = 4096, kMostNextN = 64;

template <class T> void clamp(T& value, int64_t low, int64_t high) {
  value = static_cast<T>(std::clamp<int64_t>(static_cast<int64_t>(value), low, high));
}
template <class T> void raise_or_dense(T& stride, int64_t least) {
  if (stride != 0 && stride < least) stride = 0;
}

void repair_shape(Shape& s) {
  clamp(s.batch, 0, kMostBatch);
  clamp(s.next_n, 1, kMostNextN);
  clamp(s.heads, 8, 128);
  s.heads = s.heads / 8 * 8;
  s.head_dim = s.head_dim >= 128 ? 128 : s.head_dim >= 64 ? 64 : 32;
  clamp(s.block_size, 1, 1024);
  if (s.block_size != 1) s.block_size = std::max(s.block_size / 16 * 16, 16);
  s.fp8 = s.fp8 == MQA_E4M3FN ? MQA_E4M3FN : MQA_E4M3FNUZ;
  s.tail = s.tail == MQA_TAIL_UNTOUCHED ? MQA_TAIL_UNTOUCHED : MQA_TAIL_NEG_INF;
  s.layout = s.layout == MQA_PLANAR || s.block_size == 1 ? MQA_PLANAR : MQA_SHUFFLED;
  clamp(s.max_model_len, 1, kMostColumns);
  clamp(s.num_blocks, 0, INT32_MAX);
}

void repair_strides(Case& c) {
  const Shape& s = c.shape;
  Strides& strides = c.strides;
  for (const Field& f : fields())
    if (f.name.starts_with("strides.")) f.set(c, std::clamp<int64_t>(f.get(c), 0, kFarthestStride));
  raise_or_dense(strides.q[2], s.head_dim);
  raise_or_dense(strides.q[1], s.heads * std::max<int64_t>(strides.q[2], s.head_dim));
  raise_or_dense(strides.q[0],
                 s.next_n *
                     std::max<int64_t>(strides.q[1], s.heads * std::max<int64_t>(strides.q[2], s.head_dim)));
  raise_or_dense(strides.weights, s.heads);
  raise_or_dense(strides.block_table, (s.max_model_len + s.block_size - 1) / s.block_size);
  raise_or_dense(strides.logits, s.max_model_len);
  strides.kv_block = strides.kv_block / 4 * 4;
  raise_or_dense(strides.kv_block, int64_t{s.block_size} * (s.head_dim + 4));
}

template <class Enum> void repair_enum(Enum& value, Enum last) {
  if (value > last) value = Enum{};
}

void repair_table_and_data(Case& c) {
  repair_enum(c.block_table.mode, TableMode::high);
  repair_enum(c.block_table.padding, TablePadding::poisoned);
  clamp(c.block_table.period, 1, 1 << 16);
  const int64_t columns = (c.shape.max_model_len + c.shape.block_size - 1) / c.shape.block_size;
  std::erase_if(c.block_table.set, [&](const TableOverride& o) {
    return o.row < 0 || o.row >= c.shape.batch || o.column < 0 || o.column >= columns;
  });
  repair_enum(c.data.lane, Lane::special);
  repair_enum(c.data.pattern, Pattern::raw_bytes);
  if (c.data.pattern == Pattern::raw_bytes) c.data.lane = Lane::special;
}

void repair_config(mqa_config& config) {
  if (std::ranges::find(kVariants, config.variant) == kVariants.end()) config.variant = MQA_VARIANT_AUTO;
  clamp(config.chunk_k, 0, 4096);
  config.chunk_k = config.chunk_k / 64 * 64;
  clamp(config.split_kv, 0, 1024);
  if (config.wave_per_eu != 1 && config.wave_per_eu != 2 && config.wave_per_eu != 4) config.wave_per_eu = 0;
  if (config.variant != MQA_VARIANT_WGMMA) return;
  config.chunk_k = config.split_kv = 0; // it makes its own schedule
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
  case 4: c.shape.max_model_len = std::max<int64_t>(longest_context(c), 1); break;
  default: c = Case{}; break;
  }
}

int64_t visible_tokens(const Case& c) {
  int64_t tokens = 0;
  for (const int32_t length : c.shape.context_lens)
    tokens += std::clamp<int64_t>(length, 0, c.shape.max_model_len);
  return c.shape.lens_per_row ? tokens : tokens * c.shape.next_n;
}

// Small pools are filled whole, needed or not; large ones are sparse.
int64_t pool_work(const Case& c) {
  const Problem p = resolve_shape(c);
  const double bytes = static_cast<double>(p.num_blocks) * static_cast<double>(p.kv_block_stride_bytes);
  return bytes <= kDensePool_bytes ? 8 * static_cast<int64_t>(bytes) : 0;
}

// Every block of the grid starts four waves and stages the queries of its sequence, whether it owns tokens or
// not.
int64_t launch_work(const Case& c) {
  const Shape& s = c.shape;
  const int64_t chunks = (s.max_model_len + chunk_tokens(c) - 1) / chunk_tokens(c);
  const int64_t automatic = std::min(chunks, kAutomaticBlocks / std::max(s.batch, 1) + 1);
  const int64_t splits = c.config.split_kv > 0 ? c.config.split_kv : automatic;
  return s.batch * splits * (4000 + int64_t{s.next_n} * s.heads * s.head_dim);
}

} // namespace

int64_t work(const Case& c) {
  const Shape& s = c.shape;
  const int64_t columns = (s.max_model_len + s.block_size - 1) / s.block_size;
  const int64_t products = visible_tokens(c) * s.heads * s.head_dim;
  const int64_t query = 8 * rows(c) * s.heads * s.head_dim;
  const int64_t cells = 16 * rows(c) * s.max_model_len, entries = 16 * s.batch * columns;
  return products + query + cells + entries + launch_work(c) + pool_work(c);
}

void fit_lengths(Case& c) {
  auto& lens = c.shape.context_lens;
  const auto wanted = static_cast<size_t>(
      std::clamp<int64_t>(lens_wanted(c), 0, kMostBatch * kMostNextN)); // a wild mutant may want 2^40
  const int32_t last = lens.empty() ? 1 : lens.back();
  lens.resize(wanted, last);
}

void repair(Case& c) {
  repair_shape(c.shape);
  fit_lengths(c);
  repair_strides(c);
  repair_table_and_data(c);
  repair_config(c.config);
  for (int step = 0; step <= 5 && !why_illegal(c).empty(); ++step) {
    give_up_a_group(c, step);
    fit_lengths(c);
  }
}

void bound_work(Case& c, int64_t limit) {
  for (int step = 0; step < 128 && work(c) > limit; ++step) {
    Shape& s = c.shape;
    const int64_t context = std::max<int64_t>(longest_context(c), 1);
    if (c.config.split_kv > 1 && launch_work(c) > limit / 2)
      c.config.split_kv /= 2;
    else if (s.max_model_len > 4 * context)
      s.max_model_len /= 2;
    else if (s.num_blocks > 1 && pool_work(c) > limit / 2)
      s.num_blocks = 0;
    else if (c.strides.kv_block != 0 && pool_work(c) > limit / 2)
      c.strides.kv_block = 0;
    else if (context > 64 || (s.batch <= 1 && context > 1)) {
      for (int32_t& length : s.context_lens)
        length = static_cast<int32_t>(std::min<int64_t>(length, context - context / 3));
      s.max_model_len = std::min(s.max_model_len, std::max<int64_t>(2 * (context - context / 3), 1));
    } else if (s.batch > 1)
      s.batch /= 2;
    else if (s.next_n > 1)
      s.next_n /= 2;
    else
      s.heads = std::max(s.heads / 2 / 8 * 8, 8);
    fit_lengths(c);
  }
  repair(c);
}

} // namespace mqalab
