// The paged logits kernel for Hopper's warpgroup matrix unit: head_dim 128, FP8 FN.  A block is one warpgroup, a *worker*,
// that serves a contiguous run of tiles of 64 tokens; runs are equal to one tile, made in the kernel from this launch's
// own lengths, and may cross sequences.  Keys go from memory straight to registers, several tiles ahead; queries of the
// current sequence lie in shared memory.  The file runs: schedule, keys, queries, sums, kernel.
#pragma once
#include "kernels/hopper/limits.hpp"
#include "kernels/hopper/wgmma.hpp"
#include "kernels/lengths.hpp"

#include <hip/hip_runtime.h>

namespace mqa::hopper {

inline constexpr uint32_t kAll = ~0u;

// ---- schedule -------------------------------------------------------------------------------------------------
// Tokens that each sequence needs, and where the worker's run of tiles starts.
struct Schedule {
  int32_t needed[kMostSequences];
  int32_t warp_sums[4];
  int32_t first_sequence, first_tile;
};
__device__ inline int32_t tiles_of(int32_t needed) { return (needed + kTileTokens - 1) / kTileTokens; }

__device__ inline int32_t inclusive_scan(int32_t x, Schedule& s) {  // over the block
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

// The worker's number of tiles; sets where they start.  Each thread looks after a run of neighbouring sequences.
template <class R> __device__ int32_t plan(const PagedArgs& a, Schedule& s) {
  const int32_t each = (a.batch + kThreads - 1) / kThreads, begin = threadIdx.x * each;
  const int32_t end = least(a.batch, begin + each);
  int32_t tiles = 0;
  for (int32_t b = begin; b < end; ++b) {
    s.needed[b] = needed_tokens<R>(a, b);
    tiles += tiles_of(s.needed[b]);
  }
  const int32_t last = inclusive_scan(tiles, s);
  const int64_t total = s.warp_sums[0] + s.warp_sums[1] + s.warp_sums[2] + s.warp_sums[3];
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
    while (++sequence < a.batch && s.needed[sequence] == 0) {}
  }
};

// ---- keys -----------------------------------------------------------------------------------------------------
// Of 16 tokens a warp: a lane holds the quarter lane%4 of the tokens g = lane/4 and g + 8, dims 64*c + 16*quarter ..+15.
struct Keys {
  uint4 chunk[2][2];  // [token g, g + 8][c]
  float scale;        // of token lane%16; NaN for a bad block id
};
template <class R> __device__ int32_t load_block_id(const PagedArgs& a, const Schedule& s, const Cursor& at) {
  const int32_t position = at.tile * kTileTokens + static_cast<int32_t>(threadIdx.x / 32 * 16 + threadIdx.x % 16);
  return position < s.needed[at.sequence] ? a.block_table[R::table_offset(a, at.sequence, position)] : -1;
}

__device__ inline uint4 load16(const uint8_t* from) {
  uint4 v;
  asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "l"(from));
  return v;
}
template <bool Aligned> __device__ uint4 load_chunk(const uint8_t* from) {
  if constexpr (Aligned) return load16(from);
  const auto* words = reinterpret_cast<const uint32_t*>(from);
  return {__ldg(words), __ldg(words + 1), __ldg(words + 2), __ldg(words + 3)};
}

template <class R, bool Aligned> __device__ void load_keys(Keys& keys, const PagedArgs& a, int32_t id, int32_t tile) {
  const int lane = threadIdx.x % 32;
  const int32_t position = tile * kTileTokens + static_cast<int32_t>(threadIdx.x / 32 * 16) + lane % 16;
  const int32_t in_block = R::token_in_block(a, position, R::block_column(a, position));
  const bool valid = R::valid_block(id, a.num_blocks);
  const int64_t own = valid ? R::block_offset(a, id) + R::token_offset(a, in_block) : 0;
  keys.scale = valid ? R::load_scale(a.kv_cache, R::scale_block_offset(a, id) + R::scale_offset(a, in_block))
                     : __int_as_float(0x7fc00000);
  for (int i = 0; i < 2; ++i) {
    const uint8_t* token = a.kv_cache + __shfl_sync(kAll, own, lane / 4 + 8 * i);
    for (int c = 0; c < 2; ++c)
      keys.chunk[i][c] = load_chunk<Aligned>(token + R::dim_offset(a, 64 * c + 16 * (lane % 4)));
  }
}

