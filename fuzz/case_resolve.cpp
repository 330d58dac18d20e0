// From a case to the problem: dense strides, the table programs, the automatic pool size.  Every sequence
// owns as many consecutive *logical* blocks as it needs; a table program maps those to physical ids.  Ragged
// keys are the same with blocks of one token and rows of the table end to end.
#include "fuzz/case.hpp"
#include "fuzz/case_rules.hpp"
#include "fuzz/fields.hpp"
#include "fuzz/splitmix.hpp"

#include <algorithm>
#include <numeric>
#include <unordered_set>

namespace mqalab {
namespace {

constexpr int64_t kMostKeys = 1 << 24;               // of a prefill
constexpr int64_t kSignBit_bytes = int64_t{1} << 31; // where a signed 32-bit byte offset breaks

int64_t or_dense(int64_t given, int64_t dense) { return given ? given : dense; }

void query_strides(const Case& c, Problem& p) {
  p.q_stride_head = or_dense(c.strides.q[2], p.head_dim);
  p.q_stride_next = or_dense(c.strides.q[1], p.heads * p.q_stride_head);
  p.q_stride_batch = or_dense(c.strides.q[0], p.next_n * p.q_stride_next);
  p.weights_stride = or_dense(c.strides.weights, p.heads);
}

// A prefill's keys lie side by side without scales; a flat list of slots has no rows.
void key_strides(const Case& c, Problem& p) {
  const bool prefill = p.op == Operation::prefill_logits;
  const int64_t block_bytes = prefill ? p.head_dim : int64_t{p.block_size} * (p.head_dim + 4);
  if (has_meaning(p.op, "strides.kv_block"))
    p.kv_block_stride_bytes = or_dense(c.strides.kv_block, block_bytes);
  if (has_meaning(p.op, "block_table.mode") && !is_ragged(p.op))
    p.block_table_stride = or_dense(c.strides.block_table, table_width(c.shape));
  if (has_meaning(p.op, "strides.keys")) p.keys_stride = or_dense(c.strides.keys, p.head_dim);
  if (has_meaning(p.op, "strides.key_scales")) p.key_scales_stride = or_dense(c.strides.key_scales, 1);
}

void output_strides(const Case& c, Problem& p) {
  if (has_meaning(p.op, "strides.logits")) p.logits_stride = or_dense(c.strides.logits, p.max_model_len);
  if (has_meaning(p.op, "strides.logits_head"))
    p.logits_stride_head = or_dense(c.strides.logits_head, p.rows() * p.logits_stride);
  if (has_meaning(p.op, "strides.indices")) p.indices_stride = or_dense(c.strides.indices, p.k);
}

Problem with_strides(const Case& c) {
  const Shape& s = c.shape;
  Problem p;
  p.op = c.op;
  p.batch = s.batch, p.next_n = s.next_n, p.heads = s.heads, p.head_dim = s.head_dim,
  p.block_size = s.block_size;
  p.layout = s.layout, p.fp8 = s.fp8, p.tail = s.tail, p.max_model_len = s.max_model_len;
  p.lens_per_row = s.lens_per_row, p.context_lens = s.context_lens;
  p.row_starts = s.starts, p.compressed = s.compressed;
  if (p.op == Operation::prefill_logits && s.starts.empty())
    p.row_starts.assign(static_cast<size_t>(p.rows()), 0);
  p.k = c.selection.k, p.stable = c.selection.stable;
  p.key_type = c.writer.key_type, p.scale_format = c.writer.scale_format, p.skip_every = c.writer.skip_every;
  query_strides(c, p);
  key_strides(c, p);
  output_strides(c, p);
  return p;
}

// As many keys as the rows can see: an end past them is an end past N.
int64_t automatic_keys(const Problem& p) {
  int64_t keys = 1;
  for (int64_t row = 0; row < p.rows(); ++row) {
    const int64_t first = std::max(p.row_starts[row], 0);
    const int64_t last = std::min<int64_t>(p.context_lens[row], (p.compressed ? first : 0) + p.max_model_len);
    if (first < last) keys = std::max(keys, last);
  }
  return std::min(keys, kMostKeys);
}

// Logical blocks of each sequence: first[b], and their number as last entry.
std::vector<int64_t> first_logical_block(const Problem& p) {
  std::vector<int64_t> first(static_cast<size_t>(p.batch) + 1, 0);
  for (int32_t b = 0; b < p.batch; ++b) first[b + 1] = first[b] + p.needed_blocks(b);
  return first;
}

int64_t automatic_blocks(const Case& c, const Problem& p) {
  if (p.op == Operation::prefill_logits) return automatic_keys(p);
  if (!has_meaning(p.op, "num_blocks")) return 0;
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
  const std::vector<int64_t> first = first_logical_block(p), starts = table_starts(p);
  const TableProgram program(c.block_table, first.back(), p.num_blocks);
  for (int32_t b = 0; b < p.batch; ++b)
    for (int64_t column = 0; column < first[b + 1] - first[b]; ++column)
      p.block_table[starts[b] + column] =
          static_cast<int32_t>(std::min<int64_t>(program.id(first[b] + column, column), INT32_MAX));
}

void apply_overrides(const Case& c, Problem& p) {
  const std::vector<int64_t> starts = table_starts(p);
  for (const TableOverride& o : c.block_table.set) p.block_table[starts[o.row] + o.column] = o.id;
}

// A block that no needed entry names, next to one that is named so that the generator fills it with poison;
// or -1.
int32_t unneeded_block(const Problem& p) {
  std::unordered_set<int32_t> needed;
  const std::vector<int64_t> starts = table_starts(p);
  for (int32_t b = 0; b < p.batch; ++b) {
    const auto row = p.block_table.begin() + starts[b];
    needed.insert(row, row + p.needed_blocks(b));
  }
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
  if (p.block_table.empty()) return;
  const int32_t id = padding == TablePadding::minus_one ? -1
                     : padding == TablePadding::zero    ? 0
                                                        : unneeded_block(p);
  const std::vector<int64_t> starts = table_starts(p);
  for (int32_t b = 0; b < p.batch; ++b)
    std::fill(p.block_table.begin() + starts[b] + p.needed_blocks(b), p.block_table.begin() + starts[b + 1],
              id);
}

Problem resolve(const Case& c) {
  Problem p = resolve_shape(c);
  if (!has_meaning(c.op, "block_table.mode")) return p;
  p.block_table.assign(static_cast<size_t>(table_starts(p).back()), -1);
  fill_needed(c, p);
  apply_overrides(c, p);
  fill_table_padding(p, c.block_table.padding);
  apply_overrides(c, p); // also those that name padding
  return p;
}

Case spelled_out(const Case& c, const Problem& p, const mqa_config& config) {
  Case full = c;
  full.shape.num_blocks = p.num_blocks;
  full.strides.q = {p.q_stride_batch, p.q_stride_next, p.q_stride_head};
  full.strides.weights = p.weights_stride, full.strides.block_table = p.block_table_stride;
  full.strides.kv_block = p.kv_block_stride_bytes;
  full.strides.logits = p.logits_stride, full.strides.logits_head = p.logits_stride_head;
  full.strides.keys = p.keys_stride, full.strides.key_scales = p.key_scales_stride;
  full.strides.indices = p.indices_stride;
  full.config = config;
  drop_meaningless(full);
  return full;
}

} // namespace mqalab
