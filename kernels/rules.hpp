// The rules of the operation as small pure functions, for host and device: which tokens a split covers, how
// far a row may see, where a byte lies, how a logit is put together.  The kernel takes them as a template
// policy; a planted fault is a struct that derives from Rules and hides exactly one function.  Whatever can
// pass 2^31 is 64-bit.
#pragma once
#include "kernels/paged_args.hpp"

#include <cstdint>

#if defined(__HIPCC__) || defined(__CUDACC__) || defined(__HIP__)
#define MQA_HD __host__ __device__ inline
#else
#define MQA_HD inline
#endif

namespace mqa {

template <class T> MQA_HD constexpr T least(T a, T b) { return a < b ? a : b; }
template <class T> MQA_HD constexpr T most(T a, T b) { return a > b ? a : b; }
template <class T> MQA_HD constexpr T ceil_div(T a, T b) { return (a + b - 1) / b; }

// Half-open, in whatever unit its maker says.  Positions, columns and chunks are below 2^24: 32 bits.
struct Range {
  int32_t begin, end;
};

// q is handed to the matrix unit 16 heads at a time; weights of heads beyond the last are zero.
inline constexpr int kHeadTile = 16;
// Rows of a prefill that a block can serve together.
inline constexpr int kMostTileRows = 16;

struct Rules {
  // ---- who does what ----
  // Chunks owned by split `s` of `splits`.  Shares differ by at most one; a split may own none.
  MQA_HD static constexpr Range split_range(int32_t chunks, int32_t splits, int32_t s) {
    const int32_t share = chunks / splits, extra = chunks % splits;
    const int32_t begin = s * share + least(s, extra);
    return {begin, begin + share + (s < extra ? 1 : 0)};
  }
  // Tokens of the chunks [first, last), cut at the context.
  MQA_HD static constexpr Range token_range(Range chunks, int32_t chunk_tokens, int32_t context) {
    return {least(chunks.begin * chunk_tokens, context), least(chunks.end * chunk_tokens, context)};
  }
  MQA_HD static constexpr int32_t chunk_count(int32_t context, int32_t chunk_tokens) {
    return ceil_div(context, chunk_tokens);
  }
  MQA_HD static constexpr int head_tiles(int heads) { return ceil_div(heads, kHeadTile); }
  // Rows of a sequence that get stored.
  MQA_HD static constexpr int rows_of(const PagedArgs& a) { return a.next_n; }
  // Rows of tile b of a prefill: the last tile may be partial.
  MQA_HD static constexpr int tile_rows(const PagedArgs& a, int64_t b) {
    return static_cast<int>(least<int64_t>(a.next_n, a.total_rows - b * a.next_n));
  }
  // Heads of a row whose weights are staged: whole tiles, because the padding takes part with weight 0.
  MQA_HD static constexpr int staged_heads(const PagedArgs& a) { return head_tiles(a.heads) * kHeadTile; }

  // ---- how far a row may see ----
  // A length as the caller gave it: any value is legal, and those below 0 mean none.  It is cut before
  // anything is subtracted from it, because compilers move a subtraction before a comparison: nvcc 13 made
  // `context > hidden ? context - hidden : 0` a maximum of 0 and of a difference that wraps at -2^31.
  MQA_HD static constexpr int32_t usable_length(int32_t length) { return most(0, length); }
  // Columns row `n` of `next_n` may see of a usable length; none while it is shorter than the step.
  MQA_HD static constexpr int32_t causal_limit(int32_t context, int next_n, int n) {
    const int32_t hidden = next_n - 1 - n;
    return context > hidden ? context - hidden : 0;
  }
  // Element of context_lens that row n of sequence b reads.
  MQA_HD static constexpr int64_t length_index(const PagedArgs& a, int64_t b, int n) {
    return b * a.context_lens_stride + (a.lens_per_row ? n : 0);
  }
  // Columns [0, limit) of a row hold values.  length: of the sequence and usable, or with lens_per_row the
  // row's as it was given.
  MQA_HD static constexpr int32_t row_limit(const PagedArgs& a, int32_t length, int n) {
    const int32_t limit = a.lens_per_row ? usable_length(length) : causal_limit(length, a.next_n, n);
    return least(limit, a.max_model_len);
  }
  MQA_HD static constexpr bool visible(int32_t position, int32_t limit) { return position < limit; }
  // Tokens of ragged sequence b: those entries of the slot list that it owns.
  MQA_HD static constexpr int32_t slot_count(const PagedArgs& a, int64_t b) {
    const int32_t begin = a.slot_prefix[b], end = a.slot_prefix[b + 1];
    return end > begin ? end - begin : 0;
  }
  // Columns from the row's limit on that are filled with -inf when the tail asks for it: [limit, end).
  MQA_HD static constexpr int32_t tail_end(const PagedArgs& a) { return a.max_model_len; }
  MQA_HD static constexpr bool fills_tail(const PagedArgs& a) { return a.tail_neg_inf; }

