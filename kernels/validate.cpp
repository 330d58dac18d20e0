// Checks the caller's arguments.  Every refusal names the argument, the value given and what is allowed.
#include "kernels/argument_rules.hpp"
#include "kernels/launch.hpp"

#include <algorithm>
#include <cinttypes>

namespace mqa {
namespace {

std::string shape_error(const mqa_paged_logits_args& a) {
  if (a.batch < 0) return words("batch is %d; allowed: 0 and more", a.batch);
  if (a.next_n < 1) return words("next_n is %d; allowed: 1 and more", a.next_n);
  if (int64_t{a.batch} * a.next_n > INT32_MAX)
    return words("batch * next_n is %" PRId64 "; allowed: up to %d rows", int64_t{a.batch} * a.next_n,
                 INT32_MAX);
  if (auto error = first_error({range_error("heads", a.heads, 1, kMostHeads), head_dim_error(a.head_dim),
                                block_size_error(a.block_size, a.layout)});
      !error.empty())
    return error;
  return first_error({range_error("fp8", a.fp8, MQA_E4M3FN, MQA_E4M3FNUZ),
                      range_error("tail", a.tail, MQA_TAIL_UNTOUCHED, MQA_TAIL_NEG_INF),
                      range_error("lens_per_row", a.lens_per_row, 0, 1),
                      range_error("max_model_len", a.max_model_len, 1, kMostColumns),
                      range_error("num_blocks", a.num_blocks, 0, kMostBlocks)});
}

// Block size and strides as the flat list of slots wants them.
std::string ragged_error(const mqa_paged_logits_args& a) {
  if (a.block_size != 1)
    return words("block_size is %d; allowed: 1 with ragged keys, whose entries are token slots",
                 a.block_size);
  if (a.lens_per_row != 0)
    return words("lens_per_row is %d; allowed: 0 with ragged keys, whose lengths slot_prefix gives",
                 a.lens_per_row);
  if (a.block_table_stride != 0)
    return words("block_table_stride is %" PRId64 "; allowed: 0 with ragged keys, whose list is flat",
                 a.block_table_stride);
  return "";
}
std::string paged_strides_error(const mqa_paged_logits_args& a) {
  const int64_t columns = (a.max_model_len + a.block_size - 1) / a.block_size;
  return stride_error(
      {{"context_lens_stride", a.context_lens_stride, a.lens_per_row ? a.next_n : 1, true, a.batch},
       {"block_table_stride", a.block_table_stride, columns, true, a.batch}});
}

std::string strides_error(const mqa_paged_logits_args& a) {
  const int64_t rows = int64_t{a.batch} * a.next_n;
  const int64_t block_bytes = int64_t{a.block_size} * (a.head_dim + 4);
  if (auto error =
          stride_error({{"q_stride_head", a.q_stride_head, a.head_dim, true, a.heads},
                        {"q_stride_next", a.q_stride_next, a.head_dim, true, a.next_n},
                        {"q_stride_batch", a.q_stride_batch, a.head_dim, true, a.batch},
                        {"kv_block_stride_bytes", a.kv_block_stride_bytes, block_bytes, false, a.num_blocks},
                        {"weights_stride", a.weights_stride, a.heads, true, rows},
                        {"logits_stride", a.logits_stride, a.max_model_len, false, rows}});
      !error.empty())
    return error;
  if (auto error = a.slot_prefix ? ragged_error(a) : paged_strides_error(a); !error.empty()) return error;
  if (a.kv_block_stride_bytes % 4)
    return words("kv_block_stride_bytes is %" PRId64 "; allowed: multiples of 4, because scales are fp32",
                 a.kv_block_stride_bytes);
  if (!a.logits_stride_head) return "";
  const int64_t plane = plane_extent(rows, a.logits_stride, a.max_model_len);
  return stride_error({{"logits_stride_head", a.logits_stride_head, plane, false, std::max(2, a.heads)}});
}

std::string pointers_error(const mqa_paged_logits_args& a) {
  return pointer_error({{"q", a.q, 1, true},
                        {"kv_cache", a.kv_cache, 4, a.num_blocks > 0},
                        {"weights", a.weights, 4, true},
                        {"context_lens", a.context_lens, 4, !a.slot_prefix},
                        {"slot_prefix", a.slot_prefix, 4, false},
                        {"block_table", a.block_table, 4, true},
                        {"logits", a.logits, 4, true}});
}

} // namespace

std::string why_invalid(const mqa_paged_logits_args& a, bool shape_only) {
  if (auto error = struct_size_error("mqa_paged_logits_args", a.struct_size, sizeof a); !error.empty())
    return error;
  if (auto error = shape_error(a); !error.empty()) return error;
  if (auto error = strides_error(a); !error.empty()) return error;
  if (shape_only || a.batch == 0) return "";
  return pointers_error(a);
}

} // namespace mqa
