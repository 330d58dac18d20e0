// The arch layer for sm_90: a warp handles a unit of 32 tokens as 4 slots of 8.  In a slot a lane holds a
// quarter of one token's dims, contiguous in memory.  FP8 bytes become fp16 in registers, without loss, and
// mma.sync m16n8k16 multiplies: on sm_90 its own FP8 form does the same behind the scenes
// (operation.md, 11.2).  A operand = K (rows are the tokens of two slots), B operand = q (columns are 8
// heads), so a lane ends up with 4 heads of one token per slot.
#pragma once
#include "kernels/rules.hpp"

#if defined(__CUDACC__)
#include <hip/hip_runtime.h>
#endif

namespace mqa {

struct Nvidia {
  static constexpr int kLanes = 32, kSlots = 4, kThreads = 128;
  static constexpr int kStagedBytesPerDim = 2;

  // ---- who holds what (host-callable: tested by enumeration) ----
  MQA_HD static constexpr int quarter(int lane) { return lane % 4; }
  MQA_HD static constexpr int slot_token(int slot, int lane) { return 8 * slot + lane / 4; }
  // After reduce(): the token that a lane owns, and the lane that owns a token.
  MQA_HD static constexpr int lane_token(int lane) { return 8 * (lane % 4) + lane / 4; }
  MQA_HD static constexpr int token_lane(int token) { return 4 * (token % 8) + token / 8; }
  // The heads of a tile that a lane's query fragment holds, and the heads of its four accumulators (pairs are
  // adjacent).
  static constexpr int kFragmentHeads = 2;
  MQA_HD static constexpr int fragment_head(int lane, int j) { return 8 * j + lane / 4; }
  MQA_HD static constexpr int head_in_tile(int v, int quarter) { return 8 * (v / 2) + 2 * quarter + v % 2; }
  // Contiguous bytes of a lane's quarter: chunks of this many, 64 dims apart.
  template <int D> static constexpr int kChunkBytes = D < 64 ? D / 4 : 16;
  template <int D> static constexpr int kChunks = D / 4 / kChunkBytes<D>;
  // Word i of a chunk is one step of 16 k: its low byte pair is the lane's k of 0..7, its high pair of 8..15.
  // Register r of the A operand takes pair a_pair(step, r) of slot 2i + a_slot(r); register r of B takes
  // b_pair(step, r).
  MQA_HD static constexpr int a_slot(int r) { return r % 2; }
  MQA_HD static constexpr int a_pair(int step, int r) { return 2 * step + r / 2; }
  MQA_HD static constexpr int b_pair(int step, int r) { return 2 * step + r; }

  // ---- FP8 to fp16 ----
  // Both decoders give exact values, so nothing is left to scale.
  MQA_HD static constexpr float value_factor(bool) { return 1.0f; }
  // Two FNUZ bytes (pair 0 or 1 of a word) as halves, value * 2^-7 since the exponent's bias is 8 and not 15.
  // Subnormals are subnormal halves.  The one NaN, 0x80, arrives as -0, which FNUZ lacks, and becomes the NaN
  // 0xffff.
  MQA_HD static constexpr uint32_t halves_from_fnuz(uint32_t word, int pair) {
    const uint32_t bytes = word >> 16 * pair;
    const uint32_t spread = (bytes & 0xffu) << 8 | (bytes & 0xff00u) << 16;
    const uint32_t halves = (spread & 0x7f007f00u) >> 1 | (spread & 0x80008000u);
    const uint32_t other = halves ^ 0x80008000u; // a half is 0 here where it is NaN
    const uint32_t number = ((other & 0x7fff7fffu) + 0x7fff7fffu) | other;
    const uint32_t nan = ~number & 0x80008000u;
    return halves | (nan - (nan >> 15));
  }

