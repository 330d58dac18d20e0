// The paged logits kernel for Hopper's warpgroup matrix unit: head_dim 128, FP8 FN.  A block is a *worker*:
// one warpgroup that computes and one warp that feeds it.  A worker serves a contiguous run of tiles of 64
// tokens; runs are equal to one tile, made in the kernel from this launch's own lengths, and may cross
// sequences.  Keys travel through a ring of tiles in shared memory; queries of the current sequence lie
// beside it.  Here: queries, sums, stores, kernel.
#pragma once
#include "kernels/hopper/feeder.hpp"
#include "kernels/hopper/limits.hpp"
#include "kernels/hopper/schedule.hpp"
#include "kernels/hopper/wgmma.hpp"
#include "kernels/lengths.hpp"

#include <hip/hip_runtime.h>

namespace mqa::hopper {

// ---- queries
// -------------------------------------------------------------------------------------------------- What a
// worker keeps of its current sequence in shared memory: [group][head of the group][128 bytes] of q, where a
// group is one row's next Heads heads; [group][head] weights; [row] limits.
template <int Heads> struct Staged {
  uint4* chunks; // 8 a head
  float* weights;
  int32_t* limits;
  __device__ Staged(unsigned char* shared, int groups)
      : chunks(reinterpret_cast<uint4*>(shared)),
        weights(reinterpret_cast<float*>(chunks + groups * Heads * 8)),
        limits(reinterpret_cast<int32_t*>(weights + groups * Heads)) {}
};

// 64 contiguous bytes of one head at any alignment, or zeros.
struct HalfHead {
  uint32_t word[16];
};
__device__ inline void load_half(HalfHead& half, const uint8_t* from, bool present) {
  if (present && reinterpret_cast<uintptr_t>(from) % 16 == 0) {
    for (int i = 0; i < 4; ++i)
      reinterpret_cast<uint4*>(half.word)[i] = __ldg(reinterpret_cast<const uint4*>(from) + i);
    return;
  }
  for (int i = 0; i < 16; ++i)
    half.word[i] =
        present ? from[4 * i] | from[4 * i + 1] << 8 | from[4 * i + 2] << 16 | from[4 * i + 3] << 24 : 0u;
}

// Chunks are swizzled, see descriptor().
template <class R, int Heads>
__device__ void stage_queries(const PagedArgs& a, int64_t sequence, int groups, const Staged<Heads>& to) {
  const int per_row = groups / a.next_n;
  for (int item = threadIdx.x; item < groups * Heads * 2; item += kMathThreads) {
    const int c = item % 2, slot = item / 2, group = slot / Heads;
    const int n = group / per_row, head = group % per_row * Heads + slot % Heads;
    HalfHead half;
    load_half(half, a.q + R::query_offset(a, sequence, n, head < a.heads ? head : 0) + 64 * c,
              head < a.heads);
    for (int v = 0; v < 4; ++v)
      to.chunks[slot * 8 + ((4 * c + v) ^ (slot % 8))] = reinterpret_cast<const uint4*>(half.word)[v];
  }
  for (int slot = threadIdx.x; slot < groups * Heads; slot += kMathThreads) {
    const int n = slot / Heads / per_row, head = slot / Heads % per_row * Heads + slot % Heads;
    const int64_t row = sequence * a.next_n + n;
    to.weights[slot] = head < a.heads ? R::load_weight(a.weights, R::weight_offset(a, row, head)) : 0.0f;
  }
  for (int n = threadIdx.x; n < a.next_n; n += kMathThreads) to.limits[n] = limit_of<R>(a, sequence, n);
  fence_shared();
}

// ---- sums
// -----------------------------------------------------------------------------------------------------
template <int Heads> __device__ void multiply(float (&sums)[Heads / 2], uint64_t keys, uint64_t queries) {
  fence();
  product<true>(sums, keys, queries);
  for (int step = 1; step < kHeadDim / 32; ++step)
    product<false>(sums, keys + step * kNextStep, queries + step * kNextStep);
  commit();
}

struct Two {
  float x, y;
};
struct Scalar { // the arch primitives that Rules::add_heads wants
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
      total[i] =
          R::template add_heads<Scalar>(total[i], {sums[4 * j + 2 * i], sums[4 * j + 2 * i + 1]}, weight);
  }
}

// The token whose sum a lane has after reduce(): odd lanes repeat their even neighbour's.
__device__ inline int reduced_token() {
  const int lane = threadIdx.x % 32;
  return static_cast<int>(threadIdx.x / 32) * 16 + lane / 4 + (lane & 2) * 4;
}
// The whole sum of token g for quarters 0 and 1, of token g + 8 for 2 and 3.
__device__ inline float reduce(const Two (&total)[2]) {
  const float first = total[0].x + total[0].y, second = total[1].x + total[1].y;
  const bool upper = threadIdx.x & 2;
  float kept = (upper ? second : first) + __shfl_xor_sync(kAll, upper ? first : second, 2);
  return kept + __shfl_xor_sync(kAll, kept, 1);
}