// ---- queries --------------------------------------------------------------------------------------------------
// [group][head of the group][128 bytes], where a group is one row's next Heads heads.  The words of a row are in the order
// in which the keys' registers hold k: step 2c + h of 32 dims takes word 2h of each quarter's chunk c, then word 2h + 1.
__device__ inline int source_word(int word) {
  const int step = word / 8, quarter = word % 4, second = word % 8 / 4;
  return 16 * (step / 2) + 4 * quarter + 2 * (step % 2) + second;
}
__device__ inline uint32_t load_word(const uint8_t* from) {
  if (reinterpret_cast<uintptr_t>(from) % 4 == 0) return *reinterpret_cast<const uint32_t*>(from);
  return from[0] | from[1] << 8 | from[2] << 16 | static_cast<uint32_t>(from[3]) << 24;
}

template <class R, int Heads>
__device__ void stage_queries(const PagedArgs& a, int64_t sequence, int groups, uint32_t* queries, float* weights) {
  const int per_row = groups / a.next_n;
  for (int item = threadIdx.x; item < groups * Heads * 32; item += kThreads) {
    const int word = item % 32, slot = item / 32, group = slot / Heads;
    const int n = group / per_row, head = group % per_row * Heads + slot % Heads;
    uint32_t value = 0;
    if (head < a.heads) value = load_word(a.q + R::query_offset(a, sequence, n, head) + 4 * source_word(word));
    const int chunk = (word / 4) ^ (slot % 8);
    queries[slot * 32 + chunk * 4 + word % 4] = value;
  }
  for (int slot = threadIdx.x; slot < groups * Heads; slot += kThreads) {
    const int n = slot / Heads / per_row, head = slot / Heads % per_row * Heads + slot % Heads;
    const int64_t row = sequence * a.next_n + n;
    weights[slot] = head < a.heads ? R::load_weight(a.weights, R::weight_offset(a, row, head)) : 0.0f;
  }
  fence_shared();
}

// ---- sums -----------------------------------------------------------------------------------------------------
template <int Heads>
__device__ void multiply(float (&sums)[Heads / 2], const Keys& keys, uint64_t queries) {
  fence();
  for (int c = 0; c < 2; ++c) {
    const uint4 low = keys.chunk[0][c], high = keys.chunk[1][c];
    const uint32_t first[4] = {low.x, high.x, low.y, high.y}, second[4] = {low.z, high.z, low.w, high.w};
    if (c == 0)
      product<true>(sums, first, queries);
    else
      product<false>(sums, first, queries + 2 * c * kNextStep);
    product<false>(sums, second, queries + (2 * c + 1) * kNextStep);
  }
  commit();
}

struct Two {
  float x, y;
};
struct Scalar {  // the arch primitives that Rules::add_heads wants
  using Pair = Two;
  static __device__ Pair relu(Pair p) { return {fmaxf(p.x, 0.0f), fmaxf(p.y, 0.0f)}; }
  static __device__ Pair fma(Pair a, Pair b, Pair c) { return {fmaf(a.x, b.x, c.x), fmaf(a.y, b.y, c.y)}; }
};

// Adds relu(dot) * weight over the group's heads to the sums of tokens g and g + 8.
template <class R, int Heads>
__device__ void add_group(Two (&total)[2], const float (&sums)[Heads / 2], const float* weights) {
  const int quarter = threadIdx.x % 4;
  for (int j = 0; j < Heads / 8; ++j) {
    const Two weight = *reinterpret_cast<const Two*>(weights + 8 * j + 2 * quarter);
    for (int i = 0; i < 2; ++i)
      total[i] = R::template add_heads<Scalar>(total[i], {sums[4 * j + 2 * i], sums[4 * j + 2 * i + 1]}, weight);
  }
}

// The whole sum of token g for quarters 0 and 1, of token g + 8 for 2 and 3.
__device__ inline float reduce(const Two (&total)[2]) {
  const float first = total[0].x + total[0].y, second = total[1].x + total[1].y;
  const bool upper = threadIdx.x & 2;
  float kept = (upper ? second : first) + __shfl_xor_sync(kAll, upper ? first : second, 2);
  return kept + __shfl_xor_sync(kAll, kept, 1);
}

