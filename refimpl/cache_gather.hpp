// The gather as an executable specification: token i of sequence b becomes row cu_seq_lens[b] + i
// (mqa_cache_gather in mqa.h).
#pragma once
#include "refimpl/problem.hpp"
#include "refimpl/sparse_buffer.hpp"

#include <cstdint>
#include <vector>

namespace mqalab {

// cu_seq_lens: batch + 1 entries, from 0.
std::vector<int32_t> gather_prefix(const Problem&);

struct GatheredKey {
  std::vector<uint8_t> values; // head_dim
  uint32_t scale_bits = 0;
};
// What the gather writes for token `token` of sequence `sequence`.
GatheredKey gathered(const Problem&, const SparseBuffer& cache, int32_t sequence, int64_t token);

// Extents of the outputs, in bytes: rows whole, with the padding of the last one.
int64_t gathered_keys_bytes(const Problem&);
int64_t gathered_scales_bytes(const Problem&);

} // namespace mqalab