template <class R>
__device__ void store_logit(const PagedArgs& a, const Cursor& at, int n, int32_t limit, int32_t needed,
                            float sum, float scale) {
  const int32_t position = at.tile * kTileTokens + reduced_token();
  const float logit = R::scaled(sum, scale);
  const bool seen = R::visible(position, limit);
  if (threadIdx.x % 2 == 0 && position < needed && (seen || R::fills_tail(a)))
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
    const Range share =
        R::split_range(most(0, R::tail_end(a) - needed), parts, static_cast<int32_t>(item % parts));
    for (int32_t i = share.begin + static_cast<int32_t>(threadIdx.x); i < share.end; i += kMathThreads)
      R::store(a.logits, R::logit_offset(a, row, needed + i), -__int_as_float(0x7f800000));
  }
}

// ---- kernel
// ---------------------------------------------------------------------------------------------------
__device__ inline void math_barrier() { asm volatile("bar.sync 1, %0;" ::"n"(kMathThreads) : "memory"); }

// Where the rows of one tile go.
template <class R, int Heads> struct Sink {
  const PagedArgs& a;
  const Staged<Heads>& staged;
  const Cursor& at;
  int32_t needed;
  int parts; // groups of a row: 1 or 2
  float scale;
  Two total[2];

  __device__ void finish(const float (&sums)[Heads / 2], int group) {
    add_group<R, Heads>(total, sums, staged.weights + group * Heads);
    if (parts == 2 && group % 2 == 0) return;
    const int n = parts == 2 ? group / 2 : group;
    if (n < R::rows_of(a)) store_logit<R>(a, at, n, staged.limits[n], needed, reduce(total), scale);
    total[0] = total[1] = {};
  }
};

// One group after the other; `release` is called once the keys are used up.
template <class R, int Heads, class Release>
__device__ void serve_in_turn(Sink<R, Heads>& sink, uint64_t keys, uint64_t queries, int groups,
                              Release release) {
  for (int group = 0; group < groups; ++group) {
    float sums[Heads / 2];
    multiply<Heads>(sums, keys, queries + group * (Heads * kHeadDim >> 4));
    wait<0>();
    if (group == groups - 1) release();
    sink.finish(sums, group);
  }
}
// Groups take turns in two sets of sums: the matrix unit works on one while the other is weighted.  Their
// number is a compile-time constant, because the compiler serialises matrix instructions that it sees behind
// branches.
template <int Group, int Groups, class R, int Heads, class Release>
__device__ void serve_overlapped(Sink<R, Heads>& sink, uint64_t keys, uint64_t queries,
                                 float (&now)[Heads / 2], float (&next)[Heads / 2], Release release) {
  if constexpr (Group + 1 < Groups) {
    multiply<Heads>(next, keys, queries + (Group + 1) * (Heads * kHeadDim >> 4));
    wait<1>();
  } else {
    wait<0>();
    release();
  }
  sink.finish(now, Group);
  if constexpr (Group + 1 < Groups)
    serve_overlapped<Group + 1, Groups>(sink, keys, queries, next, now, release);
}
template <int Groups, class R, int Heads, class Release>
__device__ void serve_tile(Sink<R, Heads>& sink, uint64_t keys, uint64_t queries, int groups,
                           Release release) {
  if constexpr (Groups <= 1) {
    serve_in_turn(sink, keys, queries, Groups == 1 ? 1 : groups, release);
  } else {
    float even[Heads / 2], odd[Heads / 2];
    multiply<Heads>(even, keys, queries);
    serve_overlapped<0, Groups>(sink, keys, queries, even, odd, release);
  }
}

// Heads of a group: 32 or 64.  Groups of a tile: 1, 2, 4, or 0 for a number known at run time.  `stages`
// tiles of keys are in shared memory or on their way.
template <class R, int Heads, int Groups, class Feeder, int WorkersPerSm>
__global__ __launch_bounds__(kThreads,
                             WorkersPerSm) void paged_logits_wgmma(const PagedArgs a, int groups, int stages,
                                                                   const __grid_constant__ Pages pages) {
  extern __shared__ __align__(1024) unsigned char shared[];
  __shared__ Schedule schedule;
  __shared__ Ring ring;
  const int32_t tiles = plan<R>(a, schedule);
  if (threadIdx.x == 0) ring.init(stages, Feeder::kArrivals);
  __syncthreads();
  Cursor at{schedule.first_sequence, schedule.first_tile};
  if (threadIdx.x >= kMathThreads) {
    if (tiles > 0) Feeder::template run<R>(a, pages, schedule, ring, shared, stages, at, tiles);
    return;
  }
  const Staged<Heads> staged(shared + stages * kTileSpacing, groups);
  int32_t staged_sequence = -1;
  Stage stage{0, 0};
  for (int32_t done = 0; done < tiles; ++done) {
    if (at.sequence != staged_sequence) {
      math_barrier();
      stage_queries<R, Heads>(a, staged_sequence = at.sequence, groups, staged);
      math_barrier();
    }
    ring.wait_full(stage);
    const Tile& tile = *tile_at(shared, stage.index);
    const float scale = tile.scale[reduced_token()];
    Sink<R, Heads> sink{a, staged, at, schedule.needed[at.sequence], groups / a.next_n, scale, {}};
    serve_tile<Groups>(sink, descriptor(tile.chunk), descriptor(staged.chunks), groups, [&] {
      if (threadIdx.x % 32 == 0) ring.arrive_empty(stage);
    });
    at.advance(a, schedule);
    stage.advance(stages);
  }
  fill_tail<R>(a, schedule);
}

} // namespace mqa::hopper
