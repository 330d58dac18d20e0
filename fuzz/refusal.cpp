// Nothing is launched here even if the library accepts: shapes are asked with null pointers, which are looked
// at last, and configurations with nothing to do.
#include "fuzz/refusal.hpp"
#include "fuzz/case_rules.hpp"
#include "fuzz/production.hpp"

#include <fmt/format.h>

#include <algorithm>
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

// Stands for device memory where NULL would say another form; never read.
const int32_t kSomewhere = 0;

int64_t rows_of(const Shape& s) { return int64_t{s.batch} * s.next_n; }
int32_t as_count(int64_t number) {
  return static_cast<int32_t>(std::clamp<int64_t>(number, INT32_MIN, INT32_MAX));
}
int64_t block_stride(const Case& c) {
  return or_dense(c.strides.kv_block, times(c.shape.block_size, int64_t{c.shape.head_dim} + 4));
}
int64_t table_stride(const Case& c) {
  const Shape& s = c.shape;
  return or_dense(c.strides.block_table, s.block_size > 0 ? s.max_model_len / s.block_size + 1 : 1);
}

mqa_paged_logits_args paged_arguments(const Case& c) {
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
  a.kv_block_stride_bytes = block_stride(c);
  a.weights_stride = or_dense(c.strides.weights, s.heads);
  a.context_lens_stride = s.lens_per_row ? s.next_n : 1;
  a.block_table_stride = is_ragged(c.op) ? 0 : table_stride(c);
  a.logits_stride = or_dense(c.strides.logits, s.max_model_len);
  if (is_ragged(c.op)) a.slot_prefix = &kSomewhere;
  if (is_per_head(c.op) || c.op == Operation::head_sum)
    a.logits_stride_head =
        or_dense(c.strides.logits_head, std::max<int64_t>(1, times(rows_of(s), a.logits_stride)));
  return a;
}

mqa_prefill_logits_args prefill_arguments(const Case& c) {
  const Shape& s = c.shape;
  mqa_prefill_logits_args a{};
  a.struct_size = sizeof a;
  a.rows = as_count(rows_of(s)), a.heads = s.heads, a.head_dim = s.head_dim;
  a.fp8 = s.fp8, a.tail = s.tail, a.compressed = s.compressed;
  a.num_keys = s.num_blocks, a.columns = s.max_model_len;
  a.q_stride_head = or_dense(c.strides.q[2], s.head_dim);
  a.q_stride_row = or_dense(c.strides.q[1], times(s.heads, a.q_stride_head));
  a.k_stride = or_dense(c.strides.kv_block, s.head_dim);
  a.k_scales_stride = or_dense(c.strides.key_scales, 1);
  a.weights_stride = or_dense(c.strides.weights, s.heads);
  a.logits_stride = or_dense(c.strides.logits, s.max_model_len);
  return a;
}

mqa_head_sum_args sum_arguments(const Case& c) {
  mqa_head_sum_args a{};
  a.struct_size = sizeof a;
  a.rows = rows_of(c.shape), a.heads = c.shape.heads, a.columns = c.shape.max_model_len;
  a.stride_row = a.sums_stride = or_dense(c.strides.logits, a.columns);
  a.stride_head = or_dense(c.strides.logits_head, times(a.rows, a.stride_row));
  return a;
}

mqa_top_k_args top_k_arguments(const Case& c) {
  const Shape& s = c.shape;
  mqa_top_k_args a{};
  a.struct_size = sizeof a;
  a.batch = s.batch, a.next_n = s.next_n, a.k = c.selection.k, a.stable = c.selection.stable;
  a.columns = s.max_model_len, a.logits_stride = or_dense(c.strides.logits, s.max_model_len);
  a.lens_per_row = s.lens_per_row, a.context_lens_stride = s.lens_per_row ? s.next_n : 1;
  a.starts = s.starts.empty() ? nullptr : &kSomewhere;
  a.indices_stride = or_dense(c.strides.indices, c.selection.k);
  return a;
}

