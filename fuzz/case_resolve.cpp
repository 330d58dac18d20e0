// From a case to the problem: dense strides, the table programs, the automatic pool size.  Every sequence
// owns as many consecutive *logical* blocks as it needs; a table program maps those to physical ids.
#include "fuzz/case.hpp"
#include "fuzz/splitmix.hpp"

#include <algorithm>
#include <numeric>
#include <unordered_set>

namespace mqalab {
namespace {

constexpr int64_t kSignBit_bytes = int64_t{1} << 31; // where a signed 32-bit byte offset breaks

int64_t or_dense(int64_t given, int64_t dense) { return given ? given : dense; }

Problem with_strides(const Case& c) {
  const Shape& s = c.shape;
  Problem p;
  p.batch = s.batch, p.next_n = s.next_n, p.heads = s.heads, p.head_dim = s.head_dim,
  p.block_size = s.block_size;
  p.layout = s.layout, p.fp8 = s.fp8, p.tail = s.tail, p.max_model_len = s.max_model_len;
  p.lens_per_row = s.lens_per_row, p.context_lens = s.context_lens;
  p.q_stride_head = or_dense(c.strides.q[2], s.head_dim);
  p.q_stride_next = or_dense(c.strides.q[1], s.heads * p.q_stride_head);
  p.q_stride_batch = or_dense(c.strides.q[0], s.next_n * p.q_stride_next);
  p.weights_stride = or_dense(c.strides.weights, s.heads);
  p.block_table_stride = or_dense(c.strides.block_table, (s.max_model_len + s.block_size - 1) / s.block_size);
  p.logits_stride = or_dense(c.strides.logits, s.max_model_len);
  p.kv_block_stride_bytes = or_dense(c.strides.kv_block, int64_t{s.block_size} * (s.head_dim + 4));
  return p;
}

// Logical blocks of each sequence: first[b], and their number as last entry.
std::vector<int64_t> first_logical_block(const Problem& p) {
  std::vector<int64_t> first(static_cast<size_t>(p.batch) + 1, 0);
  for (int32_t b = 0; b < p.batch; ++b) first[b + 1] = first[b] + p.needed_blocks(b);
  return first;
}

int64_t automatic_blocks(const Case& c, const Problem& p) {
  const std::vector<int64_t> first = first_logical_block(p);
  const int64_t needed = std::max<int64_t>(first.back(), 1), period = c.block_table.period;
  const int64_t spare = c.block_table.padding == TablePadding::poisoned ? 1 : 0;
  switch (c.block_table.mode) {
  case TableMode::one_block: return 1 + spare;
  case TableMode::alias: {
    int64_t longest = 1;
    for (int32_t b = 0; b < p.batch; ++b) longest = std::max(longest, first[b + 1] - first[b]);
    return std::min(period, longest) + spare;
  }
  case TableMode::strided: return (needed - 1) * period + 1 + spare;
  case TableMode::high: { // the first id in use starts at the `period`-th multiple of 2^31 bytes, or just
                          // after
    const int64_t below = (period * kSignBit_bytes + p.kv_block_stride_bytes - 1) / p.kv_block_stride_bytes;
    return below + needed;
  }
  default: return needed + spare;
  }
}

// Physical id of logical block `logical`, column `column` of its sequence.
struct TableProgram {
  const BlockTable& spec;
  int64_t needed, num_blocks;
  std::vector<int32_t> shuffled;

  TableProgram(const BlockTable& table, int64_t needed_blocks, int64_t pool)
      : spec(table), needed(needed_blocks), num_blocks(pool) {
    if (spec.mode != TableMode::shuffled) return;
    shuffled.resize(static_cast<size_t>(needed));
    std::iota(shuffled.begin(), shuffled.end(), 0);
    for (int64_t i = needed - 1; i > 0; --i)
      std::swap(shuffled[i],
                shuffled[splitmix(spec.seed, static_cast<uint64_t>(i)) % static_cast<uint64_t>(i + 1)]);
  }
  int64_t id(int64_t logical, int64_t column) const {
    switch (spec.mode) {
    case TableMode::identity: break;
    case TableMode::reversed: return needed - 1 - logical;
    case TableMode::shuffled: return shuffled[static_cast<size_t>(logical)];
    case TableMode::one_block: return 0;
    case TableMode::alias: return column % spec.period;
    case TableMode::strided: return logical * spec.period;
    case TableMode::high: return num_blocks - needed + logical;
    }
    return logical;
  }
};

void fill_needed(const Case& c, Problem& p) {
  const std::vector<int64_t> first = first_logical_block(p);
  const TableProgram program(c.block_table, first.back(), p.num_blocks);
  for (int32_t b = 0; b < p.batch; ++b)
    for (int64_t column = 0; column < first[b + 1] - first[b]; ++column)
      p.block_table[b * p.block_table_stride + column] =
          static_cast<int32_t>(std::min<int64_t>(program.id(first[b] + column, column), INT32_MAX));
}

void apply_overrides(const Case& c, Problem& p) {
  for (const TableOverride& o : c.block_table.set)
    p.block_table[o.row * p.block_table_stride + o.column] = o.id;
}

// A block that no needed entry names, next to one that is named so that the generator fills it with poison;
// or -1.
int32_t unneeded_block(const Problem& p) {
  std::unordered_set<int32_t> needed;
  for (int32_t b = 0; b < p.batch; ++b)
    for (int64_t column = 0, n = p.needed_blocks(b); column < n; ++column)
      needed.insert(p.block_table[b * p.block_table_stride + column]);
  const auto spare = [&](int64_t id) {
    return id >= 0 && id < p.num_blocks && !needed.count(static_cast<int32_t>(id));
  };
  if (needed.empty()) return 0;
  const int32_t top = *std::max_element(needed.begin(), needed.end());
  if (spare(int64_t{top} + 1)) return top + 1;
  for (int32_t id : needed) {
    if (spare(int64_t{id} - 1)) return id - 1;
    if (spare(int64_t{id} + 1)) return id + 1;
  }
  return -1;
}

} // namespace

Problem resolve_shape(const Case& c) {
  Problem p = with_strides(c);
  p.num_blocks = c.shape.num_blocks ? c.shape.num_blocks : automatic_blocks(c, p);
  return p;
}

void fill_table_padding(Problem& p, TablePadding padding) {
  const int32_t id = padding == TablePadding::minus_one ? -1
                     : padding == TablePadding::zero    ? 0
                                                        : unneeded_block(p);
  for (int32_t b = 0; b < p.batch; ++b) {
    const auto row = p.block_table.begin() + b * p.block_table_stride;
    std::fill(row + p.needed_blocks(b), row + p.block_table_stride, id);
  }
}

Problem resolve(const Case& c) {
  Problem p = resolve_shape(c);
  p.block_table.assign(static_cast<size_t>(p.batch * p.block_table_stride), -1);
  fill_needed(c, p);
  apply_overrides(c, p);
  fill_table_padding(p, c.block_table.padding);
  apply_overrides(c, p); // also those that name padding
  return p;
}

Case spelled_out(const Case& c, const Problem& p, const mqa_config& config) {
  Case full = c;
  full.shape.num_blocks = p.num_blocks;
  full.strides = {{p.q_stride_batch, p.q_stride_next, p.q_stride_head},
                  p.weights_stride,
                  p.block_table_stride,
                  p.logits_stride,
                  p.kv_block_stride_bytes};
  full.config = config;
  return full;
}

} // namespace mqalab
