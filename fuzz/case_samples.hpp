// Random cases for property tests: every field takes its default, a boundary or a wild value.
#pragma once
#include "fuzz/case.hpp"
#include "fuzz/case_lengths.hpp"
#include "fuzz/case_names.hpp"

#include <random>

namespace mqalab {

struct CaseSampler {
  std::mt19937_64 random;
  explicit CaseSampler(uint64_t seed) : random(seed) {}

  uint64_t below(uint64_t n) { return random() % n; }
  template <class Int> void wild(Int& out) {
    switch (below(6)) {
    case 0: out = static_cast<Int>(random()); break;
    case 1: out = static_cast<Int>(below(300)); break;
    case 2: out = std::numeric_limits<Int>::max(); break;
    case 3: out = std::numeric_limits<Int>::min(); break;
    default: break; // the default
    }
  }
  template <class Enum> void word(Enum& out) { out = static_cast<Enum>(below(names_of(out).size())); }
  // Any field anything: for the two file forms.
  Case any() {
    Case c;
    Shape& s = c.shape;
    for (int32_t* v :
         {&s.batch, &s.next_n, &s.heads, &s.head_dim, &s.block_size, &c.block_table.period, &c.config.chunk_k,
          &c.config.split_kv, &c.config.wave_per_eu, &c.selection.k, &c.writer.skip_every})
      wild(*v);
    for (int64_t* v : {&s.max_model_len, &s.num_blocks, &c.strides.q[0], &c.strides.q[1], &c.strides.q[2],
                       &c.strides.weights, &c.strides.block_table, &c.strides.logits, &c.strides.kv_block,
                       &c.strides.logits_head, &c.strides.keys, &c.strides.key_scales, &c.strides.indices})
      wild(*v);
    word(s.layout), word(s.fp8), word(s.tail), word(c.block_table.mode), word(c.block_table.padding);
    word(c.data.lane), word(c.data.pattern);
    word(c.op), word(c.writer.key_type), word(c.writer.scale_format);
    c.config.variant = static_cast<int32_t>(below(kVariantNames.size()));
    s.lens_per_row = below(2), s.compressed = below(2), c.selection.stable = below(2);
    wild(c.block_table.seed), wild(c.data.seed);
    s.context_lens = default_lengths(s);
    if (below(2)) {
      s.context_lens.resize(below(6));
      for (int32_t& len : s.context_lens) wild(len);
    }
    if (below(3) == 0) s.starts.resize(below(6));
    for (int32_t& start : s.starts) wild(start);
    for (uint64_t i = below(3); i > 0; --i) wild(c.block_table.set.emplace_back(TableOverride{1, 2, 3}).id);
    for (uint64_t i = below(3); i > 0; --i) {
      Override& o = c.data.overrides.emplace_back();
      word(o.tensor);
      o.index = static_cast<int64_t>(below(uint64_t{1} << 40));
      o.bits =
          static_cast<uint32_t>(below(o.tensor == Tensor::q || o.tensor == Tensor::k ? 256 : UINT32_MAX));
    }
    return c;
  }
};

} // namespace mqalab
