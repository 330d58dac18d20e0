// Which tiles a worker serves: all sequences' tiles in one row, cut into equal runs.  Made by every block for
// itself, from the lengths in device memory, so that a launch replayed in a graph follows lengths that have
// changed.
#pragma once
#include "kernels/hopper/limits.hpp"
#include "kernels/lengths.hpp"

#include <hip/hip_runtime.h>

namespace mqa::hopper {

inline constexpr uint32_t kAll = ~0u;

// Tokens that each sequence needs, and where the worker's run of tiles starts.
struct Schedule {
  int32_t needed[kMostSequences];
  int32_t warp_sums[kThreads / 32];
  int32_t first_sequence, first_tile;
};
__device__ inline int32_t tiles_of(int32_t needed) { return (needed + kTileTokens - 1) / kTileTokens; }

__device__ inline int32_t inclusive_scan(int32_t x, Schedule& s) { // over the block
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  for (int step = 1; step < 32; step *= 2) {
    const int32_t below = __shfl_up_sync(kAll, x, step);
    if (lane >= step) x += below;
  }
  if (lane == 31) s.warp_sums[warp] = x;
  __syncthreads();
  for (int w = 0; w < warp; ++w) x += s.warp_sums[w];
  return x;
}

// The worker's number of tiles; sets where they start.  Each thread looks after a run of neighbouring
// sequences.
template <class R> __device__ int32_t plan(const PagedArgs& a, Schedule& s) {
  const int32_t each = (a.batch + kThreads - 1) / kThreads, begin = threadIdx.x * each;
  const int32_t end = least(a.batch, begin + each);
  int32_t tiles = 0;
  for (int32_t b = begin; b < end; ++b) {
    s.needed[b] = needed_tokens<R>(a, b);
    tiles += tiles_of(s.needed[b]);
  }
  const int32_t last = inclusive_scan(tiles, s);
  int64_t total = 0;
  for (const int32_t sum : s.warp_sums) total += sum;
  const auto from = static_cast<int32_t>(total * blockIdx.x / gridDim.x);
  const auto to = static_cast<int32_t>(total * (blockIdx.x + 1) / gridDim.x);
  int32_t before = last - tiles;
  if (from >= before && from < last)
    for (int32_t b = begin; b < end; ++b) {
      const int32_t mine = tiles_of(s.needed[b]);
      if (from < before + mine) {
        s.first_sequence = b;
        s.first_tile = from - before;
        break;
      }
      before += mine;
    }
  __syncthreads();
  return to - from;
}

// A place in the run.
struct Cursor {
  int32_t sequence, tile;
  __device__ void advance(const PagedArgs& a, const Schedule& s) {
    if (++tile < tiles_of(s.needed[sequence])) return;
    tile = 0;
    while (++sequence < a.batch && s.needed[sequence] == 0) {
    }
  }
  __device__ void skip(const PagedArgs& a, const Schedule& s, int32_t tiles) {
    tile += tiles;
    while (sequence < a.batch && tile >= tiles_of(s.needed[sequence])) tile -= tiles_of(s.needed[sequence++]);
  }
};

} // namespace mqa::hopper
