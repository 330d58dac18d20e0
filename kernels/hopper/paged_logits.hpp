// The paged logits kernel for Hopper's warpgroup matrix unit: head_dim 128, FP8 FN.  A block is one warpgroup, a *worker*,
// that serves a contiguous run of tiles of 64 tokens; runs are equal to one tile, made in the kernel from this launch's
// own lengths, and may cross sequences.  Keys travel to a ring of tiles in shared memory, several tiles ahead; queries of
// the current sequence lie beside it.  The file runs: schedule, keys, queries, sums, kernel.
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
// A tile's keys lie in shared memory as the matrix unit wants them, see descriptor(), with their scales behind.  A ring of
// tiles is filled by asynchronous copies of 16 bytes: 8 lanes read one token's 128 bytes, so that memory sees whole lines.
struct Tile {
  uint4 chunk[kTileTokens * 8];
  float scale[kTileTokens];  // NaN for a bad block id
};
static_assert(sizeof(Tile) == kTileBytes);

__device__ inline uint32_t shared_address(const void* p) { return static_cast<uint32_t>(__cvta_generic_to_shared(p)); }
// Copies 16 bytes, or writes zeros and reads nothing.
__device__ inline void copy16(void* to, const uint8_t* from, bool present) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(to)), "l"(from), "r"(present ? 16 : 0)
               : "memory");
}
__device__ inline void copy4(void* to, const void* from, bool present) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(shared_address(to)), "l"(from), "r"(present ? 4 : 0)
               : "memory");
}
__device__ inline void commit_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int Pending> __device__ inline void wait_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(Pending) : "memory");
}

__device__ inline Tile* tile_at(void* ring, int stage) {
  return reinterpret_cast<Tile*>(static_cast<unsigned char*>(ring) + stage * kTileSpacing);
}
// Until at most `pending` later groups are on their way; the count must be a constant of the instruction.
__device__ inline void wait_for_oldest(int pending) {
  switch (pending) {
  case 0: wait_copies<0>(); break;
  case 1: wait_copies<1>(); break;
  case 2: wait_copies<2>(); break;
  case 3: wait_copies<3>(); break;
  case 4: wait_copies<4>(); break;
  case 5: wait_copies<5>(); break;
  default: wait_copies<6>(); break;
  }
}

// A warp copies 16 tokens of a tile; lane l and l + 16 own token 4 * warp + l % 4 + 16 * (l / 4) of it.
__device__ inline int own_token() {
  const int lane = threadIdx.x % 16, warp = threadIdx.x / 32;
  return 4 * warp + lane % 4 + 16 * (lane / 4);
}
template <class R> __device__ int32_t load_block_id(const PagedArgs& a, const Schedule& s, const Cursor& at) {
  const int32_t position = at.tile * kTileTokens + own_token();
  return position < s.needed[at.sequence] ? a.block_table[R::table_offset(a, at.sequence, position)] : -1;
}

template <class R, bool Aligned> __device__ void copy_keys(Tile& tile, const PagedArgs& a, int32_t id, int32_t index) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int32_t position = index * kTileTokens + own_token();
  const int32_t in_block = R::token_in_block(a, position, R::block_column(a, position));
  const bool valid = R::valid_block(id, a.num_blocks);
  const int64_t own = valid ? R::block_offset(a, id) + R::token_offset(a, in_block) : -1;
  const int chunk = lane % 8;
  const int32_t dim_offset = R::dim_offset(a, 16 * chunk);
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int64_t offset = __shfl_sync(kAll, own, lane / 8 + 4 * i);
    const int row = 4 * warp + lane / 8 + 16 * i;
    uint4* to = tile.chunk + row * 8 + (chunk ^ (row % 8));
    const uint8_t* from = a.kv_cache + (offset < 0 ? 0 : offset + dim_offset);
    if constexpr (Aligned)
      copy16(to, from, offset >= 0);
    else
      for (int w = 0; w < 4; ++w) copy4(reinterpret_cast<uint32_t*>(to) + w, from + 4 * w, offset >= 0);
  }
  if (lane < 16) {
    float* to = tile.scale + own_token();
    if (valid)
      copy4(to, a.kv_cache + R::scale_block_offset(a, id) + R::scale_offset(a, in_block), true);
    else
      *to = __int_as_float(0x7fc00000);
  }
}

// ---- queries --------------------------------------------------------------------------------------------------
// What a worker keeps of its current sequence in shared memory: [group][head of the group][128 bytes] of q, where a group
// is one row's next Heads heads; [group][head] weights; [row] limits.
template <int Heads> struct Staged {
  uint4* chunks;  // 8 a head
  float* weights;
  int32_t* limits;
  __device__ Staged(unsigned char* shared, int groups)
      : chunks(reinterpret_cast<uint4*>(shared)), weights(reinterpret_cast<float*>(chunks + groups * Heads * 8)),
        limits(reinterpret_cast<int32_t*>(weights + groups * Heads)) {}
};

// 64 contiguous bytes of one head at any alignment, or zeros.
struct HalfHead {
  uint32_t word[16];
};
__device__ inline void load_half(HalfHead& half, const uint8_t* from, bool present) {
  if (present && reinterpret_cast<uintptr_t>(from) % 16 == 0) {
    for (int i = 0; i < 4; ++i) reinterpret_cast<uint4*>(half.word)[i] = __ldg(reinterpret_cast<const uint4*>(from) + i);
    return;
  }
  for (int i = 0; i < 16; ++i)
    half.word[i] = present ? from[4 * i] | from[4 * i + 1] << 8 | from[4 * i + 2] << 16 | from[4 * i + 3] << 24 : 0u;
}

