// libmqa's contract (mqa.h) for every operation, written here a second time on purpose so that a slip in the
// library's own check shows.  Only what the library can see is asked: it has no view of lengths, tables and
// prefixes, which lie in device memory, and none of a field that only the lab has.
#include "fuzz/case.hpp"
#include "fuzz/case_rules.hpp"
#include "fuzz/fields.hpp"

#include <fmt/format.h>

namespace mqalab {
namespace {

// Fields that size the lab's own inputs of an operation, and that its entry point is never told.
bool seen_by_library(Operation op, std::string_view field) {
  if (op == Operation::cache_write && (field == "batch" || field == "max_model_len")) return false;
  if (op == Operation::cache_gather && field == "max_model_len") return false;
  return has_meaning(op, field);
}

std::string illegal_rows(const Case& c) {
  const Shape& s = c.shape;
  if (c.op == Operation::prefill_logits) // the library knows S = batch * next_n rows only
    return rows(c) < 0 ? refusal("batch * next_n", rows(c), "0 or more rows") : "";
  if (seen_by_library(c.op, "batch") && s.batch < 0) return refusal("batch", s.batch, "0 or more");
  if (seen_by_library(c.op, "next_n") && s.next_n < 1) return refusal("next_n", s.next_n, "1 or more");
  if (seen_by_library(c.op, "next_n") && rows(c) > INT32_MAX)
    return refusal("batch * next_n", rows(c), "up to 2147483647 rows");
  return {};
}

std::string illegal_block(const Case& c) {
  const Shape& s = c.shape;
  if (!seen_by_library(c.op, "block_size")) return {};
  const bool multiple = s.block_size >= 16 && s.block_size <= 1024 && s.block_size % 16 == 0;
  if (s.block_size != 1 && !multiple)
    return refusal("block_size", s.block_size, "1, or a multiple of 16 up to 1024");
  if (s.layout == MQA_SHUFFLED && s.block_size == 1)
    return refusal("block_size", 1, "a multiple of 16 up to 1024 with the shuffled layout");
  return {};
}

std::string illegal_counts(const Case& c) {
  struct Rule {
    const char* field;
    int64_t given, least, most;
  };
  const int64_t most_blocks = c.op == Operation::prefill_logits ? 1 << 24 : INT32_MAX;
  const Rule rules[] = {{"heads", c.shape.heads, 1, 1024},
                        {"max_model_len", c.shape.max_model_len, 1, 1 << 24},
                        {"num_blocks", c.shape.num_blocks, 0, most_blocks},
                        {"top_k.k", c.selection.k, 1, 4096}};
  for (const Rule& r : rules)
    if (seen_by_library(c.op, r.field) && (r.given < r.least || r.given > r.most))
      return refusal(r.field, r.given, fmt::format("{} to {}", r.least, r.most));
  const int32_t dim = c.shape.head_dim;
  if (seen_by_library(c.op, "head_dim") && (dim < 16 || dim > 256 || dim % 16))
    return refusal("head_dim", dim, "a multiple of 16 from 16 to 256");
  return {};
}

std::string illegal_config(const mqa_config& c) {
  if (c.variant < 0 || c.variant > MQA_VARIANT_SCHEDULED)
    return refusal("config.variant", c.variant, "auto, staged, direct, wgmma, general or scheduled");
  if (c.chunk_k < 0 || c.chunk_k > 4096 || c.chunk_k % 64)
    return refusal("config.chunk_k", c.chunk_k, "0 (automatic), or a multiple of 64 up to 4096");
  if (c.split_kv < 0 || c.split_kv > 65535)
    return refusal("config.split_kv", c.split_kv, "0 (automatic) to 65535");
  if (c.wave_per_eu < 0 || c.wave_per_eu > 4 || (c.wave_per_eu == 3 && c.variant != MQA_VARIANT_WGMMA))
    return refusal("config.wave_per_eu", c.wave_per_eu, "0 (automatic), 1, 2 or 4; 3 for variant wgmma");
  return {};
}

// (count - 1) * stride + inner, at least 1, and the largest number there is where that does not fit.
int64_t extent(int64_t count, int64_t stride, int64_t inner) {
  if (count < 1) return 1; // nothing lies apart
  int64_t outer, sum;
  if (__builtin_mul_overflow(count - 1, stride, &outer) || __builtin_add_overflow(outer, inner, &sum))
    return INT64_MAX;
  return sum;
}

} // namespace

std::string illegal_strides(const Case& c, StrideRules which) {
  struct Rule {
    const char* field;
    int64_t given, least, items;
  };
  const Shape& s = c.shape;
  const Strides& t = c.strides;
  const bool lab = which == StrideRules::lab, prefill = c.op == Operation::prefill_logits;
  const int64_t columns = s.max_model_len, width = table_width(s), tokens = all_tokens(c);
  const int64_t logits = t.logits > 0 ? t.logits : columns;
  const int64_t block = prefill ? s.head_dim : int64_t{s.block_size} * (s.head_dim + 4);
  const int64_t entries =
      c.op == Operation::cache_gather && !lab ? 1 : width; // a gather knows no longest sequence
  const Rule rules[] = {{"strides.q[0]", t.q[0], s.head_dim, s.batch},
                        {"strides.q[1]", t.q[1], s.head_dim, prefill ? rows(c) : s.next_n},
                        {"strides.q[2]", t.q[2], s.head_dim, s.heads},
                        {"strides.weights", t.weights, s.heads, rows(c)},
                        {"strides.block_table", t.block_table, entries, s.batch},
                        {"strides.logits", t.logits, columns, rows(c)},
                        {"strides.logits_head", t.logits_head, extent(rows(c), logits, columns), s.heads},
                        {"strides.kv_block", t.kv_block, block, s.num_blocks},
                        {"strides.keys", t.keys, s.head_dim, tokens},
                        {"strides.key_scales", t.key_scales, 1, 2},
                        {"strides.indices", t.indices, c.selection.k, rows(c)}};
  for (const Rule& r : rules) {
    // libmqa does not look at the stride of a single item; the lab, which sizes buffers by it, does.
    const bool single = !lab && r.given > 0 && r.items <= 1;
    if (has_meaning(c.op, r.field) && r.given != 0 && r.given < r.least && !single)
      return refusal(r.field, r.given, fmt::format("0 (dense), or {} and more", r.least));
  }
  if (t.kv_block % 4 && has_meaning(c.op, "strides.kv_block"))
    return refusal("strides.kv_block", t.kv_block,
                   prefill ? "a multiple of 4" : "a multiple of 4 (the scales are floats)");
  return {};
}

std::string why_outside_contract(const Case& c) {
  for (const auto& rule : {illegal_rows, illegal_counts, illegal_block})
    if (auto why = rule(c); !why.empty()) return why;
  if (auto why = illegal_strides(c, StrideRules::contract); !why.empty()) return why;
  return has_meaning(c.op, "config.variant") ? illegal_config(c.config) : "";
}

} // namespace mqalab