  // ---- what a row of a prefill sees ----
  // Keys with a column in the output; {0, 0} when there are none.  Starts and ends are any 32-bit values.
  MQA_HD static constexpr Range key_range(const PagedArgs& a, int32_t start, int32_t end) {
    const int32_t first = most(0, start), last = least(end, a.num_blocks);
    if (first >= last) return {0, 0};
    const int32_t columns_end = a.compressed ? first + a.max_model_len : a.max_model_len;
    return first < columns_end ? Range{first, least(last, columns_end)} : Range{0, 0};
  }
  MQA_HD static constexpr int32_t start_of(const PagedArgs& a, int64_t row) {
    return a.row_starts ? a.row_starts[row] : 0;
  }
  MQA_HD static constexpr int32_t end_of(const PagedArgs& a, int64_t row) { return a.context_lens[row]; }
  // Whether a row sees any of the keys [begin, end); and the smallest range around the keys of several rows,
  // which starts empty.
  MQA_HD static constexpr bool meets(Range keys, int32_t begin, int32_t end) {
    return keys.begin < end && begin < keys.end;
  }
  MQA_HD static constexpr Range joined(Range all, Range keys) {
    if (keys.begin >= keys.end) return all;
    return all.begin < all.end ? Range{least(all.begin, keys.begin), most(all.end, keys.end)} : keys;
  }
  MQA_HD static constexpr int32_t column_of(const PagedArgs& a, Range keys, int32_t key) {
    return a.compressed ? key - keys.begin : key;
  }
  // Columns before a row's values that are filled with -inf when the tail asks for it; after them it is all
  // the rest.
  MQA_HD static constexpr int32_t columns_before(Range values) { return values.begin; }

