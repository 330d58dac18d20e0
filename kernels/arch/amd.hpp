// The arch layer for CDNA: a wave of 64 lanes handles a unit of 64 tokens as 4 slots of 16.  In a slot a lane
// holds a quarter of one token's dims (operation.md, 11.1): the matrix instruction wants 8 bytes of k per
// lane, and which k they are is free as long as q and K agree, so a lane's bytes are simply contiguous in
// memory. A operand = q (rows are heads), B operand = K (columns are tokens): a lane ends up with 4 heads of
// one token.
#pragma once
#include "kernels/rules.hpp"

#if defined(__HIPCC__) || defined(__HIP__)
#include <hip/hip_runtime.h>
#endif

namespace mqa {

struct Amd {
  static constexpr int kLanes = 64, kSlots = 4, kThreads = 256;
  static constexpr int kStagedBytesPerDim = 1;

  // ---- who holds what (host-callable: tested by enumeration) ----
  MQA_HD static constexpr int quarter(int lane) { return lane / 16; }
  MQA_HD static constexpr int slot_token(int slot, int lane) { return 16 * slot + lane % 16; }
  // After reduce(): the token that a lane owns, and the lane that owns a token.
  MQA_HD static constexpr int lane_token(int lane) { return lane; }
  MQA_HD static constexpr int token_lane(int token) { return token; }
  // The heads of a tile that a lane's query fragment holds, and the heads of its four accumulators (pairs are
  // adjacent).
  static constexpr int kFragmentHeads = 1;
  MQA_HD static constexpr int fragment_head(int lane, int) { return lane % 16; }
  MQA_HD static constexpr int head_in_tile(int v, int quarter) { return 4 * quarter + v; }
  // Contiguous bytes of a lane's quarter: chunks of this many, 64 dims apart.
  template <int D> static constexpr int kChunkBytes = D < 64 ? D / 4 : 16;
  template <int D> static constexpr int kChunks = D / 4 / kChunkBytes<D>;

  // ---- gfx942's matrix unit reads FNUZ, gfx950's FN.  An FN byte means twice the FNUZ value, but for three
  // codes ----
#if defined(__gfx950__)
  static constexpr bool kNativeFnuz = false; // FNUZ has no map to FN (240 would be 480): refused by the host
#else
  static constexpr bool kNativeFnuz = true;
#endif
  MQA_HD static constexpr float value_factor(bool fnuz) { return fnuz == kNativeFnuz ? 1.0f : 2.0f; }
  // Four FN bytes as FNUZ: -0 (0x80) becomes +0, NaN (0x7f, 0xff) becomes FNUZ's NaN (0x80).
  MQA_HD static constexpr uint32_t fnuz_from_fn(uint32_t word) {
    const uint32_t magnitude = word & 0x7f7f7f7fu;
    const uint32_t one_if_nan = (magnitude + 0x01010101u) >> 7 & 0x01010101u;
    const uint32_t sign_unless_zero = word & (magnitude + 0x7f7f7f7fu) & 0x80808080u;
    return (magnitude + one_if_nan) | sign_unless_zero;
  }

  // An FNUZ byte without a matrix unit that knows it.  As the bits of a float its exponent is 119 too small;
  // the one NaN is 0x80.
  MQA_HD static constexpr float value_of_fnuz(uint32_t byte) {
    const float magnitude = __builtin_bit_cast(float, (byte & 0x7fu) << 20) * 0x1p119f;
    return byte == 0x80 ? __builtin_nanf("") : byte & 0x80 ? -magnitude : magnitude;
  }

  using Pair = float __attribute__((ext_vector_type(2)));
  using Quad = float __attribute__((ext_vector_type(4)));
  template <int D> struct Fragment {
    uint32_t word[D / 16];
  };
  template <int D> using KeyFragment = Fragment<D>;
  template <int D> using QueryFragment = Fragment<D>;
  struct Product { // [slot][head of this lane]
    Quad slot[kSlots];
  };

#if defined(__HIPCC__) || defined(__HIP__)
  // Bytes at any alignment: gfx942 loads unaligned dwords at full width.
  template <int Bytes> static __device__ void load_bytes(uint32_t* to, const uint8_t* from) {
    struct __attribute__((packed)) Words {
      uint32_t word[Bytes / 4];
    };
    const Words words = *reinterpret_cast<const Words*>(from);
    for (int i = 0; i < Bytes / 4; ++i) to[i] = words.word[i];
  }
  template <int Bytes>
  static __device__ void load_key_bytes(uint32_t* to, const uint8_t* from, const PagedArgs&) {
    load_bytes<Bytes>(to, from);
  }
  // Raw bytes, D/4 a slot, as the matrix unit wants them.  One branch for all of them.
  template <int N> static __device__ void decode(uint32_t (&words)[N], bool fnuz) {
    if (fnuz == kNativeFnuz) return;
    for (uint32_t& word : words) word = fnuz_from_fn(word);
  }
  template <int D>
  static __device__ void decode_keys(KeyFragment<D> (&keys)[kSlots], uint32_t (&raw)[kSlots][D / 16],
                                     bool fnuz) {
    if (fnuz != kNativeFnuz)
      for (auto& slot : raw) decode(slot, fnuz);
    for (int slot = 0; slot < kSlots; ++slot)
      for (int i = 0; i < D / 16; ++i) keys[slot].word[i] = raw[slot][i];
  }
  template <int D>
  static __device__ QueryFragment<D> decode_query(uint32_t (&raw)[kFragmentHeads][D / 16], bool fnuz) {
    decode(raw[0], fnuz);
    return __builtin_bit_cast(QueryFragment<D>, raw[0]);
  }