template <class R>
__device__ void store_logit(const PagedArgs& a, const Cursor& at, int n, int32_t needed, float sum, float scale) {
  const int lane = threadIdx.x % 32, token = lane / 4 + (lane & 2) * 4;
  const int32_t position = at.tile * kTileTokens + static_cast<int32_t>(threadIdx.x / 32 * 16) + token;
  const float logit = R::scaled(sum, scale);
  const bool seen = R::visible(position, limit_of<R>(a, at.sequence, n));
  if (lane % 2 == 0 && position < needed && (seen || R::fills_tail(a)))
    R::store(a.logits, R::logit_offset(a, int64_t{at.sequence} * a.next_n + n, position),
             seen ? logit : -__int_as_float(0x7f800000));
}

// Columns [needed, MML) of all rows; the workers share them, a row at a time or in equal parts.
template <class R> __device__ void fill_tail(const PagedArgs& a, const Schedule& s) {
  if (!R::fills_tail(a)) return;
  const int64_t rows = int64_t{a.batch} * a.next_n, workers = gridDim.x;
  const auto parts = static_cast<int32_t>(most<int64_t>(1, workers / rows));
  for (int64_t item = blockIdx.x; item < rows * parts; item += workers) {
    const int64_t row = item / parts;
    const int32_t needed = s.needed[row / a.next_n];
    const Range share = R::split_range(most(0, R::tail_end(a) - needed), parts, static_cast<int32_t>(item % parts));
    for (int32_t i = share.begin + static_cast<int32_t>(threadIdx.x); i < share.end; i += kThreads)
      R::store(a.logits, R::logit_offset(a, row, needed + i), -__int_as_float(0x7f800000));
  }
}

// ---- kernel ---------------------------------------------------------------------------------------------------
// Heads of a group: 32 or 64.  Stages: tiles whose keys are in registers or on their way.
template <class R, int Heads, int Stages, bool Aligned, int WorkersPerSm>
__global__ __launch_bounds__(kThreads, WorkersPerSm) void paged_logits_wgmma(const PagedArgs a, int groups) {
  extern __shared__ __align__(1024) unsigned char shared[];
  auto* queries = reinterpret_cast<uint32_t*>(shared);
  auto* weights = reinterpret_cast<float*>(queries + groups * Heads * 32);
  __shared__ Schedule schedule;
  const int32_t tiles = plan<R>(a, schedule);
  const int per_row = groups / a.next_n;

  Keys keys[Stages];
  Cursor at{schedule.first_sequence, schedule.first_tile}, ahead = at;  // of the products; of the block ids
  int32_t id = -1, ahead_count = 0, key_tile = 0;
  if (tiles > 0) {
    id = load_block_id<R>(a, schedule, ahead);
    key_tile = ahead.tile;
    ahead.advance(a, schedule);
    ahead_count = 1;
  }
  // Loads the keys of the tile whose block ids came last, and asks for the ids of the one after it.
  const auto fetch = [&](Keys& into) {
    if (ahead_count == 0 || ahead_count > tiles) return;
    load_keys<R, Aligned>(into, a, id, key_tile);
    if (ahead_count++ >= tiles) return;
    id = load_block_id<R>(a, schedule, ahead);
    key_tile = ahead.tile;
    ahead.advance(a, schedule);
  };
  for (int i = 0; i < Stages; ++i) fetch(keys[i]);

  int32_t staged = -1;
  const uint64_t base = descriptor(queries);
  for (int32_t done = 0; done < tiles; done += Stages)
#pragma unroll
    for (int i = 0; i < Stages; ++i) {
      if (done + i >= tiles) break;
      if (at.sequence != staged) {
        if (staged >= 0) __syncthreads();
        stage_queries<R, Heads>(a, at.sequence, groups, queries, weights);
        staged = at.sequence;
        __syncthreads();
      }
      const int32_t needed = schedule.needed[at.sequence];
      const int lane = threadIdx.x % 32;
      const float scale = __shfl_sync(kAll, keys[i].scale, lane / 4 + (lane & 2) * 4);
      for (int n = 0; n < R::rows_of(a); ++n) {
        Two total[2] = {};
        for (int part = 0; part < per_row; ++part) {
          const int group = n * per_row + part;
          float sums[Heads / 2];
          multiply<Heads>(sums, keys[i], base + group * (Heads * 128 >> 4));
          wait<0>();
          if (group == groups - 1) fetch(keys[i]);
          add_group<R, Heads>(total, sums, weights + group * Heads);
        }
        store_logit<R>(a, at, n, needed, reduce(total), scale);
      }
      at.advance(a, schedule);
    }
  fill_tail<R>(a, schedule);
}

}  // namespace mqa::hopper
