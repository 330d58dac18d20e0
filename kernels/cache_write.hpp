// The cache writer: quantises keys to FP8 and puts them where their slots say.  Every step is fp32 and
// correctly rounded, so the bytes are defined; FP8 is encoded in integer arithmetic, the same on every device
// and on the host.
#pragma once
#include "kernels/cache_rules.hpp"

#if defined(__HIPCC__) || defined(__CUDACC__) || defined(__HIP__)
#include <hip/hip_runtime.h>
#endif

namespace mqa {

// An e4m3 flavour as numbers.
struct Fp8Format {
  int32_t bias;
  float largest;
  uint32_t nan;
};

struct CacheWriteRules : CacheRules {
  using Args = mqa_cache_write_args;

  // ---- which tokens, and where they go ----
  MQA_HD static constexpr int64_t slot_of(const Args& a, int64_t token) { return a.slots[token]; }
  MQA_HD static constexpr bool is_written(const Args& a, int64_t slot) {
    return slot >= 0 && slot < a.num_blocks * a.block_size;
  }
  // Dims of a token that are stored.
  MQA_HD static constexpr int32_t dims_of(const Args& a) { return a.head_dim; }
  MQA_HD static constexpr int64_t key_offset(const Args& a, int64_t token, int32_t dim) {
    return token * a.keys_stride + dim;
  }

  // ---- the arithmetic ----
  MQA_HD static constexpr Fp8Format format(const Args& a) {
    return a.fp8 == MQA_E4M3FN ? Fp8Format{7, 448.0f, 0x7f} : Fp8Format{8, 240.0f, 0x80};
  }
  // |x| joins the largest magnitude so far; a NaN compares false and does not.
  MQA_HD static float larger_magnitude(float amax, float x) {
    const float magnitude = __builtin_fabsf(x);
    return magnitude > amax ? magnitude : amax;
  }
  MQA_HD static constexpr float floored(float amax) { return amax > 1e-4f ? amax : 1e-4f; }
  MQA_HD static constexpr float divisor(const Args& a) { return format(a).largest; }
  // 2^ceil(log2(scale)) by its bits: a power of two stays, anything else moves up to the next one.  Infinity
  // stays.
  MQA_HD static float power_of_two(float scale) {
    const auto bits = __builtin_bit_cast(uint32_t, scale);
    return __builtin_bit_cast(float, bits & 0x7fffffu ? (bits & 0x7f800000u) + 0x00800000u : bits);
  }
  MQA_HD static float divided(float a, float b) {
#if defined(__CUDA_ARCH__)
    return __fdiv_rn(a, b);
#else
    return a / b; // HIP's default is correctly rounded as well
#endif
  }
  template <class R> MQA_HD static float scale_of(const Args& a, float amax) {
    const float scale = divided(R::floored(amax), R::divisor(a));
    return a.scale_format == MQA_SCALE_POWER_OF_TWO ? R::power_of_two(scale) : scale;
  }
  // Rounded by itself: a product must not melt into the sum that encode() makes of it.
  MQA_HD static float scaled(float x, float scale) {
#if defined(__CUDA_ARCH__)
    return __fmul_rn(x, __fdiv_rn(1.0f, scale));
#else
#if defined(__clang__)
#pragma clang fp contract(off)
#endif
    return x * (1.0f / scale);
#endif
  }
  // The code of a magnitude up to `largest`, nearest, ties to even.  Normals: round the mantissa to three
  // bits in place and move the exponent's bias.  Below the smallest normal: adding 2^(21 - bias), whose last
  // mantissa bit is worth one code, leaves the code in the low bits of the sum.  Both are computed: a choice
  // costs less than a branch.
  MQA_HD static uint32_t rounded(float magnitude, const Fp8Format& f) {
    const auto bits = __builtin_bit_cast(uint32_t, magnitude);
    const uint32_t normal =
        ((bits + 0x7ffffu + (bits >> 20 & 1)) >> 20) - (static_cast<uint32_t>(127 - f.bias) << 3);
    const auto anchor = static_cast<uint32_t>(127 + 21 - f.bias) << 23;
    const uint32_t subnormal =
        __builtin_bit_cast(uint32_t, magnitude + __builtin_bit_cast(float, anchor)) - anchor;
    return bits >= static_cast<uint32_t>(128 - f.bias) << 23 ? normal : subnormal;
  }
  // Saturating; NaN gives the flavour's NaN, and FNUZ has no -0.
  template <class R> MQA_HD static uint32_t encode(float x, const Fp8Format& f) {
    const float magnitude = __builtin_fabsf(x);
    const uint32_t code = R::rounded(magnitude < f.largest ? magnitude : f.largest, f);
    const uint32_t sign = __builtin_bit_cast(uint32_t, x) >> 24 & 0x80u;
    const uint32_t number = code | (code == 0 ? sign & ~f.nan : sign);
    return x != x ? f.nan : number;
  }