  // Four bytes as exact values, for arithmetic outside the matrix unit.
  static __device__ void decode_values(Pair* to, uint32_t word, bool fnuz) {
    if (!kNativeFnuz && fnuz) {
      for (int i = 0; i < 2; ++i)
        to[i] = Pair{value_of_fnuz(word >> 16 * i & 0xffu), value_of_fnuz(word >> (16 * i + 8) & 0xffu)};
      return;
    }
    if (fnuz != kNativeFnuz) word = fnuz_from_fn(word);
#if defined(__gfx942__) || defined(__gfx950__)
    to[0] = __builtin_amdgcn_cvt_pk_f32_fp8(word, false);
    to[1] = __builtin_amdgcn_cvt_pk_f32_fp8(word, true);
#endif
    if (fnuz != kNativeFnuz)
      for (int i = 0; i < 2; ++i) to[i] *= value_factor(fnuz);
  }

  template <int D>
  static __device__ Product product(const KeyFragment<D> (&keys)[kSlots], const QueryFragment<D>& q) {
    Product p;
    for (int slot = 0; slot < kSlots; ++slot) {
      p.slot[slot] = Quad{0, 0, 0, 0};
      for (int step = 0; step < D / 32; ++step)
        p.slot[slot] = mfma(q.word + 2 * step, keys[slot].word + 2 * step, p.slot[slot]);
    }
    return p;
  }
  static __device__ Pair pair(const Product& p, int slot, int half) {
    return half ? p.slot[slot].zw : p.slot[slot].xy;
  }
  static __device__ Quad mfma([[maybe_unused]] const uint32_t* a, [[maybe_unused]] const uint32_t* b,
                              Quad c) {
#if defined(__gfx942__) || defined(__gfx950__)
    return __builtin_amdgcn_mfma_f32_16x16x32_fp8_fp8(packed(a), packed(b), c, 0, 0, 0);
#else
    return c; // the host pass of the compiler, which never runs this
#endif
  }
  static __device__ int64_t packed(const uint32_t* w) {
    return static_cast<int64_t>(w[0] | static_cast<uint64_t>(w[1]) << 32);
  }

  static __device__ void barrier() { __syncthreads(); }
  // The kernel's only argument, read again where this is called: a long kernel that keeps all of it at hand
  // runs out of scalar registers.
  static __device__ const PagedArgs& reread([[maybe_unused]] const PagedArgs& args) {
#if defined(__HIP_DEVICE_COMPILE__)
    auto* kernarg =
        (const __attribute__((address_space(4))) PagedArgs*)__builtin_amdgcn_kernarg_segment_ptr();
    asm volatile("" : "+s"(kernarg));
    return *(const PagedArgs*)kernarg;
#else
    return args;
#endif
  }
  static __device__ Pair fma(Pair a, Pair b, Pair c) { return __builtin_elementwise_fma(a, b, c); }
  // The median of (x, 0, inf) is max(x, 0), also 0 for NaN, in one instruction: fmaxf costs a second one that
  // quiets NaNs.
  static __device__ float relu(float x) { return __builtin_amdgcn_fmed3f(x, 0.0f, __builtin_inff()); }
  static __device__ Pair relu(Pair x) { return Pair{relu(x.x), relu(x.y)}; }

  // Lane `xor`ed with `mask` of the quarter's bits.
  static __device__ float exchange(float x, int lane, int quarter_mask) {
    return shuffle(x, lane ^ quarter_mask * 16);
  }
  // A value that all lanes of a wave share, told to the compiler.
  static __device__ int32_t uniform(int32_t x) { return __builtin_amdgcn_readfirstlane(x); }
  static __device__ float shuffle(float x, int from_lane) {
    return __builtin_bit_cast(float, shuffle(__builtin_bit_cast(int32_t, x), from_lane));
  }
  static __device__ int64_t shuffle(int64_t x, int from_lane) {
    const auto low = static_cast<uint32_t>(shuffle(static_cast<int32_t>(x), from_lane));
    return int64_t{shuffle(static_cast<int32_t>(x >> 32), from_lane)} << 32 | low;
  }
  static __device__ int32_t shuffle(int32_t x, int from_lane) {
    return __builtin_amdgcn_ds_bpermute(4 * from_lane, x);
  }
  // The lanes for which `x` holds, how many they are, and how many of them are below this lane.
  using Lanes = uint64_t;
  static __device__ Lanes ballot(bool x) { return __ballot(x); }
  static __device__ int32_t count(Lanes lanes) { return __popcll(lanes); }
  static __device__ int32_t count_below(Lanes lanes, int) {
    const uint32_t low = __builtin_amdgcn_mbcnt_lo(static_cast<uint32_t>(lanes), 0);
    return static_cast<int32_t>(__builtin_amdgcn_mbcnt_hi(static_cast<uint32_t>(lanes >> 32), low));
  }
  // As the AMD buffer store with a 2^31-byte range does: 32-bit byte offset, out of range dropped without a
  // sign.
  static __device__ void buffer_store_32(float* base, uint32_t offset_bytes, float value) {
    auto resource = __builtin_amdgcn_make_buffer_rsrc(base, 0, static_cast<int>(0x80000000u), 0x00027000);
    __builtin_amdgcn_raw_buffer_store_b32(__builtin_bit_cast(uint32_t, value), resource, offset_bytes, 0, 0);
  }
#endif
};

} // namespace mqa
