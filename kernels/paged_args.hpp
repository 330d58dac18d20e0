// What a paged-logits kernel is given: validated on the host, passed by value.  Strides are 64-bit and count
// elements unless named _bytes.
#pragma once
#include <cstdint>

namespace mqa {

// What becomes of the products of heads and keys, and how a row's columns lie: each is a compiled kernel of
// its own. Paged and ragged keys differ in data only.
enum class Form : uint8_t { head_sum, per_head, prefill };

struct PagedArgs {
  const uint8_t* q;
  const uint8_t* kv_cache;
  const float* weights;
  const int32_t* context_lens;
  const int32_t* block_table;
  float* logits;

  int64_t q_stride_batch, q_stride_next, q_stride_head;
  int64_t kv_block_stride_bytes;
  int64_t weights_stride, context_lens_stride, block_table_stride, logits_stride;

  int32_t batch, next_n, heads, head_dim, block_size;
  int32_t num_blocks, max_model_len;
  int32_t block_shift; // these two: division by block_size, see Rules::block_column
  uint32_t block_reciprocal;
  int32_t token_stride, tile_stride; // bytes between tokens and 16-dim column tiles, see Rules::value_offset
  int32_t chunk_tokens, splits;
  // Flags, 32-bit so that the device reads them as scalars.
  int32_t shuffled, fnuz, tail_neg_inf, lens_per_row;
  int32_t aligned16; // every key chunk starts at a multiple of 16 bytes

  // ---- the other forms ----
  // Ragged keys: sequence b owns entries [slot_prefix[b], slot_prefix[b+1]) of block_table; nullptr: paged.
  const int32_t* slot_prefix;
  // Contiguous keys (prefill): block_table is nullptr, a token's block id is its position, block_size is 1. A
  // "sequence" is then a tile of next_n rows, the last one partial; context_lens are the rows' ends.
  const int32_t* row_starts; // first key of every row; nullptr: 0
  int32_t total_rows;        // batch * next_n, or the rows of a prefill
  int32_t compressed;        // prefill: column = key - first key of the row
  // Scales: scale of token t of block i is at scale_base + i*scale_block_stride_bytes + scale_start_bytes +
  // 4*t.  Paged: kv_cache, kv_block_stride_bytes, block_size*head_dim; prefill: k_scales, its stride, 0.
  const uint8_t* scale_base;
  int64_t scale_block_stride_bytes;
  int32_t scale_start_bytes;
  int64_t logits_stride_head; // per-head logits: elements between planes; else 0
};

} // namespace mqa
