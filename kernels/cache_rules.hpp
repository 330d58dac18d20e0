// Where a token lies in the paged cache, as small pure functions for the writer and the gather (operation.md,
// section 4).  `a` is either of their argument structs: both describe the cache by the same fields.  Whatever
// can pass 2^31 is 64-bit.
#pragma once
#include "kernels/arch/arch.hpp"
#include "kernels/mqa.h"

namespace mqa {

struct CacheRules {
  MQA_HD static constexpr int32_t token_in_block(int64_t token, int32_t block_size) {
    return static_cast<int32_t>(token % block_size);
  }
  template <class Args> MQA_HD static constexpr int64_t block_offset(const Args& a, int64_t block) {
    return block * a.kv_block_stride_bytes;
  }
  // Byte of value (token, dim) inside its block.  Shuffled: groups of 16 tokens, in a group one tile of 256
  // bytes for every 16 dims, in a tile 16 bytes a token.
  template <class Args>
  MQA_HD static constexpr int32_t value_offset(const Args& a, int32_t token, int32_t dim) {
    if (a.layout == MQA_PLANAR) return token * a.head_dim + dim;
    return token / 16 * (16 * a.head_dim) + dim / 16 * 256 + token % 16 * 16 + dim % 16;
  }
  // Byte of a token's scale inside its block; scales are never shuffled.
  template <class Args> MQA_HD static constexpr int32_t scale_offset(const Args& a, int32_t token) {
    return a.block_size * a.head_dim + 4 * token;
  }
};

// Threads of a block.  2^shift neighbours share a token, each with `dims` of its dims; so they sit in one
// wave.
inline constexpr int kCacheThreads = 256;
constexpr int token_shift(int head_dim, int dims) {
  int shift = 0;
  while (dims << shift < head_dim) ++shift;
  return shift;
}

// Blocks for all tokens: at most enough to fill any device, the rest in a loop, because 2^31 tokens of 32
// threads are more than a grid may have.
inline uint32_t cache_blocks(int64_t tokens, int shift) {
  constexpr int64_t kMost = 1 << 20;
  return static_cast<uint32_t>(least(ceil_div(tokens << shift, int64_t{kCacheThreads}), kMost));
}

} // namespace mqa