  // ---- where things are ----
  // Block-table column of a token.  Division by a multiple of 16, exactly: with t = position / 16 < 2^20 and
  // d = block_size / 16 <= 64, floor(2t * ceil(2^31 / d) / 2^32) = floor(t / d), since the error 2t / 2^32 <
  // 1/d. Block size 1 is the same with t = position < 2^24 and d = 1.
  MQA_HD static constexpr int32_t block_column(const PagedArgs& a, int32_t position) {
    const uint32_t doubled = static_cast<uint32_t>(position) >> a.block_shift << 1;
    return static_cast<int32_t>(uint64_t{doubled} * a.block_reciprocal >> 32);
  }
  MQA_HD static constexpr uint32_t block_reciprocal(int32_t block_size) {
    const uint32_t d = block_size >= 16 ? static_cast<uint32_t>(block_size) / 16 : 1;
    return ((1u << 31) + d - 1) / d;
  }
  MQA_HD static constexpr int32_t token_in_block(const PagedArgs& a, int32_t position, int32_t column) {
    return position - column * a.block_size;
  }
  // Element of the block table that names the block of a token.
  MQA_HD static constexpr int64_t table_offset(const PagedArgs& a, int64_t b, int32_t position) {
    return b * a.block_table_stride + Rules::block_column(a, position);
  }
  // Entry of the slot list that names token 0 of ragged sequence b.
  MQA_HD static constexpr int64_t slot_base(const PagedArgs& a, int64_t b) { return a.slot_prefix[b]; }
  MQA_HD static constexpr bool valid_block(int32_t id, int32_t num_blocks) {
    return static_cast<uint32_t>(id) < static_cast<uint32_t>(num_blocks);
  }
  // Byte of a block.  64-bit: block 2143 at a stride of 1,002,240 starts past 2^31.
  MQA_HD static constexpr int64_t block_offset(const PagedArgs& a, int32_t block) {
    return block * a.kv_block_stride_bytes;
  }
  MQA_HD static constexpr int64_t scale_block_offset(const PagedArgs& a, int32_t block) {
    return block * a.scale_block_stride_bytes;
  }
  // Byte of value (token, dim) inside its block: token_offset + dim_offset, dim a multiple of 8.  A block is
  // groups of 16 tokens; planar and shuffled differ in the strides of a token and of a 16-dim column tile
  // inside the group (operation.md, section 4).
  MQA_HD static constexpr int32_t token_offset(const PagedArgs& a, int32_t token) {
    return token / 16 * (16 * a.head_dim) + token % 16 * a.token_stride;
  }
  MQA_HD static constexpr int32_t dim_offset(const PagedArgs& a, int32_t dim) {
    return dim / 16 * a.tile_stride + dim % 16;
  }
  // Byte of a token's scale inside its block; scales are never shuffled.
  MQA_HD static constexpr int32_t scale_offset(const PagedArgs& a, int32_t token) {
    return a.scale_start_bytes + 4 * token;
  }
  MQA_HD static constexpr int64_t query_offset(const PagedArgs& a, int64_t b, int n, int head) {
    return b * a.q_stride_batch + n * a.q_stride_next + head * a.q_stride_head;
  }
  MQA_HD static constexpr int64_t weight_offset(const PagedArgs& a, int64_t row, int head) {
    return row * a.weights_stride + head;
  }
  // In elements.  64-bit, because row 512 at a stride of 2^20 floats starts at byte 2^31.
  MQA_HD static constexpr int64_t logit_offset(const PagedArgs& a, int64_t row, int64_t column) {
    return row * a.logits_stride + column;
  }
  // What the plane of a head lies behind that of head 0, in elements; 64-bit for the same reason.
  MQA_HD static constexpr int64_t plane_offset(const PagedArgs& a, int head) {
    return head * a.logits_stride_head;
  }
  // Heads whose planes hold values, and those whose tails are filled.
  MQA_HD static constexpr int planes_of(const PagedArgs& a) { return a.heads; }
  MQA_HD static constexpr int tail_planes_of(const PagedArgs& a) { return a.heads; }
  MQA_HD static float load_scale(const uint8_t* kv_cache, int64_t offset_bytes) {
    return *reinterpret_cast<const float*>(kv_cache + offset_bytes);
  }
  MQA_HD static float load_weight(const float* weights, int64_t offset) { return weights[offset]; }
  MQA_HD static void store(float* logits, int64_t offset, float value) { logits[offset] = value; }

  // ---- how a logit is put together ----
  MQA_HD static constexpr bool query_is_fnuz(const PagedArgs& a) { return a.fnuz; }
  MQA_HD static constexpr bool key_is_fnuz(const PagedArgs& a) { return a.fnuz; }
  // Adds relu(dot) * weight of two heads.  relu of a NaN dot is 0: the maximum of a NaN and a number is the
  // number.
  template <class Arch>
  MQA_HD static typename Arch::Pair add_heads(typename Arch::Pair sum, typename Arch::Pair dot,
                                              typename Arch::Pair weight) {
    return Arch::fma(Arch::relu(dot), weight, sum);
  }
  // One head's part of a logit: the product is rounded before the scale comes to it.
  template <class Arch> MQA_HD static float head_value(float dot, float weight) {
    return Arch::relu(dot) * weight;
  }
  // Once per logit, after the head sum.
  MQA_HD static float scaled(float sum, float scale) { return sum * scale; }
};

} // namespace mqa
