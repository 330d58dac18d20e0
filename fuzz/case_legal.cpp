// What a case may ask for.  Two questions: libmqa's contract (mqa.h), written here a second time on purpose
// so that a slip in the library's own check shows; and the lab's limits, which keep one check within a
// machine.
#include "fuzz/case.hpp"
#include "fuzz/case_lengths.hpp"
#include "fuzz/case_names.hpp"

#include <fmt/format.h>

#include <cmath>

namespace mqalab {
namespace {

constexpr int64_t kLargestBuffer_bytes = int64_t{64} << 30; // address space, not memory
constexpr int64_t kMostCells = int64_t{1} << 25;            // rows * max_model_len: what the oracle looks at
constexpr int64_t kMostTokens = int64_t{1} << 20;           // dots of all rows: what the reference computes
constexpr int64_t kMostTableEntries = int64_t{1} << 25;
constexpr int64_t kLargestStride = int64_t{1} << 35; // times heads and rows still below 2^63

std::string refusal(std::string_view field, int64_t given, const std::string& allowed) {
  return fmt::format("{} is {}; allowed: {}", field, given, allowed);
}

// Products of strides and counts may pass 64 bits in an illegal case; double is exact enough for a limit.
double product(int64_t a, int64_t b) { return static_cast<double>(a) * static_cast<double>(b); }

std::string illegal_shape(const Shape& s) {
  if (s.batch < 0) return refusal("batch", s.batch, "0 or more");
  if (s.next_n < 1) return refusal("next_n", s.next_n, "1 or more");
  if (int64_t{s.batch} * s.next_n > INT32_MAX)
    return refusal("batch * next_n", int64_t{s.batch} * s.next_n, "up to 2147483647 rows");
  if (s.heads < 8 || s.heads > 128 || s.heads % 8)
    return refusal("heads", s.heads, "a multiple of 8 from 8 to 128");
  if (s.head_dim != 32 && s.head_dim != 64 && s.head_dim != 128)
    return refusal("head_dim", s.head_dim, "32, 64 or 128");
  const bool multiple = s.block_size >= 16 && s.block_size <= 1024 && s.block_size % 16 == 0;
  if (s.block_size != 1 && !multiple)
    return refusal("block_size", s.block_size, "1, or a multiple of 16 up to 1024");
  if (s.layout == MQA_SHUFFLED && s.block_size == 1)
    return refusal("block_size", 1, "a multiple of 16 up to 1024 with the shuffled layout");
  if (s.max_model_len < 1 || s.max_model_len > 1 << 24)
    return refusal("max_model_len", s.max_model_len, "1 to 16777216");
  if (s.num_blocks < 0 || s.num_blocks > INT32_MAX)
    return refusal("num_blocks", s.num_blocks, "0 (as many as needed) to 2147483647");
  return {};
}

std::string illegal_lengths(const Shape& s) {
  const double wanted = product(s.batch, s.lens_per_row ? s.next_n : 1);
  if (static_cast<double>(s.context_lens.size()) == wanted) return {};
  return fmt::format("context_lens has {} entries; allowed: {} (one per sequence) or {} (one per row)",
                     s.context_lens.size(), s.batch, int64_t{s.batch} * s.next_n);
}

// libmqa does not look at the stride of a single item; the lab, which sizes buffers by it, does (`strict`).
std::string illegal_stride(std::string_view field, int64_t given, int64_t least, int64_t items, bool strict) {
  if (given == 0 || given >= least || (!strict && given > 0 && items <= 1)) return {};
  return refusal(field, given, fmt::format("0 (dense), or {} and more", least));
}

std::string illegal_strides(const Shape& s, const Strides& t, bool strict) {
  struct Rule {
    const char* field;
    int64_t given, least, items;
  };
  const int64_t width = (s.max_model_len + s.block_size - 1) / s.block_size,
                rows = int64_t{s.batch} * s.next_n;
  const Rule rules[] = {{"strides.q[0]", t.q[0], s.head_dim, s.batch},
                        {"strides.q[1]", t.q[1], s.head_dim, s.next_n},
                        {"strides.q[2]", t.q[2], s.head_dim, s.heads},
                        {"strides.weights", t.weights, s.heads, rows},
                        {"strides.block_table", t.block_table, width, s.batch},
                        {"strides.logits", t.logits, s.max_model_len, rows},
                        {"strides.kv_block", t.kv_block, int64_t{s.block_size} * (s.head_dim + 4), 2}};
  for (const Rule& r : rules)
    if (auto why = illegal_stride(r.field, r.given, r.least, r.items, strict); !why.empty()) return why;
  if (t.kv_block % 4)
    return refusal("strides.kv_block", t.kv_block, "a multiple of 4 (the scales are floats)");
  return {};
}

std::string illegal_config(const mqa_config& c) {
  if (c.variant < 0 || c.variant > MQA_VARIANT_WGMMA)
    return refusal("config.variant", c.variant, "auto, staged, direct or wgmma");
  if (c.chunk_k < 0 || c.chunk_k > 4096 || c.chunk_k % 64)
    return refusal("config.chunk_k", c.chunk_k, "0 (automatic), or a multiple of 64 up to 4096");
  if (c.split_kv < 0 || c.split_kv > 65535)
    return refusal("config.split_kv", c.split_kv, "0 (automatic) to 65535");
  if (c.wave_per_eu < 0 || c.wave_per_eu > 4 || (c.wave_per_eu == 3 && c.variant != MQA_VARIANT_WGMMA))
    return refusal("config.wave_per_eu", c.wave_per_eu, "0 (automatic), 1, 2 or 4; 3 for variant wgmma");
  return {};
}

std::string illegal_table(const Case& c, int64_t width) {
  if (c.block_table.period < 1) return refusal("block_table.period", c.block_table.period, "1 or more");
  for (const TableOverride& o : c.block_table.set) {
    if (o.row < 0 || o.row >= c.shape.batch) return refusal("block_table.set row", o.row, "0 to batch - 1");
    if (o.column < 0 || o.column >= width)
      return refusal("block_table.set column", o.column, "0 to the table's row stride - 1");
  }
  return {};
}

// Elements of a tensor that an override may name; the cache's depend on the resolved number of blocks.
int64_t element_count(const Problem& p, Tensor tensor) {
  const int64_t slots = p.num_blocks * p.block_size;
  switch (tensor) {
  case Tensor::q: return p.rows() * p.heads * p.head_dim;
  case Tensor::k: return slots * p.head_dim;
  case Tensor::scale: return slots;
  case Tensor::weights: break;
  }
  return p.rows() * p.heads;
}

std::string illegal_overrides(const Case& c, const Problem& p) {
  for (const Override& o : c.data.overrides) {
    const int64_t count = element_count(p, o.tensor);
    if (o.index < 0 || o.index >= count)
      return refusal(fmt::format("data.set index of {}", name_of(o.tensor)), o.index,
                     fmt::format("0 to {}", count - 1));
    const bool byte = o.tensor == Tensor::q || o.tensor == Tensor::k;
    if (byte && o.bits > 0xff) return refusal("data.set bits", o.bits, "0 to 255, one FP8 byte");
  }
  return {};
}

std::string too_large(std::string_view what, double given, double most, std::string_view unit) {
  if (given <= most) return {};
  return fmt::format("{} is {:.0f} {}; allowed: up to {:.0f} in the lab", what, given, unit, most);
}

// Before resolve(): nothing that it allocates may be absurd.
std::string beyond_shape_limits(const Case& c) {
  const Shape& s = c.shape;
  const double rows = product(s.batch, s.next_n);
  if (auto why = too_large("batch * next_n", rows, kMostRows, "rows"); !why.empty()) return why;
  if (auto why =
          too_large("rows * max_model_len", rows * static_cast<double>(s.max_model_len), kMostCells, "cells");
      !why.empty())
    return why;
  const Strides& t = c.strides;
  const int64_t longest = std::max({t.q[0], t.q[1], t.q[2], t.weights, t.block_table, t.logits, t.kv_block});
  if (auto why = too_large("the largest stride", static_cast<double>(longest), kLargestStride, "elements");
      !why.empty())
    return why;
  const int64_t width = (s.max_model_len + s.block_size - 1) / s.block_size;
  const double entries = product(s.batch, std::max(width, c.strides.block_table));
  return too_large("the block table", entries, kMostTableEntries, "entries");
}

std::string beyond_size_limits(const Case& c, const Problem& p) {
  const auto limit = static_cast<double>(kLargestBuffer_bytes);
  const double pool = product(p.num_blocks, p.kv_block_stride_bytes);
  if (auto why = too_large("kv_cache", pool, limit, "bytes"); !why.empty()) return why;
  const double q = product(c.shape.batch, p.q_stride_batch) + product(p.next_n, p.q_stride_next) +
                   product(p.heads, p.q_stride_head);
  if (auto why = too_large("q", q, limit, "bytes"); !why.empty()) return why;
  const auto rows = p.rows();
  if (auto why = too_large("weights", 4 * product(rows, p.weights_stride), limit, "bytes"); !why.empty())
    return why;
  if (auto why = too_large("logits", 4 * product(rows, p.logits_stride), limit, "bytes"); !why.empty())
    return why;
  int64_t tokens = 0;
  for (int64_t r = 0; r < rows; ++r) tokens += p.limit(r);
  return too_large("the sum of all rows' visible tokens", static_cast<double>(tokens), kMostTokens, "tokens");
}

} // namespace

std::string why_outside_contract(const Case& c) {
  if (auto why = illegal_shape(c.shape); !why.empty()) return why;
  if (auto why = illegal_strides(c.shape, c.strides, false); !why.empty()) return why;
  return illegal_config(c.config);
}

std::string why_illegal(const Case& c) {
  if (auto why = why_outside_contract(c); !why.empty()) return why;
  if (auto why = illegal_lengths(c.shape); !why.empty()) return why;
  if (auto why = illegal_strides(c.shape, c.strides, true); !why.empty()) return why;
  if (auto why = beyond_shape_limits(c); !why.empty()) return why;
  const int64_t width = (c.shape.max_model_len + c.shape.block_size - 1) / c.shape.block_size;
  if (auto why = illegal_table(c, std::max(width, c.strides.block_table)); !why.empty()) return why;
  const Problem p = resolve_shape(c);
  if (auto why = beyond_size_limits(c, p); !why.empty()) return why;
  return illegal_overrides(c, p);
}

} // namespace mqalab
