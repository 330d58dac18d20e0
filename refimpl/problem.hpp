// The operation's problem: every shape, stride and length, resolved (no defaults left), plus the pure
// functions that say where things are.  This is the executable specification; kernels have their own copy of
// the geometry on purpose, so that a fault in one is not shared by the other.
#pragma once
#include "kernels/mqa.h"

#include <cstdint>
#include <vector>

namespace mqalab {

// The operations of libmqa, and `indexer`: cache_write, paged_logits and top_k one after the other.
enum class Operation : uint8_t {
  paged_logits,
  ragged_logits,
  per_head_logits,
  per_head_ragged_logits,
  head_sum, // per_head_logits, then mqa_head_sum over its output
  prefill_logits,
  top_k,
  cache_write,
  cache_gather,
  indexer
};
// Those whose output is logits, judged by the reference in double.
constexpr bool makes_logits(Operation op) { return op <= Operation::prefill_logits; }
constexpr bool is_per_head(Operation op) {
  return op == Operation::per_head_logits || op == Operation::per_head_ragged_logits;
}
constexpr bool is_ragged(Operation op) {
  return op == Operation::ragged_logits || op == Operation::per_head_ragged_logits;
}

// Shapes and strides of one call.  Strides as in mqa.h: elements unless named _bytes.
//
// Prefill is a problem of batch 1 and next_n = S rows with lengths per row: context_lens are the ends,
// row_starts the starts, num_blocks the keys (block_size 1, no table), max_model_len the output's columns,
// kv_block_stride_bytes the stride of k.  Ragged: block_size 1, block_table the flat list of slots in the
// order of the sequences, context_lens their lengths (from slot_prefix, never negative).
struct Problem {
  Operation op = Operation::paged_logits;
  int32_t batch = 1, next_n = 1, heads = 8, head_dim = 128, block_size = 1;
  mqa_layout layout = MQA_PLANAR;
  mqa_fp8 fp8 = MQA_E4M3FN;
  mqa_tail tail = MQA_TAIL_UNTOUCHED;
  int64_t max_model_len = 1, num_blocks = 1;
  bool lens_per_row = false;
  std::vector<int32_t> context_lens; // batch entries, or batch*next_n with lens_per_row
  std::vector<int32_t> block_table;  // batch * block_table_stride entries, padding included
  int64_t q_stride_batch = 0, q_stride_next = 0, q_stride_head = 0;
  int64_t weights_stride = 0, block_table_stride = 0, logits_stride = 0, kv_block_stride_bytes = 0;

  std::vector<int32_t>
      row_starts;                 // rows() entries: prefill_logits, and top_k in its prefill form; else empty
  bool compressed = false;        // prefill_logits
  int64_t logits_stride_head = 0; // per head
  int64_t key_scales_stride = 0;  // prefill_logits, cache_gather: elements between scales
  int64_t keys_stride = 0;        // cache_write: elements; cache_gather: bytes
  int32_t k = 1;                  // top_k, indexer
  bool stable = false;            // top_k, indexer
  int64_t indices_stride = 0;     // top_k, indexer: elements
  mqa_key_type key_type = MQA_KEY_BF16;            // cache_write, indexer
  mqa_scale_format scale_format = MQA_SCALE_PLAIN; // cache_write, indexer
  int32_t skip_every = 0; // cache_write: every skip_every-th token has slot -1; 0: none

  int64_t rows() const { return int64_t{batch} * next_n; }
  // Columns of row r that hold a value: [first(r), limit(r)), first <= limit but for top_k, whose rows are
  // empty then. A row of a plane, r + head * rows(), has those of r.
  int64_t first(int64_t row) const;
  int64_t limit(int64_t row) const;
  // Token of the row's sequence that a column shows: the column itself, but for compressed prefill rows.
  int64_t position_of(int64_t row, int64_t column) const;
  // Tokens of sequence b that any of its rows needs, up to the last one: the longest limit of its rows; of a
  // prefill the end of the last key that a row sees.
  int64_t needed_tokens(int32_t sequence) const;
  // Block-table columns that sequence b needs: ceil(needed_tokens / block_size).
  int64_t needed_blocks(int32_t sequence) const;
  // Physical block id of token `position` of sequence b, as the table says it (may be out of range).  Adds up
  // the lengths before b where keys are ragged: loops over sequences use table_starts.
  int32_t block_of(int32_t sequence, int64_t position) const;
  // Of the token that a column of a row of the output shows.
  int32_t block_at(int64_t output_row, int64_t column) const;

  // ---- the output ----
  // Per-head logits are planes: output row h * rows() + r is row r of head h.  Elsewhere output rows are the
  // rows.
  int64_t output_rows() const { return is_per_head(op) ? heads * rows() : rows(); }
  // Element at which an output row starts, and at which the next one or the next plane does.
  int64_t output_offset(int64_t output_row) const;
  int64_t output_end(int64_t output_row) const;
  // Whose element it is: that of a gap between planes belongs to the row before it.
  int64_t output_row_at(int64_t element) const;
};

// Where the table of every sequence starts in block_table: batch + 1 entries, the end of the last one
// included.
std::vector<int64_t> table_starts(const Problem&);

// A physical block that some sequence needs, and how many of its tokens: always its first ones.
struct NeededBlock {
  int32_t block = 0, tokens = 0;
  auto operator<=>(const NeededBlock&) const = default;
};
// All of them, each once, in ascending order; ids outside the pool are left out.  Of a prefill: the keys that
// some row sees.
std::vector<NeededBlock> needed_pool(const Problem&);

// Byte offsets (operation.md, section 4).  64-bit.  Of a scale: in kv_cache, or in the scales of a prefill's
// keys.
int64_t value_offset_bytes(const Problem&, int64_t block, int32_t token, int32_t dim);
int64_t scale_offset_bytes(const Problem&, int64_t block, int32_t token);
int64_t query_offset_bytes(const Problem&, int64_t row, int32_t head, int32_t dim);

// Extents of the buffers that a legal call may touch, in bytes.
int64_t query_bytes(const Problem&);
int64_t kv_cache_bytes(const Problem&);   // the keys of a prefill up to the last byte of the last one
int64_t key_scales_bytes(const Problem&); // of a prefill; else 0
int64_t weights_bytes(const Problem&);
// Rows whole, with the padding of the last row of the last plane.
int64_t logits_bytes(const Problem&);

} // namespace mqalab
