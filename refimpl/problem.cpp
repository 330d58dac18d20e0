// The problem's geometry, spelled out plainly: this file is what kernels are compared with, so it is written
// to be read, not to be fast.
#include "refimpl/problem.hpp"

#include <algorithm>

namespace mqalab {

namespace {

int64_t ceil_div(int64_t value, int64_t by) { return (value + by - 1) / by; }

// Offset of the last byte that strided rows touch, plus one.
int64_t extent(int64_t outer, int64_t outer_stride, int64_t inner) {
  return outer > 0 ? (outer - 1) * outer_stride + inner : 0;
}

} // namespace

int64_t Problem::limit(int64_t row) const {
  const int64_t sequence = row / next_n, n = row % next_n;
  const int64_t length =
      lens_per_row ? int64_t{context_lens[row]} : int64_t{context_lens[sequence]} - next_n + n + 1;
  return std::min(max_model_len, std::max<int64_t>(0, length));
}

int64_t Problem::needed_tokens(int32_t sequence) const {
  int64_t longest = 0;
  for (int32_t n = 0; n < next_n; ++n) longest = std::max(longest, limit(int64_t{sequence} * next_n + n));
  return longest;
}

int64_t Problem::needed_blocks(int32_t sequence) const {
  return ceil_div(needed_tokens(sequence), block_size);
}

int32_t Problem::block_of(int32_t sequence, int64_t position) const {
  return block_table[sequence * block_table_stride + position / block_size];
}

std::vector<NeededBlock> needed_pool(const Problem& p) {
  std::vector<NeededBlock> needed;
  for (int32_t sequence = 0; sequence < p.batch; ++sequence) {
    const int64_t tokens = p.needed_tokens(sequence);
    for (int64_t first = 0; first < tokens; first += p.block_size) {
      const int32_t block = p.block_of(sequence, first);
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

int64_t kv_cache_bytes(const Problem& p) { return p.num_blocks * p.kv_block_stride_bytes; }

int64_t weights_bytes(const Problem& p) { return 4 * extent(p.rows(), p.weights_stride, p.heads); }

int64_t logits_bytes(const Problem& p) { return 4 * p.rows() * p.logits_stride; }

} // namespace mqalab
