// What a check costs, and how a case is made cheap enough.
#include "fuzz/case_rules.hpp"
#include "fuzz/fields.hpp"
#include "fuzz/generator_draws.hpp"
#include "fuzz/repair.hpp"

#include <algorithm>

namespace mqalab {
namespace {

constexpr int64_t kDensePool_bytes = 1 << 24; // larger pools are filled where needed only
constexpr int64_t kComputeUnits = 304;
constexpr int64_t kAutomaticBlocks = 2 * kComputeUnits; // what automatic splits fill
constexpr int64_t kGeneralDot = 30;                     // of the slow path, in dots of the matrix unit
constexpr int64_t kLeastContext = 64;                   // not worth shrinking while something else is large
constexpr int64_t kLongWork = 20 * kUsualWork;          // of a context beyond what is usual
constexpr int32_t kCrowd = 128;                         // sequences
constexpr int32_t kExtreme = 1 << 30;                   // a length or start beyond it costs nothing and stays

// Small pools are filled whole, needed or not; large ones are sparse.
int64_t pool_work(const Case& c) {
  const Problem p = resolve_shape(c);
  const double bytes = static_cast<double>(p.num_blocks) * static_cast<double>(p.kv_block_stride_bytes);
  return bytes <= kDensePool_bytes ? 8 * static_cast<int64_t>(bytes) : 0;
}

// Every block of the grid starts four waves and stages the queries of its sequence, whether it owns tokens or
// not.  A prefill's "sequence" is a tile of 16 rows.
int64_t launch_work(const Case& c) {
  const Shape& s = c.shape;
  const bool prefill = c.op == Operation::prefill_logits;
  const int64_t sequences = prefill ? (rows(c) + 15) / 16 : s.batch, staged = prefill ? 16 : s.next_n;
  const int64_t chunks = (s.max_model_len + chunk_tokens(c) - 1) / chunk_tokens(c);
  const int64_t query = staged * s.heads * s.head_dim;
  if (c.config.variant == MQA_VARIANT_SCHEDULED) { // workers go from sequence to sequence
    const int64_t waves = std::max(c.config.wave_per_eu, 2);
    return std::min(sequences * chunks, kComputeUnits * waves) * 3000 + sequences * query;
  }
  const int64_t automatic = std::min(chunks, kAutomaticBlocks / std::max<int64_t>(sequences, 1) + 1);
  const int64_t splits = c.config.split_kv > 0 ? c.config.split_kv : automatic;
  return sequences * splits * (4000 + query);
}

int64_t logits_work(const Case& c) {
  const Shape& s = c.shape;
  const bool planes = has_meaning(c.op, "strides.logits_head");
  const int64_t dots = visible_tokens(c) * s.heads * s.head_dim * (runs_general(c) ? kGeneralDot : 1);
  const int64_t query = 8 * rows(c) * s.heads * s.head_dim;
  const int64_t cells = 16 * rows(c) * s.max_model_len * (planes ? s.heads : 1);
  return dots + query + cells + launch_work(c);
}
int64_t selection_work(const Case& c) {
  return rows(c) * (100 * c.shape.max_model_len + 16 * c.selection.k + 20000);
}
int64_t keys_work(const Case& c) { return 32 * visible_tokens(c) * c.shape.head_dim; }
int64_t table_work(const Case& c) { return 16 * c.shape.batch * table_width(c.shape); }

// ---- shrinking ----
void scale_down(int32_t& value) {
  if (value > kLeastContext && value < kExtreme) value -= value / 3;
}
// Starts, ends, keys and columns together, so that ranges keep their places in proportion.
void shrink_prefill(Shape& s) {
  for (int32_t& end : s.context_lens) scale_down(end);
  for (int32_t& start : s.starts) scale_down(start);
  s.max_model_len -= s.max_model_len / 3;
  s.num_blocks -= s.num_blocks / 3;
}
void shrink_contexts(Shape& s, int64_t longest) {
  const int64_t shorter = longest - (longest + 2) / 3;
  for (int32_t& length : s.context_lens) length = static_cast<int32_t>(std::min<int64_t>(length, shorter));
  s.max_model_len = std::min(s.max_model_len, std::max<int64_t>(2 * shorter, 1));
}
void halve_heads(int32_t& heads) { heads = heads > 16 ? heads / 2 / 8 * 8 : std::max(heads / 2, 1); }

void shrink_dearest(Case& c, int64_t limit) {
  Shape& s = c.shape;
  const bool prefill = c.op == Operation::prefill_logits;
  const int64_t context = std::clamp<int64_t>(longest_context(c), 1, s.max_model_len);
  if (c.config.split_kv > 1 && launch_work(c) > limit / 2)
    c.config.split_kv /= 2;
  else if (s.max_model_len > 4 * context)
    s.max_model_len /= 2;
  else if (!prefill && s.num_blocks > 1 && pool_work(c) > limit / 2)
    s.num_blocks = 0;
  else if (c.strides.kv_block != 0 && pool_work(c) > limit / 2)
    c.strides.kv_block = 0;
  else if (prefill && s.next_n > 16)
    s.next_n -= s.next_n / 3;
  else if (prefill && context > kLeastContext)
    shrink_prefill(s);
  else if (context > kLeastContext || (s.batch <= 1 && context > 1 && !prefill))
    shrink_contexts(s, context);
  else if (s.batch > 1)
    s.batch /= 2;
  else if (s.next_n > 1)
    s.next_n /= 2;
  else
    halve_heads(s.heads);
}

} // namespace

int64_t work(const Case& c) {
  if (c.op == Operation::top_k) return selection_work(c);
  if (c.op == Operation::cache_write || c.op == Operation::cache_gather)
    return keys_work(c) + table_work(c) + pool_work(c);
  const int64_t extra = c.op == Operation::indexer ? selection_work(c) + keys_work(c) : 0;
  return logits_work(c) + table_work(c) + pool_work(c) + extra;
}

int64_t usual_work(const Case& c) {
  if (std::min(longest_context(c), c.shape.max_model_len) > kMostContext) return kLongWork;
  if (c.shape.batch < kCrowd) return kUsualWork;
  return c.config.variant == MQA_VARIANT_SCHEDULED ? 12 * kUsualWork : 3 * kUsualWork;
}

void bound_work(Case& c, int64_t limit) {
  for (int step = 0; step < 128 && work(c) > limit; ++step) {
    shrink_dearest(c, limit);
    fit_lengths(c);
  }
  repair(c);
}

void bound_work(Case& c) {
  for (int crowds = 0; crowds < 4 && work(c) > usual_work(c); ++crowds) bound_work(c, usual_work(c));
}

} // namespace mqalab