mqa_cache_write_args write_arguments(const Case& c) {
  const Shape& s = c.shape;
  mqa_cache_write_args a{};
  a.struct_size = sizeof a;
  a.tokens = all_tokens(c), a.head_dim = s.head_dim, a.block_size = s.block_size;
  a.layout = s.layout, a.fp8 = s.fp8;
  a.key_type = c.writer.key_type, a.scale_format = c.writer.scale_format;
  a.num_blocks = s.num_blocks, a.kv_block_stride_bytes = block_stride(c);
  a.keys_stride = or_dense(c.strides.keys, s.head_dim);
  return a;
}

mqa_cache_gather_args gather_arguments(const Case& c) {
  const Shape& s = c.shape;
  mqa_cache_gather_args a{};
  a.struct_size = sizeof a;
  a.batch = s.batch, a.head_dim = s.head_dim, a.block_size = s.block_size, a.layout = s.layout;
  a.num_blocks = s.num_blocks, a.kv_block_stride_bytes = block_stride(c);
  a.block_table_stride = table_stride(c), a.tokens = all_tokens(c);
  a.keys_stride = or_dense(c.strides.keys, s.head_dim);
  a.scales_stride = or_dense(c.strides.key_scales, 1);
  return a;
}

// The library got as far as the pointers: it found nothing wrong with shape and strides.
bool refused_for_pointers(mqa_status status) {
  return status == MQA_INVALID_ARGUMENT &&
         std::string_view(production().last_error()).find("NULL") != std::string_view::npos;
}

// What the library says to the shape and, if nothing, to the rest, with `count` set to 0.
template <class Args, class Count, class Call> bool refuses(Args args, Count Args::* count, Call call) {
  mqa_status status = call(args);
  if (refused_for_pointers(status) || args.*count == 0) {
    args.*count = 0;
    status = call(args);
  }
  return (status == MQA_INVALID_ARGUMENT || status == MQA_UNSUPPORTED) && *production().last_error();
}

bool refuses_logits(const Case& c) {
  const auto entry = is_per_head(c.op) || c.op == Operation::head_sum ? production().per_head_logits
                     : is_ragged(c.op)                                ? production().ragged_logits
                                                                      : production().paged_logits;
  return refuses(paged_arguments(c), &mqa_paged_logits_args::batch,
                 [&](const auto& a) { return entry(&a, &c.config, nullptr, nullptr); });
}
bool refuses_prefill(const Case& c) {
  return refuses(prefill_arguments(c), &mqa_prefill_logits_args::rows,
                 [&](const auto& a) { return production().prefill_logits(&a, &c.config, nullptr, nullptr); });
}
bool refuses_sum(const Case& c) {
  return refuses(sum_arguments(c), &mqa_head_sum_args::rows,
                 [](const auto& a) { return production().head_sum(&a, nullptr); });
}
bool refuses_top_k(const Case& c) {
  return refuses(top_k_arguments(c), &mqa_top_k_args::batch,
                 [](const auto& a) { return production().top_k(&a, nullptr); });
}
bool refuses_write(const Case& c) {
  return refuses(write_arguments(c), &mqa_cache_write_args::tokens,
                 [](const auto& a) { return production().cache_write(&a, nullptr); });
}
bool refuses_gather(const Case& c) {
  return refuses(gather_arguments(c), &mqa_cache_gather_args::batch,
                 [](const auto& a) { return production().cache_gather(&a, nullptr); });
}

// By any of the calls that the operation is made of.
bool refuses_operation(const Case& c) {
  switch (c.op) {
  case Operation::prefill_logits: return refuses_prefill(c);
  case Operation::head_sum: return refuses_logits(c) || refuses_sum(c);
  case Operation::top_k: return refuses_top_k(c);
  case Operation::cache_write: return refuses_write(c);
  case Operation::cache_gather: return refuses_gather(c);
  case Operation::indexer: return refuses_write(c) || refuses_logits(c) || refuses_top_k(c);
  default: return refuses_logits(c);
  }
}

} // namespace

Verdict check_refusal(const Case& c, const std::string& why) {
  const bool in_words = refuses_operation(c);
  Verdict v;
  v.verdict = in_words ? VerdictClass::rejected : VerdictClass::fault;
  v.message = in_words ? fmt::format("rejected: {}", production().last_error())
                       : fmt::format("fault: the library did not refuse an illegal case: {}", why);
  v.signature = {v.verdict, in_words ? "refused" : "illegal case accepted", ""};
  return v;
}

} // namespace mqalab
