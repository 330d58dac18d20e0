// What feeds a worker: one warp that brings tiles of keys into a ring in shared memory, several tiles ahead.
// Whole pages of planar caches come by the bulk tensor copy engine; everything else (block size 1, shuffled,
// odd strides) by asynchronous copies of 16 or 4 bytes.
#pragma once
#include "kernels/hopper/limits.hpp"
#include "kernels/hopper/schedule.hpp"
#include "kernels/hopper/wgmma.hpp"

#include <cuda.h>
#include <hip/hip_runtime.h>

namespace mqa::hopper {

// A tile's keys as the matrix unit wants them, see descriptor(), with their scales behind.
struct Tile {
  uint4 chunk[kTileTokens * 8];
  float scale[kTileTokens]; // NaN for a bad block id
};
static_assert(sizeof(Tile) == kTileBytes);
__device__ inline Tile* tile_at(unsigned char* ring, int stage) {
  return reinterpret_cast<Tile*>(ring + stage * kTileSpacing);
}
__device__ inline uint32_t shared_address(const void* p) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(p));
}

// ---- ring
// -----------------------------------------------------------------------------------------------------
struct Stage {
  int index;
  uint32_t turn; // parity of how often the ring went round
  __device__ void advance(int stages) {
    if (++index < stages) return;
    index = 0;
    turn ^= 1;
  }
};
struct Ring {
  uint64_t full[kMostStages], empty[kMostStages];

  __device__ void init(int stages, int feeder_arrivals) {
    for (int i = 0; i < stages; ++i) {
      asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(shared_address(full + i)), "r"(feeder_arrivals)
                   : "memory");
      asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(shared_address(empty + i)),
                   "r"(kMathThreads / 32)
                   : "memory");
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __device__ static void wait(uint64_t* barrier, uint32_t parity) {
    asm volatile(
        "{ .reg .pred done; again: mbarrier.try_wait.parity.shared.b64 done, [%0], %1; @!done bra again; }" ::
            "r"(shared_address(barrier)),
        "r"(parity)
        : "memory");
  }
  __device__ void wait_full(Stage s) { wait(full + s.index, s.turn); }
  __device__ void wait_empty(Stage s) {
    wait(empty + s.index, s.turn ^ 1);
  } // free at once in the first round
  __device__ static void arrive(uint64_t* barrier) {
    asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(shared_address(barrier)) : "memory");
  }
  __device__ void arrive_empty(Stage s) { arrive(empty + s.index); }
  __device__ void arrive_full(Stage s) { arrive(full + s.index); }
  __device__ void expect_full(Stage s, uint32_t bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(shared_address(full + s.index)),
                 "r"(bytes)
                 : "memory");
  }
};

// The cache as the copy engine sees it: [block][token][128 bytes], boxes of `box` tokens.
struct Pages {
  CUtensorMap map;
  int32_t box;
};

__device__ inline void spoil_scales(float* scales, int count) { // of a block id out of range
  for (int i = threadIdx.x % 32; i < count; i += 32) scales[i] = __int_as_float(0x7fc00000);
  fence_shared();
  __syncwarp();
}

// `bytes`, a multiple of 16, at multiples of 16.
__device__ inline void load_bulk(void* to, const void* from, uint32_t bytes, uint64_t* full) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
          shared_address(to)),
      "l"(from), "r"(bytes), "r"(shared_address(full))
      : "memory");
}

// ---- bulk feeder
// ------------------------------------------------------------------------------------------------
struct BulkFeeder {
  static constexpr int kArrivals = 1;
  static constexpr uint64_t kStep = kNextStep; // of keys(), to the next 32 dims
  __device__ static uint64_t keys(const Tile& tile) { return descriptor(tile.chunk); }

