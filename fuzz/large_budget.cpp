#include "fuzz/large_budget.hpp"

#include "fuzz/repair.hpp"
#include "refimpl/cache_gather.hpp"
#include "refimpl/cache_write.hpp"

#include <algorithm>

namespace mqalab {
namespace {

constexpr int64_t kLarge_bytes = int64_t{1} << 30;
constexpr double kAdvance = 20.0 * kUsualWork; // before there is anything to take a share of

int64_t written_keys_bytes(const Problem& p) {
  return writer_tokens(p) * p.keys_stride * (p.key_type == MQA_KEY_FP32 ? 4 : 2);
}
Problem planes_of(const Problem& p) {
  Problem planes = p;
  planes.op = Operation::per_head_logits;
  return planes;
}

void bring_near(Case& c) {
  c.strides = {};
  c.shape.num_blocks = 0;
  c.block_table = {};
  repair(c);
  bound_work(c);
}

} // namespace

bool is_large(const Case& c) {
  const Problem p = resolve_shape(c);
  const bool gathers = c.op == Operation::cache_gather;
  const bool writes = c.op == Operation::cache_write || c.op == Operation::indexer;
  return std::max({query_bytes(p), kv_cache_bytes(p), weights_bytes(p), key_scales_bytes(p),
                   logits_bytes(c.op == Operation::head_sum ? planes_of(p) : p),
                   4 * p.rows() * p.indices_stride, writes ? written_keys_bytes(p) : 0,
                   gathers ? gathered_keys_bytes(p) : 0, gathers ? gathered_scales_bytes(p) : 0}) >=
         kLarge_bytes;
}

void LargeBudget::spend(Case& c) {
  if (!why_illegal(c).empty()) return;
  const auto cost = static_cast<double>(work(c));
  const bool large = is_large(c);
  const bool within = 100 * (large_ + cost) <= kMostLargePercent * (all_ + cost + kAdvance);
  if (large && within) large_ += cost;
  if (large && !within) bring_near(c);
  all_ += static_cast<double>(work(c));
}

} // namespace mqalab
