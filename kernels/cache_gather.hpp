// The gather: the paged cache back to contiguous keys and scales, byte for byte.  The host does not know the
// lengths, so every output row looks for its sequence itself.
#pragma once
#include "kernels/cache_rules.hpp"

#if defined(__HIPCC__) || defined(__CUDACC__) || defined(__HIP__)
#include <hip/hip_runtime.h>
#endif

namespace mqa {

struct CacheGatherRules : CacheRules {
  using Args = mqa_cache_gather_args;

  // ---- who owns a row ----
  // The last sequence that begins at or before the row; -1: none does.  Of sequences that begin at the same
  // row that is the only one that is not empty.  Any prefix sums end the search inside [0, batch).
  MQA_HD static constexpr int32_t sequence_of(const Args& a, int64_t row) {
    int32_t low = 0,
            high = a.batch; // sequences below `low` begin at or before the row, those from `high` on after it
    while (low < high) {
      const int32_t middle = low + (high - low) / 2;
      if (a.cu_seq_lens[middle] <= row)
        low = middle + 1;
      else
        high = middle;
    }
    return low - 1;
  }
  MQA_HD static constexpr bool owns(const Args& a, int32_t sequence, int64_t row) {
    return sequence >= 0 && a.cu_seq_lens[sequence] <= row && row < a.cu_seq_lens[sequence + 1];
  }

  // ---- where its token is ----
  MQA_HD static constexpr int64_t table_offset(const Args& a, int32_t sequence, int64_t token) {
    return sequence * a.block_table_stride + token / a.block_size;
  }
  MQA_HD static constexpr bool valid_block(const Args& a, int32_t id) {
    return static_cast<uint32_t>(id) < static_cast<uint32_t>(a.num_blocks);
  }
  MQA_HD static constexpr int64_t scale_block_offset(const Args& a, int64_t block) {
    return CacheRules::block_offset(a, block);
  }
  // The scale of a token whose block does not exist: the quiet NaN 0x7fc00000, so that every logit shows it.
  MQA_HD static constexpr uint32_t missing_scale() { return 0x7fc00000u; }
};

// Bytes that a lane copies.
inline constexpr int kGatherBytes = 16;

#if defined(__HIPCC__) || defined(__CUDACC__) || defined(__HIP__)

struct alignas(16) GatherPiece {
  uint32_t word[kGatherBytes / 4];
};

// The cache is aligned to 4 bytes, the keys to nothing; `aligned` promises 16.
__device__ inline GatherPiece load_piece(const uint8_t* from, bool aligned) {
  if (aligned) return *reinterpret_cast<const GatherPiece*>(from);
  GatherPiece piece;
  for (int i = 0; i < kGatherBytes / 4; ++i) piece.word[i] = reinterpret_cast<const uint32_t*>(from)[i];
  return piece;
}
__device__ inline void store_piece(uint8_t* to, const GatherPiece& piece, bool aligned) {
  if (aligned) {
    *reinterpret_cast<GatherPiece*>(to) = piece;
    return;
  }
  for (int i = 0; i < kGatherBytes; ++i) to[i] = static_cast<uint8_t>(piece.word[i / 4] >> 8 * (i % 4));
}

// 2^shift neighbours share a row, each with sixteen of its bytes.
template <class R>
__global__ __launch_bounds__(kCacheThreads) void cache_gather(const mqa_cache_gather_args a, int shift,
                                                              bool cache_aligned, bool keys_aligned) {
  const int thread = static_cast<int>(threadIdx.x);
  const int dim = (thread & ((1 << shift) - 1)) * kGatherBytes, rows_per_block = kCacheThreads >> shift;
  if (dim >= a.head_dim) return;
  const int64_t pass = int64_t{gridDim.x} * rows_per_block;
  for (int64_t row = int64_t{blockIdx.x} * rows_per_block + (thread >> shift); row < a.tokens; row += pass) {
    const int32_t sequence = R::sequence_of(a, row);
    if (!R::owns(a, sequence, row)) continue;
    const int64_t token = row - a.cu_seq_lens[sequence];
    const int32_t id = a.block_table[R::table_offset(a, sequence, token)];
    const int32_t in_block = R::token_in_block(token, a.block_size);
    GatherPiece piece{};
    uint32_t scale = R::missing_scale();
    if (R::valid_block(a, id)) {
      piece =
          load_piece(a.kv_cache + R::block_offset(a, id) + R::value_offset(a, in_block, dim), cache_aligned);
      if (dim == 0)
        scale = *reinterpret_cast<const uint32_t*>(a.kv_cache + R::scale_block_offset(a, id) +
                                                   R::scale_offset(a, in_block));
    }
    store_piece(a.keys + row * a.keys_stride + dim, piece, keys_aligned);
    if (dim == 0) reinterpret_cast<uint32_t*>(a.scales)[row * a.scales_stride] = scale;
  }
}

template <class R> hipError_t launch_cache_gather_with(const mqa_cache_gather_args& a, hipStream_t stream) {
  if (a.batch == 0 || a.tokens == 0) return hipSuccess;
  const auto aligned = [](const void* base, int64_t stride) {
    return reinterpret_cast<uintptr_t>(base) % kGatherBytes == 0 && stride % kGatherBytes == 0;
  };
  const int shift = token_shift(a.head_dim, kGatherBytes);
  cache_gather<R><<<dim3(cache_blocks(a.tokens, shift)), dim3(kCacheThreads), 0, stream>>>(
      a, shift, aligned(a.kv_cache, a.kv_block_stride_bytes), aligned(a.keys, a.keys_stride));
  return hipGetLastError();
}

#endif

} // namespace mqa
