// What the lab can check: a case inside the contract whose fields all mean something, in a form that the
// operation has, and of a size that one check can bear.
#include "fuzz/case.hpp"
#include "fuzz/case_lengths.hpp"
#include "fuzz/case_names.hpp"
#include "fuzz/case_rules.hpp"
#include "fuzz/fields.hpp"
#include "refimpl/cache_write.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace mqalab {
namespace {

constexpr int64_t kLargestBuffer_bytes = int64_t{64} << 30; // address space, not memory
struct Limits {
  int64_t cells;  // of the output: what the oracle looks at
  int64_t tokens; // dots of all rows: what the reference computes
};
constexpr Limits kOnHost{int64_t{1} << 25, int64_t{1} << 20};
#ifdef MQALAB_SIM
constexpr Limits kOnDevice = kOnHost; // a simulator would need hours
#else
constexpr Limits kOnDevice{int64_t{1} << 33, int64_t{1} << 33};
#endif
constexpr int64_t kMostTableEntries = int64_t{1} << 25;
constexpr int64_t kLargestStride = int64_t{1} << 35; // times heads and rows still below 2^63

// Products of strides and counts may pass 64 bits in an illegal case; double is exact enough for a limit.
double product(int64_t a, int64_t b) { return static_cast<double>(a) * static_cast<double>(b); }

// ---- fields without meaning ----
std::string meaningless(std::string_view field, Operation op) {
  return fmt::format("{} has no meaning for {}; allowed: leave it out", field, name_of(op));
}
std::string meaningless_field(const Case& c) {
  for (const Field& f : fields())
    if (!has_meaning(c.op, f.name) && f.get(c) != f.smallest) return meaningless(f.name, c.op);
  if (!has_meaning(c.op, "starts") && !c.shape.starts.empty()) return meaningless("starts", c.op);
  if (!has_meaning(c.op, "block_table.set") && !c.block_table.set.empty())
    return meaningless("block_table.set", c.op);
  if (!has_meaning(c.op, "data.set") && !c.data.overrides.empty()) return meaningless("data.set", c.op);
  return {};
}

// ---- forms ----
// What sizes the lab's inputs whether the library is told or not.
std::string illegal_form(const Case& c) {
  const Shape& s = c.shape;
  if (s.batch < 0) return refusal("batch", s.batch, "0 or more");
  if (s.next_n < 1) return refusal("next_n", s.next_n, "1 or more");
  if (s.max_model_len < 1 || s.max_model_len > 1 << 24)
    return refusal("max_model_len", s.max_model_len, "1 to 16777216");
  if (c.writer.skip_every < 0)
    return refusal("writer.skip_every", c.writer.skip_every, "0 (skip none) or more");
  if (c.op == Operation::prefill_logits && s.batch > 1)
    return refusal("batch", s.batch, "0 or 1 for prefill_mqa_logits; its rows are next_n");
  if (c.op == Operation::prefill_logits && !s.lens_per_row)
    return "lens_per_row is false; allowed: true for prefill_mqa_logits, context_lens are the ends of its "
           "rows";
  if (c.op == Operation::head_sum && s.tail != MQA_TAIL_NEG_INF)
    return "tail is untouched; allowed: neg_inf for per_head_sum, the sum reads every column";
  return {};
}

// The forms that context_lens may have here.
std::string lengths_allowed(const Case& c) {
  const int64_t rows = int64_t{c.shape.batch} * c.shape.next_n;
  const std::string per_row = fmt::format("{} (one per row)", rows),
                    per_sequence = fmt::format("{} (one per sequence)", c.shape.batch);
  const bool rows_only = c.op == Operation::prefill_logits || !c.shape.starts.empty() || c.shape.lens_per_row;
  if (rows_only) return per_row;
  return rows == c.shape.batch || !has_meaning(c.op, "lens_per_row") ? per_sequence
                                                                     : per_sequence + " or " + per_row;
}

std::string illegal_lengths(const Case& c) {
  const Shape& s = c.shape;
  const double wanted = product(s.batch, s.lens_per_row ? s.next_n : 1);
  if (static_cast<double>(s.context_lens.size()) != wanted)
    return fmt::format("context_lens has {} entries; allowed: {}", s.context_lens.size(), lengths_allowed(c));
  const bool counted = is_ragged(c.op) || c.op == Operation::cache_write || c.op == Operation::cache_gather;
  for (size_t i = 0; i < s.context_lens.size() && counted; ++i)
    if (s.context_lens[i] < 0)
      return refusal(fmt::format("context_lens[{}]", i), s.context_lens[i],
                     fmt::format("0 or more for {}", name_of(c.op)));
  if (s.starts.empty()) return {};
  if (!s.lens_per_row) return "starts are given without lens_per_row; allowed: both, or neither";
  if (static_cast<int64_t>(s.starts.size()) != rows(c))
    return fmt::format("starts has {} entries; allowed: {} (one per row), or none", s.starts.size(), rows(c));
  return {};
}

// ---- table ----
// Columns of a sequence's part of the table that may be named.
int64_t table_columns(const Case& c, int32_t sequence) {
  if (is_ragged(c.op)) return c.shape.context_lens[static_cast<size_t>(sequence)];
  return std::max(table_width(c.shape), c.strides.block_table);
}

std::string illegal_table(const Case& c) {
  const BlockTable& t = c.block_table;
  if (t.period < 1) return refusal("block_table.period", t.period, "1 or more");
  for (const TableOverride& o : t.set) {
    if (o.row < 0 || o.row >= c.shape.batch) return refusal("block_table.set row", o.row, "0 to batch - 1");
    if (o.column < 0 || o.column >= table_columns(c, o.row))
      return refusal("block_table.set column", o.column,
                     is_ragged(c.op) ? "0 to the sequence's length - 1" : "0 to the table's row stride - 1");
  }
  const bool writes = c.op == Operation::cache_write || c.op == Operation::indexer;
  if (writes && (t.mode == TableMode::one_block || t.mode == TableMode::alias))
    return fmt::format(
        "block_table.mode is {}; allowed: a mode that names no block twice, because {} writes to it",
        name_of(t.mode), name_of(c.op));
  return {};
}

// Two tokens of a writer must not share a slot.
std::string aliased_slots(const Case& c) {
  const bool writes = c.op == Operation::cache_write || c.op == Operation::indexer;
  if (!writes || c.block_table.set.empty()) return {};
  const Problem p = resolve(c);
  std::vector<int32_t> ids;
  for (int32_t b = 0; b < p.batch; ++b) {
    const auto begin = p.block_table.begin() + b * p.block_table_stride;
    ids.insert(ids.end(), begin, begin + p.needed_blocks(b));
  }
  std::erase_if(ids, [&](int32_t id) { return id < 0 || id >= p.num_blocks; });
  std::sort(ids.begin(), ids.end());
  const auto twice = std::adjacent_find(ids.begin(), ids.end());
  if (twice == ids.end()) return {};
  return fmt::format(
      "block_table.set names block {} a second time; allowed: ids that no other entry has, because {} "
      "writes to them",
      *twice, name_of(c.op));
}

// ---- overrides ----
// Elements of a tensor that an override may name; the cache's depend on the resolved number of blocks.
int64_t element_count(const Problem& p, Tensor tensor) {
  if (p.op == Operation::cache_write) return tensor == Tensor::k ? writer_tokens(p) * p.head_dim : 0;
  const int64_t queries = p.op == Operation::cache_gather ? 0 : p.rows() * p.heads;
  const int64_t slots =
      p.op == Operation::indexer ? 0 : p.num_blocks * p.block_size; // an indexer writes its keys
  switch (tensor) {
  case Tensor::q: return queries * p.head_dim;
  case Tensor::k: return slots * p.head_dim;
  case Tensor::scale: return slots;
  case Tensor::weights: break;
  }
  return queries;
}

std::string illegal_overrides(const Case& c, const Problem& p) {
  for (const Override& o : c.data.overrides) {
    const int64_t count = element_count(p, o.tensor);
    if (o.index < 0 || o.index >= count)
      return refusal(fmt::format("data.set index of {}", name_of(o.tensor)), o.index,
                     count ? fmt::format("0 to {}", count - 1) : "none for this case");
    if (p.op == Operation::cache_write && p.key_type != MQA_KEY_FP32 && o.bits > 0xffff)
      return refusal("data.set bits", o.bits, fmt::format("0 to 65535, one {} key", name_of(p.key_type)));
    const bool byte = p.op != Operation::cache_write && (o.tensor == Tensor::q || o.tensor == Tensor::k);
    if (byte && o.bits > 0xff) return refusal("data.set bits", o.bits, "0 to 255, one FP8 byte");
  }
  return {};
}

// ---- sizes ----
struct Size {
  std::string_view what;
  double given, most;
  std::string_view unit;
};
std::string first_too_large(std::initializer_list<Size> sizes) {
  for (const Size& s : sizes)
    if (s.given > s.most)
      return fmt::format("{} is {:.0f} {}; allowed: up to {:.0f} in the lab", s.what, s.given, s.unit,
                         s.most);
  return {};
}

int64_t longest_stride(const Strides& t) {
  return std::max({t.q[0], t.q[1], t.q[2], t.weights, t.block_table, t.logits, t.kv_block, t.logits_head,
                   t.keys, t.key_scales, t.indices});
}

// Before resolve(): nothing that it allocates may be absurd.
std::string beyond_shape_limits(const Case& c, const Limits& limits) {
  const double count = product(c.shape.batch, c.shape.next_n);
  const bool has_logits = has_meaning(c.op, "strides.logits");
  const double planes = has_meaning(c.op, "strides.logits_head") ? c.shape.heads : 1;
  const double cells = has_logits ? planes * count * static_cast<double>(c.shape.max_model_len) : 0;
  const bool has_table = has_meaning(c.op, "block_table.set") && !is_ragged(c.op);
  const double entries = has_table ? product(c.shape.batch, table_columns(c, 0)) : 0;
  const auto all = static_cast<double>(all_tokens(c));
  return first_too_large(
      {{"batch * next_n", count, kMostRows, "rows"},
       {planes > 1 ? "heads * rows * max_model_len" : "rows * max_model_len", cells,
        static_cast<double>(limits.cells), "cells"},
       {"rows * top_k.k", count * c.selection.k, kOnHost.cells, "indices"},
       {"the largest stride", static_cast<double>(longest_stride(c.strides)), kLargestStride, "elements"},
       {"the block table", is_ragged(c.op) ? all : entries, kMostTableEntries, "entries"}});
}

double visible(const Problem& p) {
  double tokens = 0;
  for (int64_t r = 0; r < p.rows(); ++r)
    tokens += static_cast<double>(std::max<int64_t>(0, p.limit(r) - p.first(r)));
  return tokens;
}

// Keys that a writer reads, a gather writes or a prefill sees.
double key_rows(const Problem& p) {
  if (p.op == Operation::prefill_logits) return static_cast<double>(p.num_blocks);
  double tokens = 0;
  for (int32_t b = 0; b < p.batch; ++b) tokens += static_cast<double>(p.needed_tokens(b));
  return tokens;
}

std::string beyond_size_limits(const Case& c, const Problem& p, const Limits& limits) {
  constexpr auto limit = static_cast<double>(kLargestBuffer_bytes);
  const double q = product(c.shape.batch, p.q_stride_batch) + product(p.next_n, p.q_stride_next) +
                   product(p.heads, p.q_stride_head);
  const bool planes = has_meaning(c.op, "strides.logits_head");
  const double logits =
      product(p.rows(), p.logits_stride) + (planes ? product(p.heads, p.logits_stride_head) : 0);
  const double keys = key_rows(p);
  const int64_t key_bytes = c.op == Operation::cache_gather ? 1 : c.writer.key_type == MQA_KEY_FP32 ? 4 : 2;
  return first_too_large({{"kv_cache", product(p.num_blocks, p.kv_block_stride_bytes), limit, "bytes"},
                          {"q", q, limit, "bytes"},
                          {"weights", 4 * product(p.rows(), p.weights_stride), limit, "bytes"},
                          {"logits", 4 * logits, limit, "bytes"},
                          {"keys", keys * product(key_bytes, p.keys_stride), limit, "bytes"},
                          {"key scales", 4 * keys * static_cast<double>(p.key_scales_stride), limit, "bytes"},
                          {"indices", 4 * product(p.rows(), p.indices_stride), limit, "bytes"},
                          {"the sum of all rows' visible tokens", c.op == Operation::top_k ? 0 : visible(p),
                           static_cast<double>(limits.tokens), "tokens"}});
}

} // namespace

