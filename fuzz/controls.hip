// Controls: kernels that differ from the production kernels and are right all the same, so that an honest
// oracle spares them.  Each claims the lanes in which it is legal, and its policy where that is another one.
// The kernels of another policy come twice: the one without the claim is a fault like any other.
#include "fuzz/fault_table.hpp"

namespace mqalab {
namespace {

using mqa::Arch;
using mqa::PagedArgs;
using mqa::Range;
using mqa::Rules;

// ---- roundings and orders ----

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
// A product that no compiler fuses with the sum around it.
__device__ float rounded_product(float x, float y) {
#if defined(__CUDACC__)
  return __fmul_rn(x, y);
#else
#pragma clang fp contract(off)
  return x * y;
#endif
}
struct ProductRounded : Rules { // multiply, round, add instead of fma
  template <class A>
  static __device__ typename A::Pair add_heads(typename A::Pair sum, typename A::Pair dot,
                                               typename A::Pair weight) {
    const typename A::Pair relu = A::relu(dot);
    return typename A::Pair{sum.x + rounded_product(relu.x, weight.x),
                            sum.y + rounded_product(relu.y, weight.y)};
  }
};
__device__ float flushed(float x) { return x < 0x1p-126f && x > -0x1p-126f ? 0.0f : x; }
struct SubnormalsFlushed : Rules { // results, not inputs: a flushed scale would be another scale
  template <class A>
  static __device__ typename A::Pair add_heads(typename A::Pair sum, typename A::Pair dot,
                                               typename A::Pair weight) {
    return each(Rules::add_heads<A>(sum, dot, weight), flushed);
  }
  static __device__ float scaled(float sum, float scale) { return flushed(Rules::scaled(sum, scale)); }
};
struct SplitsReversed : Rules { // the first split serves the last chunks
  static __device__ Range split_range(int32_t chunks, int32_t splits, int32_t s) {
    return Rules::split_range(chunks, splits, splits - 1 - s);
  }
};

// ---- another matrix shape ----

#if defined(MQA_PLATFORM_NVIDIA)
// The same instruction, over other groups of 16 dims, the last ones first.
struct OtherMatrixShape : Arch {
  template <int D>
  static __device__ Product product(const KeyFragment<D> (&keys)[kSlots], const QueryFragment<D>& q) {
    Product p = {};
    constexpr int kSteps = D / 16; // a step takes pairs `step` and `step + kSteps` of a lane's D/8
    for (int step = kSteps - 1; step >= 0; --step)
      for (int i = 0; i < kSlots; i += 2)
        for (int j = 0; j < kFragmentHeads; ++j) {
          const auto& low = keys[i].pair;
          const auto& high = keys[i + 1].pair;
          const uint32_t a[4] = {low[step], high[step], low[step + kSteps], high[step + kSteps]};
          const uint32_t b[2] = {q.pair[j][step], q.pair[j][step + kSteps]};
          mma(p.value[i] + 2 * j, p.value[i + 1] + 2 * j, a, b);
        }
    return p;
  }
};
#else
// 32x32x16 for 16x16x32: the tokens of two slots against 16 heads and 16 rows of zeros.  A lane of the wide
// shape holds half of a token's dims, 8 a step, where a lane of the narrow one holds a quarter; so its bytes
// come from two lanes in turn, and the results go back to the lanes that the narrow shape leaves them in.
struct OtherMatrixShape : Arch {
  using Wide = float __attribute__((ext_vector_type(16)));

