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
// What a worker keeps of its current sequence in shared memory.  A *product* multiplies a tile with the
// queries of Rows rows at once, Heads columns a row; a row has Heads columns whatever its heads, the rest are
// zero.
//   chunks   [product][row of the product][head][8 chunks of 16 bytes], swizzled as descriptor() wants them
//   weights  [product][row of the product][quarter][Heads / 4], kWeightSpacing apart
//   limits   [row]
template <int Heads, int Rows> struct Staged {
  static constexpr int kColumns = Heads * Rows;
  // Quarters start in different banks.
  static constexpr int kWeightSpacing = Heads / 4 + 4;
  uint4* chunks;
  float* weights;
  int32_t* limits;
  __device__ Staged(unsigned char* shared, int products)
      : chunks(reinterpret_cast<uint4*>(shared)),
        weights(reinterpret_cast<float*>(chunks + products * kColumns * 8)),
        limits(reinterpret_cast<int32_t*>(weights + products * Rows * 4 * kWeightSpacing)) {}
  __device__ float* weights_of(int row, int quarter) const {
    return weights + (row * 4 + quarter) * kWeightSpacing;
  }
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

template <class R, int Heads, int Rows>
__device__ void stage_queries(const PagedArgs& a, int64_t sequence, int products,
                              const Staged<Heads, Rows>& to) {
  const int columns = products * Heads * Rows;
  for (int item = threadIdx.x; item < columns * 2; item += kMathThreads) {
    const int c = item % 2, column = item / 2, n = column / Heads, head = column % Heads;
    const bool present = n < a.next_n && head < a.heads;
    HalfHead half;
    load_half(half, a.q + R::query_offset(a, sequence, present ? n : 0, present ? head : 0) + 64 * c,
              present);
    for (int v = 0; v < 4; ++v)
      to.chunks[column * 8 + ((4 * c + v) ^ (column % 8))] = reinterpret_cast<const uint4*>(half.word)[v];
  }
  for (int column = threadIdx.x; column < columns; column += kMathThreads) {
    const int n = column / Heads, head = column % Heads;
    const bool present = n < a.next_n && head < a.heads;
    const int64_t row = sequence * a.next_n + n;
    const float weight = present ? R::load_weight(a.weights, R::weight_offset(a, row, head)) : 0.0f;
    to.weights_of(n, head / 2 % 4)[head / 8 * 2 + head % 2] = weight;
  }
  for (int n = threadIdx.x; n < a.next_n; n += kMathThreads) to.limits[n] = limit_of<R>(a, sequence, n);
  fence_shared();
}

// ---- sums
template <int Columns, uint64_t KeyStep>
__device__ void multiply(float (&sums)[Columns / 2], uint64_t keys, uint64_t queries) {
  fence();
  product<true>(sums, keys, queries);
  for (int step = 1; step < kHeadDim / 32; ++step)
    product<false>(sums, keys + step * KeyStep, queries + step * kNextStep);
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

// Sums over heads of relu(dot) * weight of tokens g and g + 8, one row of the product.
template <class R, int Heads, int Columns>
__device__ void add_row(Two (&total)[2], const float (&sums)[Columns / 2], int first, const float* weights) {
  for (int j = 0; j < Heads / 8; j += 2) {
    const float4 four = *reinterpret_cast<const float4*>(weights + 2 * j);
    for (int k = 0; k < 2; ++k)
      for (int i = 0; i < 2; ++i) {
        const float* pair = sums + first / 2 + 4 * (j + k) + 2 * i;
        total[i] = R::template add_heads<Scalar>(total[i], {pair[0], pair[1]},
                                                 k ? Two{four.z, four.w} : Two{four.x, four.y});
      }
  }
}
struct Pair {
  float token, token8; // of tokens g and g + 8
};
template <class R, int Heads, int Rows>
__device__ Pair row_sums(const float (&sums)[Heads * Rows / 2], int row, const float* weights) {
  Two total[2] = {};
  add_row<R, Heads, Heads * Rows>(total, sums, row * Heads, weights);
  return {total[0].x + total[0].y, total[1].x + total[1].y};
}

// Adds up the quarters: lanes with quarter 2 and 3 end with token g + 8, the others with token g.
__device__ inline int reduced_token() {
  const int lane = threadIdx.x % 32;
  return static_cast<int>(threadIdx.x / 32) * 16 + lane / 4 + (lane & 2) * 4;
}
__device__ inline float half_reduced(Pair p) {
  const bool upper = threadIdx.x & 2;
  return (upper ? p.token8 : p.token) + __shfl_xor_sync(kAll, upper ? p.token : p.token8, 2);
}
// The whole sum of one row, in even and odd lanes alike.
__device__ inline float reduced(Pair row) {
  const float kept = half_reduced(row);
  return kept + __shfl_xor_sync(kAll, kept, 1);
}
// Of two rows: even lanes get the first's, odd lanes the second's.
__device__ inline float reduced(Pair even_row, Pair odd_row) {
  const float first = half_reduced(even_row), second = half_reduced(odd_row);
  const bool odd = threadIdx.x & 1;
  return (odd ? second : first) + __shfl_xor_sync(kAll, odd ? first : second, 1);
}

// Where a lane's logit goes: row n, this tile.
template <class R>
__device__ void store_logit(const PagedArgs& a, const Cursor& at, int n, int32_t limit, int32_t needed,
                            float sum, float scale) {
  const int32_t position = at.tile * kTileTokens + reduced_token();
  const bool seen = R::visible(position, limit);
  if (position < needed && (seen || R::fills_tail(a)))
    R::store(a.logits, R::logit_offset(a, int64_t{at.sequence} * a.next_n + n, position),
             seen ? R::scaled(sum, scale) : -__int_as_float(0x7f800000));
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
__device__ inline void math_barrier() { asm volatile("bar.sync 1, %0;" ::"n"(kMathThreads) : "memory"); }

// The rows of one product, first row n.
template <class R, int Heads, int Rows>
__device__ void finish(const PagedArgs& a, const Staged<Heads, Rows>& staged, const Cursor& at,
                       int32_t needed, int n, float scale, const float (&sums)[Heads * Rows / 2]) {
  const int quarter = threadIdx.x % 4;
  const int rows = R::rows_of(a);
  if constexpr (Rows == 1) {
    const float sum = reduced(row_sums<R, Heads, Rows>(sums, 0, staged.weights_of(n, quarter)));
    if (threadIdx.x % 2 == 0 && n < rows) store_logit<R>(a, at, n, staged.limits[n], needed, sum, scale);
  } else {
    for (int i = 0; i < Rows; i += 2) {
      const float sum = reduced(row_sums<R, Heads, Rows>(sums, i, staged.weights_of(n + i, quarter)),
                                row_sums<R, Heads, Rows>(sums, i + 1, staged.weights_of(n + i + 1, quarter)));
      const int mine = n + i + static_cast<int>(threadIdx.x % 2);
      if (mine < rows) store_logit<R>(a, at, mine, staged.limits[mine], needed, sum, scale);
    }
  }
}

// `products` of Rows rows each serve a sequence; `stages` tiles of keys are in shared memory or on their way.
template <class R, int Heads, int Rows, class Feeder, int WorkersPerSm>
__global__
__launch_bounds__(kThreads, WorkersPerSm) void paged_logits_wgmma(const PagedArgs a, int products, int stages,
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
  constexpr int kColumns = Heads * Rows;
  const Staged<Heads, Rows> staged(shared + stages * kTileSpacing, products);
  const uint64_t queries = descriptor(staged.chunks);
  int32_t staged_sequence = -1, needed = 0;
  Stage stage{0, 0};
  for (int32_t done = 0; done < tiles; ++done) {
    if (at.sequence != staged_sequence) {
      math_barrier();
      stage_queries<R, Heads, Rows>(a, staged_sequence = at.sequence, products, staged);
      needed = schedule.needed[at.sequence];
      math_barrier();
    }
    ring.wait_full(stage);
    const Tile& tile = *tile_at(shared, stage.index);
    const float scale = tile.scale[reduced_token()];
    const uint64_t keys = Feeder::keys(tile);
    for (int i = 0; i < products; ++i) {
      float sums[kColumns / 2];
      multiply<kColumns, Feeder::kStep>(sums, keys, queries + i * (kColumns * kHeadDim >> 4));
      wait<0>();
      if (i == products - 1 && threadIdx.x % 32 == 0) ring.arrive_empty(stage);
      finish<R, Heads, Rows>(a, staged, at, needed, i * Rows, scale, sums);
    }
    at.advance(a, schedule);
    stage.advance(stages);
  }
  fill_tail<R>(a, schedule);
}

} // namespace mqa::hopper