std::string refusal(std::string_view field, int64_t given, const std::string& allowed) {
  return fmt::format("{} is {}; allowed: {}", field, given, allowed);
}
int64_t table_width(const Shape& s) {
  const int64_t block = std::max(s.block_size, 1);
  return s.max_model_len / block + (s.max_model_len % block != 0);
}
int64_t all_tokens(const Case& c) {
  int64_t tokens = 0;
  for (const int32_t length : c.shape.context_lens) tokens += std::max(length, 0);
  return tokens;
}

namespace {
std::string why_beyond(const Case& c, const Limits& limits) {
  if (auto why = why_outside_contract(c); !why.empty()) return why;
  for (const auto& rule : {meaningless_field, illegal_form, illegal_lengths})
    if (auto why = rule(c); !why.empty()) return why;
  if (auto why = illegal_strides(c, StrideRules::lab); !why.empty()) return why;
  if (auto why = beyond_shape_limits(c, limits); !why.empty()) return why;
  if (auto why = illegal_table(c); !why.empty()) return why;
  const Problem p = resolve_shape(c);
  if (auto why = beyond_size_limits(c, p, limits); !why.empty()) return why;
  if (auto why = aliased_slots(c); !why.empty()) return why;
  return illegal_overrides(c, p);
}
} // namespace

std::string why_illegal(const Case& c) { return why_beyond(c, kOnHost); }
std::string why_unjudgeable(const Case& c) { return why_beyond(c, makes_logits(c.op) ? kOnDevice : kOnHost); }

} // namespace mqalab