// Chunks are swizzled, see descriptor().
template <class R, int Heads>
__device__ void stage_queries(const PagedArgs& a, int64_t sequence, int groups, const Staged<Heads>& to) {
  const int per_row = groups / a.next_n;
  for (int item = threadIdx.x; item < groups * Heads * 2; item += kThreads) {
    const int c = item % 2, slot = item / 2, group = slot / Heads;
    const int n = group / per_row, head = group % per_row * Heads + slot % Heads;
    HalfHead half;
    load_half(half, a.q + R::query_offset(a, sequence, n, head < a.heads ? head : 0) + 64 * c, head < a.heads);
    for (int v = 0; v < 4; ++v)
      to.chunks[slot * 8 + ((4 * c + v) ^ (slot % 8))] = reinterpret_cast<const uint4*>(half.word)[v];
  }
  for (int slot = threadIdx.x; slot < groups * Heads; slot += kThreads) {
    const int n = slot / Heads / per_row, head = slot / Heads % per_row * Heads + slot % Heads;
    const int64_t row = sequence * a.next_n + n;
    to.weights[slot] = head < a.heads ? R::load_weight(a.weights, R::weight_offset(a, row, head)) : 0.0f;
  }
  for (int n = threadIdx.x; n < a.next_n; n += kThreads) to.limits[n] = limit_of<R>(a, sequence, n);
  fence_shared();
}

// ---- sums -----------------------------------------------------------------------------------------------------
template <int Heads> __device__ void multiply(float (&sums)[Heads / 2], uint64_t keys, uint64_t queries) {
  fence();
  product<true>(sums, keys, queries);
  for (int step = 1; step < kHeadDim / 32; ++step) product<false>(sums, keys + step * kNextStep, queries + step * kNextStep);
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
__device__ void store_logit(const PagedArgs& a, const Cursor& at, int n, int32_t limit, int32_t needed, float sum,
                            const float* scales) {
  const int lane = threadIdx.x % 32, token = static_cast<int>(threadIdx.x / 32) * 16 + lane / 4 + (lane & 2) * 4;
  const int32_t position = at.tile * kTileTokens + token;
  const float logit = R::scaled(sum, scales[token]);
  const bool seen = R::visible(position, limit);
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
// Heads of a group: 32 or 64.  `stages` tiles of keys are in shared memory or on their way.
template <class R, int Heads, bool Aligned, int WorkersPerSm>
__global__ __launch_bounds__(kThreads, WorkersPerSm) void paged_logits_wgmma(const PagedArgs a, int groups, int stages) {
  extern __shared__ __align__(1024) unsigned char shared[];
  __shared__ Schedule schedule;
  auto* ring = reinterpret_cast<Tile*>(shared);
  const Staged<Heads> staged(shared + stages * kTileSpacing, groups);
  const int32_t tiles = plan<R>(a, schedule);
  const int per_row = groups / a.next_n;

  // Three places in the run, each ahead of the next: block ids, keys, products.
  Cursor id_at{schedule.first_sequence, schedule.first_tile}, key_at = id_at, at = id_at;
  int32_t ids_left = tiles, keys_left = tiles, key_stage = 0;
  const auto next_id = [&]() -> int32_t {
    if (ids_left-- <= 0) return -1;
    const int32_t id = load_block_id<R>(a, schedule, id_at);
    id_at.advance(a, schedule);
    return id;
  };
  int32_t ids[kIdsAhead];
  for (int32_t& id : ids) id = next_id();
  const auto copy_next = [&] {  // one commit each time, so that the count of groups in flight stays the same
    if (keys_left-- > 0) {
      copy_keys<R, Aligned>(*tile_at(ring, key_stage), a, ids[0], key_at.tile);
      key_at.advance(a, schedule);
      key_stage = key_stage + 1 == stages ? 0 : key_stage + 1;
      for (int i = 0; i + 1 < kIdsAhead; ++i) ids[i] = ids[i + 1];
      ids[kIdsAhead - 1] = next_id();
    }
    commit_copies();
  };
  int32_t staged_sequence = -1;
  if (tiles > 0) stage_queries<R, Heads>(a, staged_sequence = at.sequence, groups, staged);
  for (int i = 0; i + 1 < stages; ++i) copy_next();

  const uint64_t queries = descriptor(staged.chunks);
  int stage = 0;
  for (int32_t done = 0; done < tiles; ++done) {
    wait_for_oldest(stages - 2);
    fence_shared();
    __syncthreads();  // this tile is there for all; the one before it has been used by all
    copy_next();
    if (at.sequence != staged_sequence) {
      stage_queries<R, Heads>(a, staged_sequence = at.sequence, groups, staged);
      __syncthreads();
    }
    const Tile& tile = *tile_at(ring, stage);
    const uint64_t keys = descriptor(tile.chunk);
    const int32_t needed = schedule.needed[at.sequence];
    for (int n = 0; n < R::rows_of(a); ++n) {
      Two total[2] = {};
      for (int part = 0; part < per_row; ++part) {
        const int group = n * per_row + part;
        float sums[Heads / 2];
        multiply<Heads>(sums, keys, queries + group * (Heads * 128 >> 4));
        wait<0>();
        add_group<R, Heads>(total, sums, staged.weights + group * Heads);
      }
      store_logit<R>(a, at, n, staged.limits[n], needed, reduce(total), tile.scale);
    }
    at.advance(a, schedule);
    stage = stage + 1 == stages ? 0 : stage + 1;
  }
  fill_tail<R>(a, schedule);
}

}  // namespace mqa::hopper
