// Makes the bytes of a problem's tensors.  Counter-based: every element is a pure function of (seed, tensor,
// index), where index names *what* the element is (row, head, dim; physical block, token, dim), never where
// it lies.  So shrinking a shape or changing a stride leaves the surviving elements as they were.
#pragma once
#include "refimpl/problem.hpp"
#include "refimpl/sparse_buffer.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace mqalab {

enum class Lane : uint8_t { exact, numeric, special };
// Sub-lanes of the exact lane (oracle.md, 2.1); numeric and special ignore it.  raw_bytes overrules the lane:
// uniformly random key and scale bytes under gaussian queries and weights (the data of vllm#39303), judged
// like `special`.
enum class Pattern : uint8_t { general, positive, address, one_token, one_head, one_dim, raw_bytes };
enum class Tensor : uint8_t { q, k, scale, weights };

// One element overridden.  index: q (row*heads + head)*head_dim + dim; k (block*block_size + token)*head_dim
// + dim; scale block*block_size + token; weights row*heads + head.  bits: a byte for q and k, an fp32 pattern
// otherwise.
struct Override {
  Tensor tensor = Tensor::q;
  int64_t index = 0;
  uint32_t bits = 0;
  auto operator<=>(const Override&) const = default;
};

struct DataSpec {
  Lane lane = Lane::exact;
  Pattern pattern = Pattern::general;
  uint64_t seed = 1;
  std::vector<Override> overrides;
  auto operator<=>(const DataSpec&) const = default;
};

// True when bitwise comparison is fair: the exact lane, and overrides that stay within its ranges.
bool is_exact(const Problem&, const DataSpec&);

// What fills everything the read set excludes: unreferenced blocks, tokens past the needed ones, paddings.
// (Padding of the block table is part of Problem.)
enum class Poison : uint8_t { nan_codes, large_finite };

struct Tensors {
  SparseBuffer q, kv_cache, weights; // laid out with the problem's strides; kv_cache: the keys of a prefill
  SparseBuffer key_scales;           // of a prefill; else empty

  // The tensor that scale_offset_bytes counts in.
  SparseBuffer& scales(const Problem&);
  const SparseBuffer& scales(const Problem&) const;
};

// Generates the tensors.  Overrides come last; one that names an element outside the problem changes nothing.
// In pools above `dense_pool_bytes` only needed blocks and their direct neighbours are filled,
// in smaller ones everything is.
Tensors generate(const Problem&, const DataSpec&, Poison = Poison::nan_codes,
                 int64_t dense_pool_bytes = 1 << 24);

// The address code (oracle.md, 2.1): which physical slot a logit/scale of row `row` decodes to, or -1.
int64_t decode_address(const Problem&, const DataSpec&, int64_t row, float logit, float scale);

} // namespace mqalab
