// The problem's geometry, spelled out plainly: this file is what kernels are compared with, so it is written
// to be read, not to be fast.
#include "refimpl/problem.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace mqalab {

namespace {

int64_t ceil_div(int64_t value, int64_t by) { return (value + by - 1) / by; }

// Offset of the last byte that strided rows touch, plus one.
int64_t extent(int64_t outer, int64_t outer_stride, int64_t inner) {
  return outer > 0 ? (outer - 1) * outer_stride + inner : 0;
}

// Key of a prefill at which row `row` starts.
int64_t first_key(const Problem& p, int64_t row) { return std::max(0, p.row_starts[row]); }

// The union of the rows' ranges of keys.
std::vector<NeededBlock> needed_keys(const Problem& p) {
  std::vector<std::pair<int64_t, int64_t>> ranges;
  for (int64_t row = 0; row < p.rows(); ++row)
    ranges.emplace_back(p.position_of(row, p.first(row)), p.position_of(row, p.limit(row)));
  std::sort(ranges.begin(), ranges.end());
  std::vector<NeededBlock> needed;
  int64_t next = 0;
  for (const auto& [begin, end] : ranges)
    for (next = std::max(next, begin); next < end; ++next) needed.push_back({int32_t(next), 1});
  return needed;
}

} // namespace

int64_t Problem::first(int64_t row) const {
  if (row_starts.empty() || compressed) return 0;
  return std::clamp<int64_t>(row_starts[row % rows()], 0, max_model_len);
}

int64_t Problem::limit(int64_t output_row) const {
  const int64_t row = output_row % rows(), sequence = row / next_n, n = row % next_n;
  if (op == Operation::prefill_logits) {
    const int64_t last =
        std::min<int64_t>(num_blocks, context_lens[row]) - (compressed ? first_key(*this, row) : 0);
    return std::min(max_model_len, std::max(first(row), last));
  }
  const int64_t length =
      lens_per_row ? int64_t{context_lens[row]} : int64_t{context_lens[sequence]} - next_n + n + 1;
  return std::min(max_model_len, std::max<int64_t>(0, length));
}

int64_t Problem::position_of(int64_t row, int64_t column) const {
  return compressed ? first_key(*this, row % rows()) + column : column;
}

int64_t Problem::needed_tokens(int32_t sequence) const {
  int64_t longest = 0;
  for (int32_t n = 0; n < next_n; ++n) {
    const int64_t row = int64_t{sequence} * next_n + n;
    if (first(row) < limit(row)) longest = std::max(longest, position_of(row, limit(row)));
  }
  return longest;
}

int64_t Problem::needed_blocks(int32_t sequence) const {
  return ceil_div(needed_tokens(sequence), block_size);
}

int32_t Problem::block_of(int32_t sequence, int64_t position) const {
  if (op == Operation::prefill_logits) return int32_t(position);
  const int64_t start =
      is_ragged(op) ? std::accumulate(context_lens.begin(), context_lens.begin() + sequence, int64_t{0})
                    : sequence * block_table_stride;
  return block_table[start + position / block_size];
}

int32_t Problem::block_at(int64_t output_row, int64_t column) const {
  const int64_t row = output_row % rows();
  return block_of(int32_t(row / next_n), position_of(row, column));
}

int64_t Problem::output_offset(int64_t output_row) const {
  return output_row / rows() * logits_stride_head + output_row % rows() * logits_stride;
}

int64_t Problem::output_end(int64_t output_row) const {
  const bool ends_plane = is_per_head(op) && (output_row + 1) % rows() == 0 && output_row + 1 < output_rows();
  return ends_plane ? output_offset(output_row + 1) : output_offset(output_row) + logits_stride;
}

int64_t Problem::output_row_at(int64_t element) const {
  if (!is_per_head(op)) return element / logits_stride;
  const int64_t plane = logits_stride_head ? std::min<int64_t>(element / logits_stride_head, heads - 1) : 0;
  const int64_t row = (element - plane * logits_stride_head) / logits_stride;
  return plane * rows() + std::min(row, rows() - 1);
}

std::vector<int64_t> table_starts(const Problem& p) {
  std::vector<int64_t> starts{0};
  for (int32_t sequence = 0; sequence < p.batch; ++sequence)
    starts.push_back(starts.back() + (is_ragged(p.op) ? p.context_lens[sequence] : p.block_table_stride));
  return starts;
}

std::vector<NeededBlock> needed_pool(const Problem& p) {
  if (p.op == Operation::prefill_logits) return needed_keys(p);
  std::vector<NeededBlock> needed;
  const std::vector<int64_t> starts = table_starts(p);
  for (int32_t sequence = 0; sequence < p.batch; ++sequence) {
    const int64_t tokens = p.needed_tokens(sequence);
    for (int64_t first = 0; first < tokens; first += p.block_size) {
      const int32_t block = p.block_table[starts[sequence] + first / p.block_size];
      if (block < 0 || block >= p.num_blocks) continue;
      needed.push_back({block, int32_t(std::min<int64_t>(p.block_size, tokens - first))});
    }
  }
  // Of one block the longest prefix comes first and survives.
  std::sort(needed.begin(), needed.end(), [](const NeededBlock& a, const NeededBlock& b) {
    return a.block != b.block ? a.block < b.block : a.tokens > b.tokens;
  });
  const auto same = [](const NeededBlock& a, const NeededBlock& b) { return a.block == b.block; };
  needed.erase(std::unique(needed.begin(), needed.end(), same), needed.end());
  return needed;
}

int64_t value_offset_bytes(const Problem& p, int64_t block, int32_t token, int32_t dim) {
  const int64_t base = block * p.kv_block_stride_bytes;
  if (p.layout == MQA_PLANAR) return base + int64_t{token} * p.head_dim + dim;
  const int64_t group = token / 16, tile = dim / 16;
  return base + group * 16 * p.head_dim + tile * 256 + (token % 16) * 16 + dim % 16;
}

int64_t scale_offset_bytes(const Problem& p, int64_t block, int32_t token) {
  if (p.op == Operation::prefill_logits) return 4 * block * p.key_scales_stride;
  return block * p.kv_block_stride_bytes + int64_t{p.block_size} * p.head_dim + 4 * int64_t{token};
}

int64_t query_offset_bytes(const Problem& p, int64_t row, int32_t head, int32_t dim) {
  const int64_t sequence = row / p.next_n, n = row % p.next_n;
  return sequence * p.q_stride_batch + n * p.q_stride_next + head * p.q_stride_head + dim;
}

int64_t query_bytes(const Problem& p) {
  const int64_t row = extent(p.heads, p.q_stride_head, p.head_dim);
  return extent(p.batch, p.q_stride_batch, extent(p.next_n, p.q_stride_next, row));
}

int64_t kv_cache_bytes(const Problem& p) {
  if (p.op == Operation::prefill_logits) return extent(p.num_blocks, p.kv_block_stride_bytes, p.head_dim);
  return p.num_blocks * p.kv_block_stride_bytes;
}

int64_t key_scales_bytes(const Problem& p) {
  return p.op == Operation::prefill_logits ? 4 * extent(p.num_blocks, p.key_scales_stride, 1) : 0;
}

int64_t weights_bytes(const Problem& p) { return 4 * extent(p.rows(), p.weights_stride, p.heads); }

int64_t logits_bytes(const Problem& p) {
  const int64_t planes = is_per_head(p.op) && p.rows() ? p.heads : 1;
  return 4 * extent(planes, p.logits_stride_head, p.rows() * p.logits_stride);
}

} // namespace mqalab
