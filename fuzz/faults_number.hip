// Planted faults of the arithmetic: ReLU, weights, heads, precision, NaN.  And the controls: other roundings
// and orders that are *not* faults and that an honest oracle spares.
#include "fuzz/fault_table.hpp"

#include <hip/hip_fp16.h>

namespace mqalab {
namespace {

using mqa::Arch;
using mqa::PagedArgs;
using mqa::Rules;

__device__ float as_bf16(float x) { // nearest even
  const auto bits = __builtin_bit_cast(uint32_t, x);
  return __builtin_bit_cast(float, (bits + 0x7fffu + (bits >> 16 & 1u)) & 0xffff0000u);
}
__device__ float as_half(float x) { return __half2float(__float2half(x)); }
// A product that no compiler fuses with the sum around it.
__device__ float rounded_product(float x, float y) {
#if defined(__CUDACC__)
  return __fmul_rn(x, y);
#else
#pragma clang fp contract(off)
  return x * y;
#endif
}
template <class Pair, class F> __device__ Pair each(Pair p, F f) { return Pair{f(p.x), f(p.y)}; }

struct ReluMissing : Rules {
  template <class A>
  static __device__ typename A::Pair add_heads(typename A::Pair sum, typename A::Pair dot,
                                               typename A::Pair weight) {
    return A::fma(dot, weight, sum);
  }
};
struct ReluAfterWeight : Rules {
  template <class A>
  static __device__ typename A::Pair add_heads(typename A::Pair sum, typename A::Pair dot,
                                               typename A::Pair weight) {
    const typename A::Pair product = A::relu(typename A::Pair{dot.x * weight.x, dot.y * weight.y});
    return typename A::Pair{sum.x + product.x, sum.y + product.y};
  }
};
struct AbsForRelu : Rules {
  template <class A>
  static __device__ typename A::Pair add_heads(typename A::Pair sum, typename A::Pair dot,
                                               typename A::Pair weight) {
    return A::fma(each(dot, [](float x) { return x < 0 ? -x : x; }), weight, sum);
  }
};
struct NanPropagates : Rules {
  template <class A>
  static __device__ typename A::Pair add_heads(typename A::Pair sum, typename A::Pair dot,
                                               typename A::Pair weight) {
    return A::fma(each(dot, [](float x) { return x < 0 ? 0.0f : x; }), weight, sum);
  }
};
struct AccBf16 : Rules {
  template <class A>
  static __device__ typename A::Pair add_heads(typename A::Pair sum, typename A::Pair dot,
                                               typename A::Pair weight) {
    return each(Rules::add_heads<A>(sum, dot, weight), as_bf16);
  }
};
struct DotHalfPrecision : Rules {
  template <class A>
  static __device__ typename A::Pair add_heads(typename A::Pair sum, typename A::Pair dot,
                                               typename A::Pair weight) {
    return Rules::add_heads<A>(sum, each(dot, as_half), weight);
  }
};
struct HeadSwap : Rules {
  static __device__ int64_t weight_offset(const PagedArgs& a, int64_t row, int head) {
    return Rules::weight_offset(a, row, head ^ 1);
  }
};
struct HeadTailDropped : Rules {
  static __device__ int head_tiles(int heads) { return heads / mqa::kHeadTile; }
  static __device__ int staged_heads(const PagedArgs& a) { return head_tiles(a.heads) * mqa::kHeadTile; }
};
struct HeadShared : Rules {
  static __device__ int64_t query_offset(const PagedArgs& a, int64_t b, int n, int head) {
    return Rules::query_offset(a, b, n, head == a.heads - 1 ? head - 1 : head);
  }
};
struct QuarterDropped : Arch { // one step of the cross-lane head sum is lost
  static __device__ float exchange(float x, int lane, int quarter_mask) {
    return quarter_mask == 1 ? 0.0f : Arch::exchange(x, lane, quarter_mask);
  }
};
// As a head tile of 64 that does not fit fewer heads: the host divides by the number of tiles, 0.
hipError_t head_tile_zero(const PagedArgs& args, const mqa::LaunchConfig& config, hipStream_t stream) {
  if (args.heads < 64) return hipErrorInvalidConfiguration;
  return mqa::launch_with<Rules, mqa::FaultInstances>(args, config, stream);
}

// ---- controls ----
// Every weight alike: one weight off in one row is no control, because a relation that moves rows may see it.
struct WeightUlp : Rules {
  static __device__ float load_weight(const float* weights, int64_t offset) {
    const float w = Rules::load_weight(weights, offset);
    return w != 0 ? __builtin_bit_cast(float, __builtin_bit_cast(uint32_t, w) + 1) : w;
  }
};
struct HeadSumReordered : Rules {
  static __device__ int64_t weight_offset(const PagedArgs& a, int64_t row, int head) {
    return Rules::weight_offset(a, row, a.heads - 1 - head);
  }
  static __device__ int64_t query_offset(const PagedArgs& a, int64_t b, int n, int head) {
    return Rules::query_offset(a, b, n, a.heads - 1 - head);
  }
};
struct ProductRounded : Rules { // multiply, round, add instead of fma
  template <class A>
  static __device__ typename A::Pair add_heads(typename A::Pair sum, typename A::Pair dot,
                                               typename A::Pair weight) {
    const typename A::Pair relu = A::relu(dot);
    return typename A::Pair{sum.x + rounded_product(relu.x, weight.x),
                            sum.y + rounded_product(relu.y, weight.y)};
  }
};

constexpr Fault kFaults[] = {
    {"relu_missing", "no ReLU", "value", kKill, kLaunch<ReluMissing>,
     R"({"context_lens": [8], "max_model_len": 8})"},
    {"relu_after_w", "ReLU after the weight", "value", kKill, kLaunch<ReluAfterWeight>,
     R"({"context_lens": [8], "max_model_len": 8})"},
    {"abs_for_relu", "absolute value instead of ReLU", "value", kKill, kLaunch<AbsForRelu>,
     R"({"context_lens": [8], "max_model_len": 8})"},
    {"nan_propagates", "a NaN dot stays NaN where the contract says 0", "class", kKill,
     kLaunch<NanPropagates>, R"({"data": {"lane": "special", "set": [["k", 0, 127]]}})"},
    {"acc_bf16", "head sum in bf16", "value", kKill, kLaunch<AccBf16>,
     R"({"heads": 64, "context_lens": [64], "max_model_len": 64})"},
    {"dot_half_precision", "dot rounded to fp16", "value", kKill, kLaunch<DotHalfPrecision>,
     R"({"context_lens": [256], "max_model_len": 256, "data": {"lane": "numeric"}})"},
    {"head_swap", "the weight of head h ^ 1", "value", kKill, kLaunch<HeadSwap>,
     R"({"context_lens": [4], "max_model_len": 4})"},
    {"head_tail_dropped", "the last heads % 16 are ignored", "value", kKill, kLaunch<HeadTailDropped>,
     R"({"heads": 40, "context_lens": [4], "max_model_len": 4})"},
    {"head_shared", "the last head takes the q of the one before", "value", kKill, kLaunch<HeadShared>,
     R"({"context_lens": [8], "max_model_len": 8})"},
    {"quarter_dropped", "one step of the cross-lane head sum is lost", "value", kKill,
     kLaunch<Rules, QuarterDropped>, R"({"heads": 16, "context_lens": [8], "max_model_len": 8})"},
    {"head_tile_zero", "fewer heads than the head tile of 64: division by zero on the host", "fault", kKill,
     &head_tile_zero, R"({"heads": 32})"},
    {"weight_ulp", "control: every weight off by one ulp, inside the bound", "ok", kSurvive,
     kLaunch<WeightUlp>, R"({"context_lens": [8], "max_model_len": 8, "data": {"lane": "numeric"}})"},
    {"head_sum_reordered", "control: heads summed in another order", "ok", kSurvive,
     kLaunch<HeadSumReordered>,
     R"({"heads": 64, "context_lens": [64], "max_model_len": 64, "data": {"lane": "numeric"}})"},
    {"product_rounded", "control: products rounded before they are added", "ok", kSurvive,
     kLaunch<ProductRounded>,
     R"({"heads": 64, "context_lens": [64], "max_model_len": 64, "data": {"lane": "numeric"}})"},
};

} // namespace

std::span<const Fault> number_faults() { return kFaults; }

} // namespace mqalab
