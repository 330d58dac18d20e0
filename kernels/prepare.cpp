// Turns the caller's validated arguments into the kernel's.
#include "kernels/launch.hpp"
#include "kernels/rules.hpp"

namespace mqa {
namespace {

// Every key chunk starts at a multiple of 16 bytes.
bool is_aligned16(const uint8_t* keys, int64_t stride_bytes) {
  return (reinterpret_cast<uintptr_t>(keys) | static_cast<uintptr_t>(stride_bytes)) % 16 == 0;
}

void set_blocks(PagedArgs& p, int32_t block_size, bool shuffled) {
  p.block_size = block_size;
  p.block_shift = block_size == 1 ? 0 : 4;
  p.block_reciprocal = Rules::block_reciprocal(block_size);
  p.token_stride = shuffled ? 16 : p.head_dim;
  p.tile_stride = shuffled ? 256 : 16;
  p.shuffled = shuffled;
}

// No token has bytes: all read, and ignore, the first 16 bytes of the weights.
void set_empty_pool(PagedArgs& p) {
  p.kv_cache = reinterpret_cast<const uint8_t*>(p.weights);
  p.token_stride = p.tile_stride = 0;
  p.kv_block_stride_bytes = 0;
  p.aligned16 = false;
}

} // namespace

PagedArgs prepare(const mqa_paged_logits_args& a, const LaunchConfig& config, const DeviceFacts&) {
  PagedArgs p{};
  p.q = a.q;
  p.kv_cache = a.kv_cache;
  p.weights = a.weights;
  p.context_lens = a.context_lens;
  p.block_table = a.block_table;
  p.logits = a.logits;
  p.q_stride_batch = a.q_stride_batch;
  p.q_stride_next = a.q_stride_next;
  p.q_stride_head = a.q_stride_head;
  p.kv_block_stride_bytes = a.kv_block_stride_bytes;
  p.weights_stride = a.weights_stride;
  p.context_lens_stride = a.context_lens_stride;
  p.block_table_stride = a.slot_prefix ? 0 : a.block_table_stride;
  p.logits_stride = a.logits_stride;
  p.batch = a.batch;
  p.next_n = a.next_n;
  p.heads = a.heads;
  p.head_dim = a.head_dim;
  p.num_blocks = static_cast<int32_t>(a.num_blocks);
  p.max_model_len = static_cast<int32_t>(a.max_model_len);
  p.chunk_tokens = config.chunk_k;
  p.splits = config.split_kv;
  p.fnuz = a.fp8 == MQA_E4M3FNUZ;
  p.tail_neg_inf = a.tail == MQA_TAIL_NEG_INF;
  p.lens_per_row = a.lens_per_row;
  p.aligned16 = is_aligned16(a.kv_cache, a.kv_block_stride_bytes);
  set_blocks(p, a.block_size, a.layout == MQA_SHUFFLED);
  p.slot_prefix = a.slot_prefix;
  p.total_rows = a.batch * a.next_n;
  p.scale_base = a.kv_cache;
  p.scale_block_stride_bytes = a.kv_block_stride_bytes;
  p.scale_start_bytes = a.block_size * a.head_dim;
  p.logits_stride_head = a.logits_stride_head;
  if (a.num_blocks == 0) set_empty_pool(p);
  return p;
}

PagedArgs prepare(const mqa_prefill_logits_args& a, const LaunchConfig& config, const DeviceFacts&) {
  PagedArgs p{};
  p.q = a.q;
  p.kv_cache = a.k;
  p.weights = a.weights;
  p.context_lens = a.ends;
  p.logits = a.logits;
  p.q_stride_batch = config.tile_rows * a.q_stride_row;
  p.q_stride_next = a.q_stride_row;
  p.q_stride_head = a.q_stride_head;
  p.kv_block_stride_bytes = a.k_stride;
  p.weights_stride = a.weights_stride;
  p.context_lens_stride = config.tile_rows;
  p.logits_stride = a.logits_stride;
  p.batch = static_cast<int32_t>(ceil_div<int64_t>(a.rows, config.tile_rows));
  p.next_n = config.tile_rows;
  p.heads = a.heads;
  p.head_dim = a.head_dim;
  p.num_blocks = static_cast<int32_t>(a.num_keys);
  p.max_model_len = static_cast<int32_t>(a.columns);
  p.chunk_tokens = config.chunk_k;
  p.splits = config.split_kv;
  p.fnuz = a.fp8 == MQA_E4M3FNUZ;
  p.tail_neg_inf = a.tail == MQA_TAIL_NEG_INF;
  p.lens_per_row = 1;
  p.aligned16 = is_aligned16(a.k, a.k_stride);
  set_blocks(p, 1, false);
  p.row_starts = a.starts;
  p.total_rows = a.rows;
  p.compressed = a.compressed;
  p.scale_base = reinterpret_cast<const uint8_t*>(a.k_scales);
  p.scale_block_stride_bytes = a.k_scales_stride * static_cast<int64_t>(sizeof(float));
  if (a.num_keys == 0) set_empty_pool(p);
  return p;
}

} // namespace mqa
