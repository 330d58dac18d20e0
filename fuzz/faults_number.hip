// Planted faults of the arithmetic: ReLU, weights, heads, precision.
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

constexpr Fault kFaults[] = {
    {"relu_missing", "no ReLU", "value", kKill, kLaunch<ReluMissing>,
     R"({"context_lens": [8], "max_model_len": 8})"},
    {"relu_after_w", "ReLU after the weight", "value", kKill, kLaunch<ReluAfterWeight>,
     R"({"context_lens": [8], "max_model_len": 8})"},
    {"abs_for_relu", "absolute value instead of ReLU", "value", kKill, kLaunch<AbsForRelu>,
     R"({"context_lens": [8], "max_model_len": 8})"},
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
};

} // namespace

std::span<const Fault> number_faults() { return kFaults; }

} // namespace mqalab