  // `low` or `high` of another lane, whichever this lane asks for.
  static __device__ uint32_t either(uint32_t low, uint32_t high, bool take_high, int from_lane) {
    const auto l = static_cast<uint32_t>(shuffle(static_cast<int32_t>(low), from_lane));
    const auto h = static_cast<uint32_t>(shuffle(static_cast<int32_t>(high), from_lane));
    return take_high ? h : l;
  }
  static __device__ Wide mfma_wide([[maybe_unused]] const uint32_t* a, [[maybe_unused]] const uint32_t* b,
                                   Wide c) {
#if defined(__gfx942__) || defined(__gfx950__)
    return __builtin_amdgcn_mfma_f32_32x32x16_fp8_fp8(packed(a), packed(b), c, 0, 0, 0);
#else
    return c;
#endif
  }
  template <int D>
  static __device__ Product product(const KeyFragment<D> (&keys)[kSlots], const QueryFragment<D>& q) {
    static_assert(D % 32 == 0);
    const int lane = static_cast<int>(threadIdx.x) % kLanes, in_slot = lane % 16;
    const bool second_slot = lane % 32 >= 16;
    Product p;
    for (int i = 0; i < kSlots; i += 2) {
      Wide sums = {};
      for (int step = 0; step < D / 16; ++step) {
        const int from = 16 * (2 * (lane / 32) + step % 2) + in_slot, word = step / 2 * 2;
        uint32_t heads[2], tokens[2];
        for (int j = 0; j < 2; ++j) {
          tokens[j] = either(keys[i].word[word + j], keys[i + 1].word[word + j], second_slot, from);
          heads[j] = either(q.word[word + j], 0, second_slot, from);
        }
        sums = mfma_wide(heads, tokens, sums);
      }
      // Head v%4 + 8*(v/4) + 4*(lane/32) of token lane%32 is in sums[v].
      for (int slot = 0; slot < 2; ++slot)
        for (int j = 0; j < 4; ++j) {
          const int from = 32 * (quarter(lane) % 2) + 16 * slot + in_slot;
          const float low = sums[j],
                      high = sums[4 + j]; // clang-19 casts the bits of a vector's first element only
          p.slot[i + slot][j] =
              __builtin_bit_cast(float, either(__builtin_bit_cast(uint32_t, low),
                                               __builtin_bit_cast(uint32_t, high), quarter(lane) >= 2, from));
        }
    }
    return p;
  }
};
#endif

// ---- another policy ----

struct NanPropagates : Rules {
  template <class A>
  static __device__ typename A::Pair add_heads(typename A::Pair sum, typename A::Pair dot,
                                               typename A::Pair weight) {
    return A::fma(each(dot, [](float x) { return x < 0 ? 0.0f : x; }), weight, sum);
  }
};

// A kernel by another way, which shares the places of bytes with production and no arithmetic: a thread makes
// one logit after the other, in fp32, heads and dims from the last to the first, and scales every dot.
__device__ float dot_of(const PagedArgs& a, const uint8_t* query, const uint8_t* key) {
  float dot = 0;
  for (int dim = a.head_dim - 16; dim >= 0; dim -= 16) {
    uint32_t of_query[4], of_key[4];
    Arch::load_bytes<16>(of_query, query + dim);
    Arch::load_bytes<16>(of_key, key + Rules::dim_offset(a, dim));
    for (int i = 3; i >= 0; --i) {
      Arch::Pair x[2], y[2];
      Arch::decode_values(x, of_query[i], a.fnuz);
      Arch::decode_values(y, of_key[i], a.fnuz);
      for (int j = 1; j >= 0; --j) dot = fmaf(x[j].x, y[j].x, fmaf(x[j].y, y[j].y, dot));
    }
  }
  return dot;
}
__device__ float logit_of(const PagedArgs& a, const mqa::Sequence& s, int n, int32_t position) {
  const int32_t id = mqa::load_block_id<Rules>(a, s, position, true);
  if (!Rules::valid_block(id, a.num_blocks)) return __builtin_nanf("");
  const int32_t in_block = Rules::token_in_block(a, position, Rules::block_column(a, position));
  const uint8_t* key = a.kv_cache + Rules::block_offset(a, id) + Rules::token_offset(a, in_block);
  const float scale =
      Rules::load_scale(a.scale_base, Rules::scale_block_offset(a, id) + Rules::scale_offset(a, in_block));
  float sum = 0;
  for (int head = a.heads - 1; head >= 0; --head) {
    const float dot = dot_of(a, a.q + Rules::query_offset(a, s.index, n, head), key);
    const float weight = a.weights[Rules::weight_offset(a, s.index * a.next_n + n, head)];
    sum = fmaf(Arch::relu(dot * scale), weight, sum);
  }
  return sum;
}
__global__ __launch_bounds__(Arch::kThreads, 1) void scales_before_relu(const PagedArgs a) {
  const mqa::Place at = mqa::place<Arch>(a);
  const mqa::Sequence s = mqa::sequence_at<Rules>(a, at.sequence);
  for (int n = 0; n < a.next_n; ++n) {
    const int32_t limit = mqa::limit_of<Rules>(a, s, n);
    const int32_t end = Rules::fills_tail(a) ? Rules::tail_end(a) : limit;
    for (int32_t column = at.split * Arch::kThreads + at.thread; column < end;
         column += a.splits * Arch::kThreads)
      Rules::store(a.logits, Rules::logit_offset(a, s.index * a.next_n + n, column),
                   column < limit ? logit_of(a, s, n, column) : mqa::kNegInf);
  }
}
// In the place of the general variant, because both compute in fp32.
hipError_t scale_before_relu(const PagedArgs& a, const mqa::LaunchConfig& config, hipStream_t stream) {
  if (config.variant != MQA_VARIANT_GENERAL || config.form != mqa::Form::head_sum)
    return hipErrorInvalidValue;
  if (a.batch == 0) return hipSuccess;
  const dim3 grid(static_cast<uint32_t>(a.batch) * static_cast<uint32_t>(a.splits));
  scales_before_relu<<<grid, dim3(Arch::kThreads), 0, stream>>>(a);
  return hipGetLastError();
}

// ----

constexpr Claim kBounded{.numeric = true};
constexpr Claim kEverywhere{.exact = true, .numeric = true, .special = true};
constexpr Claim kNanStays{.exact = true, .numeric = true, .special = true, .nan_to_zero = false};
constexpr Claim kScaleFirst{.exact = true, .numeric = true, .special = true, .scale_after_sum = false};
constexpr const char* kNanKey = R"({"data": {"lane": "special", "set": [["k", 0, 127]]}})";
constexpr const char* kNanScale =
    R"({"data": {"lane": "special", "set": [["scale", 0, 2143289344]]}, "config": {"variant": "general"}})";
constexpr const char* kManyHeads =
    R"({"heads": 64, "context_lens": [64], "max_model_len": 64, "data": {"lane": "numeric"}})";

constexpr Fault kFaults[] = {
    {"weight_ulp", "control: every weight off by one ulp, inside the bound", "ok", kSurvive,
     kLaunch<WeightUlp>, R"({"context_lens": [8], "max_model_len": 8, "data": {"lane": "numeric"}})", false,
     kBounded},
    {"head_sum_reordered", "control: heads summed in another order", "ok", kSurvive,
     kLaunch<HeadSumReordered>, kManyHeads, false, kEverywhere},
    {"product_rounded", "control: products rounded before they are added", "ok", kSurvive,
     kLaunch<ProductRounded>, kManyHeads, false, kEverywhere},
    {"subnormals_flushed", "control: subnormal sums and logits become 0", "ok", kSurvive,
     kLaunch<SubnormalsFlushed>, kManyHeads, false, kEverywhere},
    {"splits_reversed", "control: splits take their chunks from the last to the first", "ok", kSurvive,
     kLaunch<SplitsReversed>,
     R"({"context_lens": [300], "max_model_len": 320, "tail": "neg_inf",
         "config": {"chunk_k": 64, "split_kv": 3}})",
     false, kEverywhere},
    {"other_matrix_shape", "control: the matrix unit sums other groups of dims, on CDNA in its 32x32x16 form",
     "ok", kSurvive, kLaunch<Rules, OtherMatrixShape>, kManyHeads, false, kEverywhere},
    {"nan_propagates", "a NaN dot stays NaN where the contract says 0", "class", kKill,
     kLaunch<NanPropagates>, kNanKey},
    {"nan_propagates_as_declared", "control: a NaN dot stays NaN, and the kernel says so", "ok", kSurvive,
     kLaunch<NanPropagates>, kNanKey, false, kNanStays},
    {"scale_before_relu", "a kernel of its own scales every dot where the contract says the sum", "class",
     kKill, &scale_before_relu, kNanScale},
    {"scale_before_relu_as_declared", "control: a kernel of its own scales every dot, and says so", "ok",
     kSurvive, &scale_before_relu, kNanScale, false, kScaleFirst},
};

} // namespace

std::span<const Fault> controls() { return kFaults; }

} // namespace mqalab