  __device__ static void load_box(const Pages& pages, void* to, int32_t token, int32_t block,
                                  uint64_t* full) {
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], "
                 "[%1, {%3, %4, %5}], [%2];" ::"r"(shared_address(to)),
                 "l"(&pages.map), "r"(shared_address(full)), "r"(0), "r"(token), "r"(block)
                 : "memory");
  }
  // Lane i looks after box i of the next 32 boxes: its block id, -1 when no token of it is needed.
  template <class R>
  __device__ static int32_t load_id(const PagedArgs& a, const Schedule& s, Cursor at, int box,
                                    int32_t tiles_left) {
    const int lane = threadIdx.x % 32, per_tile = kTileTokens / box, tile = lane / per_tile;
    if (tile >= tiles_left) return -1;
    at.skip(a, s, tile);
    const int32_t position = at.tile * kTileTokens + lane % per_tile * box;
    return position < s.needed[at.sequence] ? a.block_table[R::table_offset(a, at.sequence, position)] : -1;
  }
  template <class R>
  __device__ static void run(const PagedArgs& a, const Pages& pages, const Schedule& s, Ring& ring,
                             unsigned char* shared, int stages, Cursor at, int32_t tiles) {
    const int lane = threadIdx.x % 32, box = pages.box, per_tile = kTileTokens / box, batch = 32 / per_tile;
    Cursor ahead = at;
    int32_t next_ids = load_id<R>(a, s, ahead, box, tiles);
    Stage stage{0, 0};
    for (int32_t done = 0; done < tiles; done += batch) {
      const int32_t ids = next_ids;
      ahead.skip(a, s, batch);
      if (done + batch < tiles) next_ids = load_id<R>(a, s, ahead, box, tiles - done - batch);
      for (int32_t i = 0; i < batch && done + i < tiles; ++i) {
        const int part = lane % per_tile;
        const int32_t id = __shfl_sync(kAll, ids, i * per_tile + part);
        const bool valid = R::valid_block(id, a.num_blocks);
        const uint32_t boxes = __popc(__ballot_sync(kAll, valid && lane < per_tile));
        ring.wait_empty(stage);
        Tile& tile = *tile_at(shared, stage.index);
        if (static_cast<int>(boxes) < per_tile) spoil_scales(tile.scale, kTileTokens);
        uint64_t* full = ring.full + stage.index;
        if (lane == 0) ring.expect_full(stage, boxes * box * (kHeadDim + 4u));
        __syncwarp();
        if (valid && lane < per_tile) {
          const int32_t position = at.tile * kTileTokens + part * box;
          const int32_t in_block = R::token_in_block(a, position, R::block_column(a, position));
          load_box(pages, tile.chunk + part * box * 8, in_block, id, full);
          load_bulk(tile.scale + part * box,
                    a.scale_base + R::scale_block_offset(a, id) + R::scale_offset(a, in_block), 4u * box,
                    full);
        }
        at.advance(a, s);
        stage.advance(stages);
      }
    }
  }
};

// ---- shuffled feeder
// A shuffled block is column tiles of 16 tokens x 16 bytes, which the matrix unit takes as they are: each
// lane copies column c of one of the tile's four groups of 16 tokens.
struct ShuffledFeeder {
  static constexpr int kArrivals = 1, kGroupTokens = 16, kColumnTileBytes = 256;
  static constexpr uint64_t kStep = kNextColumnStep;
  __device__ static uint64_t keys(const Tile& tile) { return column_descriptor(tile.chunk); }

  __device__ static int group() { return static_cast<int>(threadIdx.x % 32 / 8); }
  __device__ static int32_t group_position(const Cursor& at) {
    return at.tile * kTileTokens + group() * kGroupTokens;
  }
  // Block id of the lane's group, -1 when none of its tokens is needed.
  template <class R>
  __device__ static int32_t load_id(const PagedArgs& a, const Schedule& s, const Cursor& at) {
    const int32_t position = group_position(at);
    return position < s.needed[at.sequence] ? a.block_table[R::table_offset(a, at.sequence, position)] : -1;
  }
  template <class R>
  __device__ static void copy(Tile& tile, const PagedArgs& a, int32_t id, int32_t position, uint64_t* full) {
    const int column = static_cast<int>(threadIdx.x % 8);
    const int32_t in_block = R::token_in_block(a, position, R::block_column(a, position));
    const uint8_t* block = a.kv_cache + R::block_offset(a, id);
    unsigned char* to =
        reinterpret_cast<unsigned char*>(tile.chunk) + column * kColumnBytes + group() * kColumnTileBytes;
    load_bulk(to, block + R::token_offset(a, in_block) + R::dim_offset(a, 16 * column), kColumnTileBytes,
              full);
    if (column == 0)
      load_bulk(tile.scale + group() * kGroupTokens,
                a.scale_base + R::scale_block_offset(a, id) + R::scale_offset(a, in_block), 4 * kGroupTokens,
                full);
  }
  template <class R>
  __device__ static void run(const PagedArgs& a, const Pages&, const Schedule& s, Ring& ring,
                             unsigned char* shared, int stages, Cursor at, int32_t tiles) {
    Cursor ahead = at;
    int32_t next_id = load_id<R>(a, s, ahead);
    Stage stage{0, 0};
    for (int32_t done = 0; done < tiles; ++done) {
      const int32_t id = next_id;
      ahead.advance(a, s);
      if (done + 1 < tiles) next_id = load_id<R>(a, s, ahead);
      const bool valid = R::valid_block(id, a.num_blocks);
      const uint32_t columns = __popc(__ballot_sync(kAll, valid));
      ring.wait_empty(stage);
      Tile& tile = *tile_at(shared, stage.index);
      if (columns < 32) spoil_scales(tile.scale, kTileTokens);
      if (threadIdx.x % 32 == 0)
        ring.expect_full(stage, columns * kColumnTileBytes + columns / 8 * 4 * kGroupTokens);
      __syncwarp();
      if (valid) copy<R>(tile, a, id, group_position(at), ring.full + stage.index);
      at.advance(a, s);
      stage.advance(stages);
    }
  }
};