  struct alignas(8) Pair {
    float x, y;
  };
  // Halves in pairs: dims 2p and 2p+1 of the lane's own D/4.
  template <int D> struct KeyFragment {
    uint32_t pair[D / 8];
  };
  template <int D> struct QueryFragment {
    uint32_t pair[kFragmentHeads][D / 8];
  };
  struct Product { // [slot][head of this lane]
    float value[kSlots][4];
  };

#if defined(__CUDACC__)
  // Bytes at any alignment, by the widest loads that the address allows.
  template <int Bytes> static __device__ void load_bytes(uint32_t* to, const uint8_t* from) {
    const auto address = reinterpret_cast<uintptr_t>(from);
    if (address % Bytes == 0) {
      load_wide<Bytes>(to, from, true);
    } else if (address % 4 == 0) {
      load_words<Bytes>(to, from, true);
    } else {
      for (int i = 0; i < Bytes / 4; ++i)
        to[i] = from[4 * i] | from[4 * i + 1] << 8 | from[4 * i + 2] << 16 | from[4 * i + 3] << 24;
    }
  }
  // Part of a key, always at a multiple of 4 bytes.  Predicates instead of branches keep all loads of a unit
  // in flight.
  template <int Bytes>
  static __device__ void load_key_bytes(uint32_t* to, const uint8_t* from, const PagedArgs& a) {
    load_wide<Bytes>(to, from, a.aligned16);
    load_words<Bytes>(to, from, !a.aligned16);
  }
  template <int Bytes> static __device__ void load_wide(uint32_t* to, const uint8_t* from, bool wanted) {
    static_assert(Bytes == 8 || Bytes == 16);
    if constexpr (Bytes == 16)
      asm("{ .reg .pred p; setp.ne.s32 p, %5, 0; @p ld.global.nc.v4.u32 {%0, %1, %2, %3}, [%4]; }"
          : "+r"(to[0]), "+r"(to[1]), "+r"(to[2]), "+r"(to[3])
          : "l"(from), "r"(int{wanted}));
    else
      asm("{ .reg .pred p; setp.ne.s32 p, %3, 0; @p ld.global.nc.v2.u32 {%0, %1}, [%2]; }"
          : "+r"(to[0]), "+r"(to[1])
          : "l"(from), "r"(int{wanted}));
  }
  template <int Bytes> static __device__ void load_words(uint32_t* to, const uint8_t* from, bool wanted) {
    for (int i = 0; i < Bytes / 4; ++i)
      asm("{ .reg .pred p; setp.ne.s32 p, %2, 0; @p ld.global.nc.u32 %0, [%1]; }"
          : "+r"(to[i])
          : "l"(from + 4 * i), "r"(int{wanted}));
  }

  // Two bytes of a word as halves.  sm_90 converts FN in one instruction; FNUZ takes the bits and an exact
  // 2^7.
  static __device__ uint32_t halves(uint32_t word, int pair, bool fnuz) {
    uint32_t out;
    if (fnuz)
      asm("mul.rn.f16x2 %0, %1, %2;"
          : "=r"(out)
          : "r"(halves_from_fnuz(word, pair)), "r"(0x58005800)); // 128, 128
    else
      asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(out) : "h"(static_cast<uint16_t>(word >> 16 * pair)));
    return out;
  }
  template <int Words>
  static __device__ void decode(uint32_t (&pairs)[2 * Words], const uint32_t (&raw)[Words], bool fnuz) {
    for (int i = 0; i < 2 * Words; ++i) pairs[i] = halves(raw[i / 2], i % 2, fnuz);
  }
  template <int D>
  static __device__ void decode_keys(KeyFragment<D> (&keys)[kSlots], uint32_t (&raw)[kSlots][D / 16],
                                     bool fnuz) {
    if (fnuz)
      for (int slot = 0; slot < kSlots; ++slot) decode(keys[slot].pair, raw[slot], true);
    else
      for (int slot = 0; slot < kSlots; ++slot) decode(keys[slot].pair, raw[slot], false);
  }
  template <int D>
  static __device__ QueryFragment<D> decode_query(uint32_t (&raw)[kFragmentHeads][D / 16], bool fnuz) {
    QueryFragment<D> q;
    for (int j = 0; j < kFragmentHeads; ++j) decode(q.pair[j], raw[j], fnuz);
    return q;
  }

