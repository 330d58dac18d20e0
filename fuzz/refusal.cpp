// Nothing is launched here even if the library accepts: shapes are asked with null pointers, which are looked
// at last, and configurations with an empty batch.
#include "fuzz/refusal.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <string_view>

namespace mqalab {
namespace {

// Dense strides of an illegal shape may not fit 64 bits; any large number will do then.
int64_t times(int64_t a, int64_t b) {
  int64_t product;
  return __builtin_mul_overflow(a, b, &product) ? INT64_MAX / 2 : product;
}
int64_t or_dense(int64_t given, int64_t dense) { return given ? given : dense; }

mqa_paged_logits_args arguments(const Case& c) {
  const Shape& s = c.shape;
  mqa_paged_logits_args a{};
  a.struct_size = sizeof a;
  a.batch = s.batch, a.next_n = s.next_n, a.heads = s.heads, a.head_dim = s.head_dim,
  a.block_size = s.block_size;
  a.layout = s.layout, a.fp8 = s.fp8, a.tail = s.tail;
  a.max_model_len = s.max_model_len, a.num_blocks = s.num_blocks, a.lens_per_row = s.lens_per_row;
  a.q_stride_head = or_dense(c.strides.q[2], s.head_dim);
  a.q_stride_next = or_dense(c.strides.q[1], times(s.heads, a.q_stride_head));
  a.q_stride_batch = or_dense(c.strides.q[0], times(s.next_n, a.q_stride_next));
  a.kv_block_stride_bytes = or_dense(c.strides.kv_block, times(s.block_size, int64_t{s.head_dim} + 4));
  a.weights_stride = or_dense(c.strides.weights, s.heads);
  a.context_lens_stride = s.lens_per_row ? s.next_n : 1;
  a.block_table_stride =
      or_dense(c.strides.block_table, s.block_size > 0 ? s.max_model_len / s.block_size + 1 : 1);
  a.logits_stride = or_dense(c.strides.logits, s.max_model_len);
  return a;
}

// The library got as far as the pointers: it found nothing wrong with shape and strides.
bool refused_for_pointers(mqa_status status) {
  return status == MQA_INVALID_ARGUMENT &&
         std::string_view(mqa_last_error()).find("NULL") != std::string_view::npos;
}

} // namespace

Verdict check_refusal(const Case& c, const std::string& why) {
  mqa_paged_logits_args args = arguments(c);
  mqa_status status = mqa_paged_logits(&args, &c.config, nullptr, nullptr);
  if (refused_for_pointers(status) || args.batch == 0) {
    args.batch = 0;
    status = mqa_paged_logits(&args, &c.config, nullptr, nullptr);
  }
  const bool in_words = (status == MQA_INVALID_ARGUMENT || status == MQA_UNSUPPORTED) && *mqa_last_error();
  Verdict v;
  v.verdict = in_words ? VerdictClass::rejected : VerdictClass::fault;
  v.message = in_words ? fmt::format("rejected: {}", mqa_last_error())
                       : fmt::format("fault: the library did not refuse an illegal case: {}", why);
  v.signature = {v.verdict, in_words ? "refused" : "illegal case accepted", ""};
  return v;
}

} // namespace mqalab