// ---- copying feeder
// --------------------------------------------------------------------------------------------- Copies 16
// bytes, or 4, or writes zeros and reads nothing.
__device__ inline void copy16(void* to, const uint8_t* from, bool present) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(to)), "l"(from),
               "r"(present ? 16 : 0)
               : "memory");
}
__device__ inline void copy4(void* to, const uint8_t* from, bool present) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(shared_address(to)), "l"(from),
               "r"(present ? 4 : 0)
               : "memory");
}
__device__ inline void commit_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int Pending> __device__ inline void wait_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(Pending) : "memory");
}

template <bool Aligned> struct CopyFeeder {
  static constexpr int kArrivals = 32;
  static constexpr uint64_t kStep = kNextStep;
  __device__ static uint64_t keys(const Tile& tile) { return descriptor(tile.chunk); }
  static constexpr int kInFlight = 2; // tiles on their way behind the newest

  // Lane i looks after tokens i and i + 32 of a tile.
  template <class R>
  __device__ static int32_t load_id(const PagedArgs& a, const Schedule& s, const Cursor& at, int half) {
    const int32_t position = at.tile * kTileTokens + 32 * half + static_cast<int32_t>(threadIdx.x % 32);
    return position < s.needed[at.sequence] ? a.block_table[R::table_offset(a, at.sequence, position)] : -1;
  }
  template <class R>
  __device__ static void copy_half(Tile& tile, const PagedArgs& a, int32_t id, int32_t index, int half) {
    const int lane = threadIdx.x % 32, token = 32 * half + lane;
    const int32_t position = index * kTileTokens + token;
    const int32_t in_block = R::token_in_block(a, position, R::block_column(a, position));
    const bool valid = R::valid_block(id, a.num_blocks);
    const int64_t own = valid ? R::block_offset(a, id) + R::token_offset(a, in_block) : -1;
    const int chunk = lane % 8;
    const int32_t dim_offset = R::dim_offset(a, 16 * chunk);
#pragma unroll
    for (int i = 0; i < 8; ++i) { // 8 lanes read one token's 128 bytes, so that memory sees whole lines
      const int row = 4 * i + lane / 8;
      const int64_t offset = __shfl_sync(kAll, own, row);
      uint4* to = tile.chunk + (32 * half + row) * 8 + (chunk ^ (row % 8));
      const uint8_t* from = a.kv_cache + (offset < 0 ? 0 : offset + dim_offset);
      if constexpr (Aligned)
        copy16(to, from, offset >= 0);
      else
        for (int w = 0; w < 4; ++w) copy4(reinterpret_cast<uint32_t*>(to) + w, from + 4 * w, offset >= 0);
    }
    if (valid)
      copy4(tile.scale + token, a.scale_base + R::scale_block_offset(a, id) + R::scale_offset(a, in_block),
            true);
    else
      tile.scale[token] = __int_as_float(0x7fc00000);
  }
  template <class R>
  __device__ static void run(const PagedArgs& a, const Pages&, const Schedule& s, Ring& ring,
                             unsigned char* shared, int stages, Cursor at, int32_t tiles) {
    Cursor ahead = at;
    int32_t ids[2] = {load_id<R>(a, s, ahead, 0), load_id<R>(a, s, ahead, 1)};
    Stage stage{0, 0}, landed{0, 0};
    for (int32_t done = 0; done < tiles + kInFlight; ++done) {
      if (done < tiles) {
        const int32_t now[2] = {ids[0], ids[1]};
        ahead.advance(a, s);
        if (done + 1 < tiles)
          for (int half = 0; half < 2; ++half) ids[half] = load_id<R>(a, s, ahead, half);
        ring.wait_empty(stage);
        for (int half = 0; half < 2; ++half)
          copy_half<R>(*tile_at(shared, stage.index), a, now[half], at.tile, half);
        at.advance(a, s);
        stage.advance(stages);
      }
      commit_copies();
      if (done < kInFlight) continue;
      wait_copies<kInFlight>();
      fence_shared();
      ring.arrive_full(landed);
      landed.advance(stages);
    }
  }
};

} // namespace mqa::hopper
