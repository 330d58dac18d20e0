// Planted faults of the cache writer and the gather (faults.md, section 4 and the public bugs it lists):
// other bytes, other places, other rows.
#include "fuzz/fault_table.hpp"
#include "kernels/cache_gather.hpp"
#include "kernels/cache_write.hpp"

namespace mqalab {
namespace {

using mqa::CacheGatherRules;
using mqa::CacheWriteRules;
using Write = mqa_cache_write_args;
using Gather = mqa_cache_gather_args;

template <class R> constexpr mqa::CacheWriteFn kWriter = &mqa::launch_cache_write_with<R>;
template <class R> constexpr mqa::CacheGatherFn kGather = &mqa::launch_cache_gather_with<R>;

// ---- the writer's arithmetic ----
struct Writer224 : CacheWriteRules { // vLLM's Triton writer
  static __device__ float divisor(const Write& a) { return a.fp8 == MQA_E4M3FNUZ ? 224.0f : 448.0f; }
};
struct WriterXOverS : CacheWriteRules {
  static __device__ float scaled(float x, float scale) { return divided(x, scale); }
};
struct WriterPow2Floor : CacheWriteRules {
  static __device__ float power_of_two(float scale) {
    return __builtin_bit_cast(float, __builtin_bit_cast(uint32_t, scale) & 0x7f800000u);
  }
};
struct WriterPow2Doubles : CacheWriteRules { // a scale that is a power of two already moves up, too
  static __device__ float power_of_two(float scale) {
    return __builtin_bit_cast(float, (__builtin_bit_cast(uint32_t, scale) & 0x7f800000u) + 0x00800000u);
  }
};
struct WriterAmaxSigned : CacheWriteRules {
  static __device__ float larger_magnitude(float amax, float x) { return x > amax ? x : amax; }
};
struct WriterAmaxKeepsNaN : CacheWriteRules {
  static __device__ float larger_magnitude(float amax, float x) {
    const float magnitude = __builtin_fabsf(x);
    return magnitude <= amax ? amax : magnitude;
  }
  static __device__ float floored(float amax) { return amax <= 1e-4f ? 1e-4f : amax; }
};
struct WriterNoFloor : CacheWriteRules {
  static __device__ float floored(float amax) { return amax > 0 ? amax : 1e-4f; }
};
struct WriterTruncates : CacheWriteRules {
  static __device__ uint32_t rounded(float magnitude, const mqa::Fp8Format& f) {
    const uint32_t code = CacheWriteRules::rounded(magnitude, f), below = code ? code - 1 : 0;
    return decoded(code, f) > magnitude ? below : code;
  }
  // Of a code without sign.
  static __device__ float decoded(uint32_t code, const mqa::Fp8Format& f) {
    const auto least = static_cast<uint32_t>(128 - f.bias) << 23;
    if (code < 8) return static_cast<float>(code) * __builtin_bit_cast(float, least - (3u << 23));
    return __builtin_bit_cast(float, (code << 20) + (static_cast<uint32_t>(127 - f.bias) << 23));
  }
};
struct WriterFlavour : CacheWriteRules {
  static __device__ mqa::Fp8Format format(const Write& a) {
    Write other = a;
    other.fp8 = a.fp8 == MQA_E4M3FN ? MQA_E4M3FNUZ : MQA_E4M3FN;
    return CacheWriteRules::format(other);
  }
};
struct WriterFnuzMinusZero : CacheWriteRules {
  template <class R> static __device__ uint32_t encode(float x, const mqa::Fp8Format& f) {
    return CacheWriteRules::encode<R>(x, f) | (x == 0 ? __builtin_bit_cast(uint32_t, x) >> 24 & 0x80u : 0u);
  }
};

// ---- where the writer writes ----
struct WriterNegSlot : CacheWriteRules {
  static __device__ int64_t slot_of(const Write& a, int64_t token) {
    return a.slots[token] < 0 ? 0 : a.slots[token];
  }
};
struct WriterScaleInterleaved : CacheWriteRules {
  template <class Args> static __device__ int32_t scale_offset(const Args& a, int32_t token) {
    return token * (a.head_dim + 4) + a.head_dim;
  }
};
struct WriterUnshuffled : CacheWriteRules {
  template <class Args> static __device__ int32_t value_offset(const Args& a, int32_t token, int32_t dim) {
    return token * a.head_dim + dim;
  }
};
struct WriterSlot32 : CacheWriteRules { // wraps inside the pool, so that nothing traps
  template <class Args> static __device__ int64_t block_offset(const Args& a, int64_t block) {
    return CacheWriteRules::block_offset(a, block) % (int64_t{1} << 31) / 4 * 4;
  }
};
struct WriterLastDims : CacheWriteRules {
  static __device__ int32_t dims_of(const Write& a) { return a.head_dim - 16; }
};
struct WriterKeyStride : CacheWriteRules {
  static __device__ int64_t key_offset(const Write& a, int64_t token, int32_t dim) {
    return token * a.head_dim + dim;
  }
};

// ---- the gather ----
struct GatherSkips : CacheGatherRules { // vllm#40018: a later chunk is not gathered
  static __device__ bool owns(const Gather& a, int32_t sequence, int64_t row) {
    return sequence != 1 && CacheGatherRules::owns(a, sequence, row);
  }
};
struct GatherInterleaved : CacheGatherRules {
  template <class Args> static __device__ int32_t value_offset(const Args& a, int32_t token, int32_t dim) {
    return token * (a.head_dim + 4) + dim;
  }
};
struct GatherUnshuffled : CacheGatherRules {
  template <class Args> static __device__ int32_t value_offset(const Args& a, int32_t token, int32_t dim) {
    return token * a.head_dim + dim;
  }
};
struct GatherTableByToken : CacheGatherRules {
  static __device__ int64_t table_offset(const Gather& a, int32_t sequence, int64_t token) {
    const int64_t width = a.block_table_stride > 0 ? a.block_table_stride : 1;
    return sequence * a.block_table_stride + token % width;
  }
};
struct GatherScaleFirstBlock : CacheGatherRules {
  static __device__ int64_t scale_block_offset(const Gather&, int64_t) { return 0; }
};
struct GatherRowZero : CacheGatherRules {
  static __device__ int64_t table_offset(const Gather& a, int32_t, int64_t token) {
    return CacheGatherRules::table_offset(a, 0, token);
  }
};
struct GatherBadIdZeroScale : CacheGatherRules {
  static __device__ uint32_t missing_scale() { return 0; }
};
struct GatherBlock32 : CacheGatherRules {
  template <class Args> static __device__ int64_t block_offset(const Args& a, int64_t block) {
    return CacheGatherRules::block_offset(a, block) % (int64_t{1} << 31) / 4 * 4;
  }
};
struct GatherFirstOfEqual : CacheGatherRules { // an empty sequence in front takes the row and drops it
  static __device__ int32_t sequence_of(const Gather& a, int64_t row) {
    int32_t found = CacheGatherRules::sequence_of(a, row);
    while (found > 0 && a.cu_seq_lens[found - 1] == a.cu_seq_lens[found]) --found;
    return found;
  }
};

constexpr Fault kFaults[] = {
    {"writer_224", "the divisor of FNUZ is 224", "value", kKill, kWriter<Writer224>,
     R"({"op": "cache_write", "fp8": "e4m3fnuz"})"},
    {"writer_x_over_s", "x / scale and not x * (1 / scale)", "value", kKill, kWriter<WriterXOverS>,
     R"({"op": "cache_write", "head_dim": 16, "data": {"seed": 20, "set": [["k", 0, 16720], ["k", 1, 16668]]}})"},
    {"writer_pow2_floor", "a power-of-two scale is rounded down", "value", kKill, kWriter<WriterPow2Floor>,
     R"({"op": "cache_write", "writer": {"scale_format": "power_of_two"}})"},
    {"writer_pow2_doubles", "a scale that is a power of two already is doubled", "value", kKill,
     kWriter<WriterPow2Doubles>,
     R"({"op": "cache_write", "context_lens": [24], "max_model_len": 24, "writer": {"scale_format": "power_of_two"}, "data": {"lane": "special"}})"},
    {"writer_amax_signed", "the largest value and not the largest magnitude", "value", kKill,
     kWriter<WriterAmaxSigned>, R"({"op": "cache_write", "context_lens": [8], "max_model_len": 8})"},
    {"writer_amax_keeps_nan", "a NaN becomes the largest magnitude", "value", kKill,
     kWriter<WriterAmaxKeepsNaN>,
     R"({"op": "cache_write", "context_lens": [24], "max_model_len": 24, "data": {"lane": "special"}})"},
    {"writer_no_floor", "no least magnitude of 1e-4", "value", kKill, kWriter<WriterNoFloor>,
     R"({"op": "cache_write", "context_lens": [24], "max_model_len": 24, "data": {"lane": "special"}})"},
    {"writer_truncates", "rounds towards zero", "value", kKill, kWriter<WriterTruncates>,
     R"({"op": "cache_write"})"},
    {"writer_flavour", "bytes of the other FP8 flavour", "value", kKill, kWriter<WriterFlavour>,
     R"({"op": "cache_write"})"},
    {"writer_fnuz_minus_zero", "a negative zero becomes FNUZ's NaN", "value", kKill,
     kWriter<WriterFnuzMinusZero>,
     R"({"op": "cache_write", "fp8": "e4m3fnuz", "context_lens": [24], "max_model_len": 24, "data": {"lane": "special"}})"},
    {"writer_neg_slot", "slot -1 is written to slot 0", "touched", kKill, kWriter<WriterNegSlot>,
     R"({"op": "cache_write", "writer": {"skip_every": 1}})"},
    {"writer_scale_interleaved", "the scale of a token behind its values", "untouched", kKill,
     kWriter<WriterScaleInterleaved>, R"({"op": "cache_write", "block_size": 16})"},
    {"writer_unshuffled", "planar values with the shuffled layout", "untouched", kKill,
     kWriter<WriterUnshuffled>, R"({"op": "cache_write", "block_size": 16, "layout": "shuffled"})"},
    {"writer_slot_32", "the byte offset of a block modulo 2^31", "untouched", kKill, kWriter<WriterSlot32>,
     R"({"op": "cache_write", "block_table": {"mode": "high"}})"},
    {"writer_last_dims", "the last 16 dims are not written", "untouched", kKill, kWriter<WriterLastDims>,
     R"({"op": "cache_write"})"},
    {"writer_key_stride", "keys are taken as dense", "value", kKill, kWriter<WriterKeyStride>,
     R"({"op": "cache_write", "context_lens": [2], "max_model_len": 2, "strides": {"keys": 136}})"},
    {"gather_skips", "the second sequence is not gathered", "untouched", kKill, kGather<GatherSkips>,
     R"({"op": "cache_gather", "batch": 2, "context_lens": [1, 1]})"},
    {"gather_interleaved", "values and scale of a token taken as neighbours", "value", kKill,
     kGather<GatherInterleaved>,
     R"({"op": "cache_gather", "block_size": 16, "context_lens": [2], "max_model_len": 2})"},
    {"gather_unshuffled", "planar values with the shuffled layout", "value", kKill, kGather<GatherUnshuffled>,
     R"({"op": "cache_gather", "block_size": 16, "layout": "shuffled", "context_lens": [2], "max_model_len": 2})"},
    {"gather_table_by_token", "the table is indexed by the token, not by its block", "value", kKill,
     kGather<GatherTableByToken>,
     R"({"op": "cache_gather", "block_size": 16, "context_lens": [17], "max_model_len": 17})"},
    {"gather_scale_first_block", "scales come from block 0", "value", kKill, kGather<GatherScaleFirstBlock>,
     R"({"op": "cache_gather", "context_lens": [4], "max_model_len": 4})"},
    {"gather_row_zero", "every sequence reads the first row of the table", "value", kKill,
     kGather<GatherRowZero>, R"({"op": "cache_gather", "batch": 2, "context_lens": [1, 1]})"},
    {"gather_bad_id_zero_scale", "a block that does not exist has scale 0", "value", kKill,
     kGather<GatherBadIdZeroScale>, R"({"op": "cache_gather", "block_table": {"set": [[0, 0, -1]]}})"},
    {"gather_block_32", "the byte offset of a block modulo 2^31", "value", kKill, kGather<GatherBlock32>,
     R"({"op": "cache_gather", "block_table": {"mode": "high"}})"},
    {"gather_first_of_equal", "an empty sequence in front swallows the next one's first rows", "untouched",
     kKill, kGather<GatherFirstOfEqual>, R"({"op": "cache_gather", "batch": 2, "context_lens": [0, 1]})"},
};

} // namespace

std::span<const Fault> cache_faults() { return kFaults; }

} // namespace mqalab