  // Four bytes as exact values, for arithmetic outside the matrix unit.
  static __device__ void decode_values(Pair* to, uint32_t word, bool fnuz) {
    for (int i = 0; i < 2; ++i)
      asm("{ .reg .b16 low, high; mov.b32 {low, high}, %2; cvt.f32.f16 %0, low; cvt.f32.f16 %1, high; }"
          : "=f"(to[i].x), "=f"(to[i].y)
          : "r"(halves(word, i, fnuz)));
  }

  template <int D>
  static __device__ Product product(const KeyFragment<D> (&keys)[kSlots], const QueryFragment<D>& q) {
    Product p = {};
    for (int step = 0; step < D / 16; ++step)
      for (int i = 0; i < kSlots; i += 2)
        for (int j = 0; j < kFragmentHeads; ++j) {
          const uint32_t a[4] = {
              keys[i + a_slot(0)].pair[a_pair(step, 0)], keys[i + a_slot(1)].pair[a_pair(step, 1)],
              keys[i + a_slot(2)].pair[a_pair(step, 2)], keys[i + a_slot(3)].pair[a_pair(step, 3)]};
          const uint32_t b[2] = {q.pair[j][b_pair(step, 0)], q.pair[j][b_pair(step, 1)]};
          mma(p.value[i] + 2 * j, p.value[i + 1] + 2 * j, a, b);
        }
    return p;
  }
  // Rows 0..7 of the result, the first slot's tokens, go to `low`, rows 8..15 to `high`.
  static __device__ void mma(float* low, float* high, const uint32_t (&a)[4], const uint32_t (&b)[2]) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(low[0]), "+f"(low[1]), "+f"(high[0]), "+f"(high[1])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  }
  static __device__ Pair pair(const Product& p, int slot, int half) {
    return {p.value[slot][2 * half], p.value[slot][2 * half + 1]};
  }

  static __device__ void barrier() { __syncthreads(); }
  // Arguments lie in the constant bank: nothing is gained by reading them again.
  static __device__ const PagedArgs& reread(const PagedArgs& args) { return args; }
  static __device__ Pair fma(Pair a, Pair b, Pair c) { return {fmaf(a.x, b.x, c.x), fmaf(a.y, b.y, c.y)}; }
  static __device__ float relu(float x) { return fmaxf(x, 0.0f); } // 0 for NaN
  static __device__ Pair relu(Pair x) { return {relu(x.x), relu(x.y)}; }

  // Every lane of the warp must take part in these four.
  static __device__ float exchange(float x, int, int quarter_mask) {
    return __shfl_xor_sync(~0u, x, quarter_mask);
  }
  static __device__ int32_t uniform(int32_t x) { return __shfl_sync(~0u, x, 0); }
  template <class T> static __device__ T shuffle(T x, int from_lane) {
    return __shfl_sync(~0u, x, from_lane);
  }
  // The lanes for which `x` holds, how many they are, and how many of them are below this lane.
  using Lanes = uint32_t;
  static __device__ Lanes ballot(bool x) { return __ballot_sync(~0u, x); }
  static __device__ int32_t count(Lanes lanes) { return __popc(lanes); }
  static __device__ int32_t count_below(Lanes lanes, int lane) { return __popc(lanes & ((1u << lane) - 1)); }

  // As the AMD buffer store with a 2^31-byte range does: 32-bit byte offset, out of range dropped without a
  // sign.
  static __device__ void buffer_store_32(float* base, uint32_t offset_bytes, float value) {
    if (offset_bytes < 1u << 31) base[offset_bytes / 4] = value;
  }
#endif
};

} // namespace mqa