  // ---- input ----
  MQA_HD static float from_bf16(uint16_t bits) { return __builtin_bit_cast(float, uint32_t{bits} << 16); }
  // The product is exact, also of subnormals; infinities and NaNs need the larger exponent put in.
  MQA_HD static float from_fp16(uint16_t bits) {
    const uint32_t moved = (bits & 0x7fffu) << 13, sign = (bits & 0x8000u) << 16;
    const float number = __builtin_bit_cast(float, moved) * 0x1p112f;
    const bool is_number = (bits & 0x7c00u) != 0x7c00u;
    return __builtin_bit_cast(
        float, sign | (is_number ? __builtin_bit_cast(uint32_t, number) : moved | 0x7f800000u));
  }
};

// Dims that a lane holds: 16 bytes of 16-bit keys.
inline constexpr int kWriterDims = 8;

#if defined(__HIPCC__) || defined(__CUDACC__) || defined(__HIP__)

struct KeyPiece {
  float dim[kWriterDims];
};

// Sixteen bytes of keys.  Not `aligned` to 16, they come element by element.
template <class Element> __device__ void load_words(uint32_t (&to)[4], const void* from, bool aligned) {
  struct alignas(16) Words {
    uint32_t word[4];
  };
  if (aligned) {
    const Words words = *static_cast<const Words*>(from);
    for (int i = 0; i < 4; ++i) to[i] = words.word[i];
    return;
  }
  constexpr int kEach = 4 / sizeof(Element);
  for (int i = 0; i < 4; ++i) {
    to[i] = 0;
    for (int part = 0; part < kEach; ++part)
      to[i] |= uint32_t{static_cast<const Element*>(from)[kEach * i + part]} << 16 * part;
  }
}

template <class R>
__device__ KeyPiece load_keys(const mqa_cache_write_args& a, int64_t offset, bool aligned) {
  KeyPiece piece;
  uint32_t words[4];
  if (a.key_type == MQA_KEY_FP32) {
    for (int half = 0; half < 2; ++half) {
      load_words<uint32_t>(words, static_cast<const float*>(a.keys) + offset + 4 * half, aligned);
      for (int i = 0; i < 4; ++i) piece.dim[4 * half + i] = __builtin_bit_cast(float, words[i]);
    }
    return piece;
  }
  load_words<uint16_t>(words, static_cast<const uint16_t*>(a.keys) + offset, aligned);
  const auto bits = [&](int i) { return static_cast<uint16_t>(words[i / 2] >> 16 * (i % 2)); };
  if (a.key_type == MQA_KEY_BF16) {
    for (int i = 0; i < kWriterDims; ++i) piece.dim[i] = R::from_bf16(bits(i));
  } else {
    for (int i = 0; i < kWriterDims; ++i) piece.dim[i] = R::from_fp16(bits(i));
  }
  return piece;
}

// Two 4-byte stores where 8 bytes are not aligned.
__device__ inline void store_codes(uint8_t* to, const uint32_t (&words)[2], bool wide) {
  if (wide) {
    *reinterpret_cast<uint64_t*>(to) = words[0] | uint64_t{words[1]} << 32;
  } else {
    reinterpret_cast<uint32_t*>(to)[0] = words[0];
    reinterpret_cast<uint32_t*>(to)[1] = words[1];
  }
}

// 2^shift neighbours share a token, each with eight of its dims.
template <class R>
__global__ __launch_bounds__(kCacheThreads) void cache_write(const mqa_cache_write_args a, int shift,
                                                             bool wide) {
  const int thread = static_cast<int>(threadIdx.x), lane = thread % Arch::kLanes;
  const int dim = (thread & ((1 << shift) - 1)) * kWriterDims, tokens_per_block = kCacheThreads >> shift;
  const Fp8Format format = R::format(a);
  const int64_t pass = int64_t{gridDim.x} * tokens_per_block;
  for (int64_t first = int64_t{blockIdx.x} * tokens_per_block; first < a.tokens; first += pass) {
    const int64_t token = first + (thread >> shift);
    const int64_t slot = token < a.tokens ? R::slot_of(a, token) : -1;
    const bool written = R::is_written(a, slot), mine = written && dim < R::dims_of(a);

    KeyPiece key{};
    if (mine) key = load_keys<R>(a, R::key_offset(a, token, dim), wide);
    float amax = 0;
    for (const float x : key.dim) amax = R::larger_magnitude(amax, x);
    for (int distance = 1; distance < 1 << shift; distance *= 2)
      amax = R::larger_magnitude(amax, Arch::shuffle(amax, lane ^ distance));
    const float scale = R::template scale_of<R>(a, amax);

    uint32_t words[2] = {0, 0};
    for (int i = 0; i < kWriterDims; ++i)
      words[i / 4] |= R::template encode<R>(R::scaled(key.dim[i], scale), format) << 8 * (i % 4);
    if (!mine) continue;
    const int32_t in_block = R::token_in_block(slot, a.block_size);
    uint8_t* const block = a.kv_cache + R::block_offset(a, slot / a.block_size);
    store_codes(block + R::value_offset(a, in_block, dim), words, wide);
    if (dim == 0) *reinterpret_cast<float*>(block + R::scale_offset(a, in_block)) = scale;
  }
}

template <class R> hipError_t launch_cache_write_with(const mqa_cache_write_args& a, hipStream_t stream) {
  if (a.tokens == 0) return hipSuccess;
  const int64_t element = a.key_type == MQA_KEY_FP32 ? 4 : 2;
  const bool wide = reinterpret_cast<uintptr_t>(a.keys) % 16 == 0 && a.keys_stride * element % 16 == 0 &&
                    reinterpret_cast<uintptr_t>(a.kv_cache) % 8 == 0 && a.kv_block_stride_bytes % 8 == 0;
  const int shift = token_shift(a.head_dim, kWriterDims);
  cache_write<R><<<dim3(cache_blocks(a.tokens, shift)), dim3(kCacheThreads), 0, stream>>>(a, shift, wide);
  return hipGetLastError();
}

#endif

} // namespace mqa
