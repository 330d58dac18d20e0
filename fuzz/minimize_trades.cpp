// Odd here: `trade` moves.  They keep a product (rows * stride, blocks * block stride, chunks) while one
// factor shrinks and the other grows.  Without them a store lost past byte 2^31 stops shrinking at 513 rows.
#include "fuzz/minimize_parts.hpp"

#include <algorithm>

namespace mqalab {

static int64_t or_dense(int64_t stride, int64_t dense) { return stride ? stride : dense; }

// Rows of one sequence as sequences of one row, and the other way round.
Cases batch_for_next_n(const Case& c) {
  if (c.shape.next_n == 1 || c.op == Operation::prefill_logits || !c.shape.starts.empty()) return {};
  Case apart = with_next_n(c, 1);
  apart.shape.lens_per_row = false;
  apart.shape.batch = static_cast<int32_t>(rows(c));
  apart.shape.context_lens.clear();
  for (int64_t r = 0; r < rows(c); ++r) {
    const int64_t length =
        c.shape.context_lens[static_cast<size_t>(c.shape.lens_per_row ? r : r / c.shape.next_n)];
    const int64_t hidden = c.shape.lens_per_row ? 0 : c.shape.next_n - 1 - r % c.shape.next_n;
    apart.shape.context_lens.push_back(static_cast<int32_t>(std::max<int64_t>(length - hidden, 0)));
  }
  return {apart};
}
// Fewer rows at a larger stride: the last row keeps its offset, and the lengths are those of the last rows.
Cases rows_for_stride(const Case& c) {
  Cases result;
  const int64_t last = rows(c) - 1;
  const Cases one_row_each = batch_for_next_n(c);
  const Case& apart = one_row_each.empty() ? c : one_row_each.front();
  const bool prefill = c.op == Operation::prefill_logits;
  if (apart.shape.next_n != 1 && !prefill) return {};
  for (int64_t kept = 1; kept < last; kept *= 2) {
    const Case traded =
        prefill ? with_next_n(c, static_cast<int32_t>(kept + 1), static_cast<int32_t>(last - kept))
                : sequences(apart, last - kept, kept + 1);
    for (const char* name :
         {"strides.logits", "strides.weights", "strides.q[0]", "strides.q[1]", "strides.indices"}) {
      if (!has_meaning(c.op, name) || (!prefill && std::string_view(name) == "strides.q[1]")) continue;
      const Field& f = field(name);
      const int64_t dense = f.name == "strides.logits" ? c.shape.max_model_len : 0;
      const int64_t stride = or_dense(f.get(c), dense);
      const int64_t rows_before = f.name == "strides.q[0]" ? c.shape.batch - 1 : last;
      if (stride != 0) result.push_back(with(traded, name, (rows_before * stride + kept - 1) / kept));
    }
  }
  return result;
}
// The same number of chunks, each smaller.
Cases context_for_chunk(const Case& c) {
  Cases result;
  const int64_t chunk = chunk_tokens(c), longest = longest_context(c);
  for (int64_t smaller = 64; smaller < chunk; smaller *= 2) {
    const int64_t context = longest / chunk * smaller + std::min(longest % chunk, smaller - 1);
    if (context >= longest) continue;
    Case traded = with(c, "config.chunk_k", smaller);
    for (int32_t& length : traded.shape.context_lens)
      length = static_cast<int32_t>(std::min<int64_t>(length, context));
    const int64_t gap = c.shape.max_model_len - longest;
    traded.shape.max_model_len = std::max<int64_t>(context + std::min<int64_t>(gap, 2 * smaller), 1);
    result.push_back(traded);
  }
  return result;
}
// Fewer splits over fewer chunks.
Cases context_for_splits(const Case& c) {
  Cases result;
  const int64_t chunk = chunk_tokens(c), longest = longest_context(c), splits = c.config.split_kv;
  for (int64_t fewer = 1; fewer < splits; ++fewer) {
    const int64_t context = longest - (splits - fewer) * (longest / chunk / splits) * chunk;
    if (context >= longest || context < 1) continue;
    Case traded = with(c, "config.split_kv", fewer);
    for (int32_t& length : traded.shape.context_lens)
      length = static_cast<int32_t>(std::min<int64_t>(length, context));
    result.push_back(traded);
  }
  return result;
}
// Fewer blocks at a larger block stride: the last block keeps its offset.
Cases blocks_for_stride(const Case& c) {
  Cases result;
  const int64_t blocks = c.shape.num_blocks;
  const int64_t dense = c.op == Operation::prefill_logits
                            ? c.shape.head_dim
                            : int64_t{c.shape.block_size} * (c.shape.head_dim + 4);
  for (int64_t fewer = 2; fewer < blocks; fewer *= 2) {
    const int64_t stride = (blocks - 1) * or_dense(c.strides.kv_block, dense) / (fewer - 1) / 4 * 4 + 4;
    result.push_back(with(with(c, "num_blocks", fewer), "strides.kv_block", stride));
  }
  return result;
}

} // namespace mqalab
