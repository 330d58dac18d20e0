// Checks of the arguments of a prefill.
#include "kernels/argument_rules.hpp"
#include "kernels/launch.hpp"

#include <cinttypes>

namespace mqa {
namespace {

std::string shape_error(const mqa_prefill_logits_args& a) {
  if (a.rows < 0) return words("rows is %d; allowed: 0 and more", a.rows);
  return first_error({range_error("heads", a.heads, 1, kMostHeads), head_dim_error(a.head_dim),
                      range_error("fp8", a.fp8, MQA_E4M3FN, MQA_E4M3FNUZ),
                      range_error("tail", a.tail, MQA_TAIL_UNTOUCHED, MQA_TAIL_NEG_INF),
                      range_error("compressed", a.compressed, 0, 1),
                      range_error("num_keys", a.num_keys, 0, kMostColumns),
                      range_error("columns", a.columns, 1, kMostColumns)});
}

std::string strides_error(const mqa_prefill_logits_args& a) {
  if (auto error = stride_error({{"q_stride_head", a.q_stride_head, a.head_dim, true, a.heads},
                                 {"q_stride_row", a.q_stride_row, a.head_dim, true, a.rows},
                                 {"k_stride", a.k_stride, a.head_dim, false, a.num_keys},
                                 {"k_scales_stride", a.k_scales_stride, 1, false, a.num_keys},
                                 {"weights_stride", a.weights_stride, a.heads, true, a.rows},
                                 {"logits_stride", a.logits_stride, a.columns, false, a.rows}});
      !error.empty())
    return error;
  if (a.k_stride % 4)
    return words("k_stride is %" PRId64 "; allowed: multiples of 4, because keys are read in words",
                 a.k_stride);
  return "";
}

} // namespace

std::string why_invalid(const mqa_prefill_logits_args& a, bool shape_only) {
  if (auto error = struct_size_error("mqa_prefill_logits_args", a.struct_size, sizeof a); !error.empty())
    return error;
  if (auto error = shape_error(a); !error.empty()) return error;
  if (auto error = strides_error(a); !error.empty()) return error;
  if (shape_only || a.rows == 0) return "";
  return pointer_error({{"q", a.q, 1, true},
                        {"k", a.k, 4, a.num_keys > 0},
                        {"k_scales", a.k_scales, 4, a.num_keys > 0},
                        {"weights", a.weights, 4, true},
                        {"starts", a.starts, 4, true},
                        {"ends", a.ends, 4, true},
                        {"logits", a.logits, 4, true}});
}

} // namespace mqa
