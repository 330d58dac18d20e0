// Planted faults of the cache layout, the scales and the FP8 flavour (faults.md, 3.2).
#include "fuzz/fault_table.hpp"

namespace mqalab {
namespace {

using mqa::Arch;
using mqa::PagedArgs;
using mqa::Rules;

struct InterleavedRead : Rules {
  static __device__ int32_t token_offset(const PagedArgs& a, int32_t token) {
    return token * (a.head_dim + 4);
  }
  static __device__ int32_t scale_offset(const PagedArgs& a, int32_t token) {
    return token * (a.head_dim + 4) + a.head_dim;
  }
};
struct ScaleInterleaved : Rules {
  static __device__ int32_t scale_offset(const PagedArgs& a, int32_t token) {
    return token * (a.head_dim + 4) + a.head_dim;
  }
};
struct UnshuffledRead : Rules {
  static __device__ int32_t token_offset(const PagedArgs& a, int32_t token) { return token * a.head_dim; }
  static __device__ int32_t dim_offset(const PagedArgs&, int32_t dim) { return dim; }
};
struct ShuffledRead : Rules {
  static __device__ int32_t token_offset(const PagedArgs& a, int32_t token) {
    return token / 16 * (16 * a.head_dim) + token % 16 * 16;
  }
  static __device__ int32_t dim_offset(const PagedArgs& a, int32_t dim) {
    return a.block_size == 1 ? dim : dim / 16 * 256 + dim % 16;
  }
};
struct Shuffled64 : Rules {
  static __device__ int32_t token_offset(const PagedArgs& a, int32_t token) {
    return a.shuffled ? token / 16 * (16 * 64) + token % 16 * 16 : Rules::token_offset(a, token);
  }
};
struct DimTailRepeated : Rules {
  static __device__ int32_t dim_offset(const PagedArgs& a, int32_t dim) {
    return Rules::dim_offset(a, dim >= a.head_dim - 16 ? dim - 16 : dim);
  }
};
struct ScaleNext : Rules {
  static __device__ int32_t scale_offset(const PagedArgs& a, int32_t token) {
    return Rules::scale_offset(a, (token + 1) % a.block_size);
  }
};
struct ScaleMissing : Rules {
  static __device__ float scaled(float sum, float scale) { return scale == scale ? sum : scale; }
};
struct ScaleTwice : Rules {
  static __device__ float scaled(float sum, float scale) { return sum * scale * scale; }
};
struct FlavourK : Rules {
  static __device__ bool key_is_fnuz(const PagedArgs& a) { return !a.fnuz; }
};
struct FlavourQ : Rules {
  static __device__ bool query_is_fnuz(const PagedArgs& a) { return !a.fnuz; }
};
struct FlavourBoth : Rules {
  static __device__ bool key_is_fnuz(const PagedArgs& a) { return !a.fnuz; }
  static __device__ bool query_is_fnuz(const PagedArgs& a) { return !a.fnuz; }
};

// Turns one code of a flavour into a harmless number before it is decoded.
template <uint8_t From, uint8_t To> __device__ void replace_code(uint32_t& word) {
  for (int i = 0; i < 4; ++i)
    if ((word >> 8 * i & 0xff) == From)
      word = (word & ~(0xffu << 8 * i)) | static_cast<uint32_t>(To) << 8 * i;
}
template <uint8_t From, uint8_t To, bool Fnuz> struct KeyCodeReplaced : Arch {
  template <int D>
  static __device__ void decode_keys(KeyFragment<D> (&keys)[kSlots], uint32_t (&raw)[kSlots][D / 16],
                                     bool fnuz) {
    if (fnuz == Fnuz)
      for (auto& slot : raw)
        for (uint32_t& word : slot) replace_code<From, To>(word);
    Arch::decode_keys<D>(keys, raw, fnuz);
  }
};

constexpr Fault kFaults[] = {
    {"interleaved_read", "values and scales read as [token][D + 4]", "value", kKill, kLaunch<InterleavedRead>,
     R"({"block_size": 16, "context_lens": [16], "max_model_len": 16})"},
    {"scale_interleaved", "only the scale read as if tokens were interleaved", "value", kKill,
     kLaunch<ScaleInterleaved>, R"({"block_size": 16, "context_lens": [16], "max_model_len": 16})"},
    {"unshuffled_read", "a shuffled cache read as planar", "value", kKill, kLaunch<UnshuffledRead>,
     R"({"block_size": 16, "layout": "shuffled", "context_lens": [16], "max_model_len": 16})"},
    {"shuffled_read", "a planar cache read as shuffled", "value", kKill, kLaunch<ShuffledRead>,
     R"({"block_size": 16, "context_lens": [16], "max_model_len": 16})"},
    {"shuffled_64", "64 instead of head_dim in the shuffled address", "value", kKill, kLaunch<Shuffled64>,
     R"({"block_size": 32, "layout": "shuffled", "context_lens": [32], "max_model_len": 32})"},
    {"dim_tail_repeated", "the last 16 dims of a key read from the 16 before", "value", kKill,
     kLaunch<DimTailRepeated>, R"({"context_lens": [4], "max_model_len": 4})"},
    {"scale_next", "the scale of the next token of the block", "value", kKill, kLaunch<ScaleNext>,
     R"({"block_size": 16, "context_lens": [16], "max_model_len": 16})"},
    {"scale_missing", "the scale left out", "value", kKill, kLaunch<ScaleMissing>,
     R"({"context_lens": [4], "max_model_len": 4})"},
    {"scale_twice", "the scale applied twice", "value", kKill, kLaunch<ScaleTwice>,
     R"({"context_lens": [4], "max_model_len": 4})"},
    {"flavour_k", "keys decoded as the other FP8 flavour", "value", kKill, kLaunch<FlavourK>,
     R"({"context_lens": [4], "max_model_len": 4})"},
    {"flavour_q", "queries decoded as the other FP8 flavour", "value", kKill, kLaunch<FlavourQ>,
     R"({"context_lens": [4], "max_model_len": 4})"},
    {"flavour_both", "both operands decoded as the other FP8 flavour", "value", kKill, kLaunch<FlavourBoth>,
     R"({"context_lens": [4], "max_model_len": 4})"},
    {"nan_code_80", "a key's FNUZ NaN code 0x80 decoded as 0.5", "value", kKill,
     kLaunch<Rules, KeyCodeReplaced<0x80, 0x38, true>>,
     R"({"fp8": "e4m3fnuz", "data": {"lane": "special", "set": [["k", 0, 128]]}, "context_lens": [1]})"},
    {"nan_code_7f", "a key's FN NaN code 0x7f decoded as 448", "value", kKill,
     kLaunch<Rules, KeyCodeReplaced<0x7f, 0x7e, false>>,
     R"({"data": {"lane": "special", "seed": 2, "set": [["k", 0, 127]]}, "context_lens": [1]})"},
};

} // namespace

std::span<const Fault> layout_faults() { return kFaults; }

} // namespace mqalab
