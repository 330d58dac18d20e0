// Planted faults of top-k: strides and forms, ties, the order of numbers, the digits of the radix select.
#include "fuzz/fault_list.hpp"
#include "kernels/top_k.hpp"

namespace mqalab {
namespace {

using mqa::Arch;
using mqa::most;
using mqa::Threshold;
using mqa::TopKRules;
using Args = mqa_top_k_args;

// ---- where things are ----
struct StrideFromColumns : TopKRules {
  static __device__ int64_t logit_offset(const Args& a, int64_t row) { return row * a.columns; }
};
struct RowOffset32 : TopKRules {
  static __device__ int64_t logit_offset(const Args& a, int64_t row) {
    return static_cast<int64_t>(static_cast<uint32_t>(4 * row * a.logits_stride)) / 4;
  }
};
struct IndicesDense : TopKRules {
  static __device__ int64_t index_offset(const Args& a, int64_t row) { return row * a.k; }
};
struct LocalColumns : TopKRules {
  static __device__ int32_t reported(int32_t column, int32_t first) { return column - first; }
};
struct PaddingZero : TopKRules {
  static __device__ int32_t padding() { return 0; }
};

// ---- which columns ----
struct LimitIgnoresNextN : TopKRules {
  static __device__ int32_t limit(const Args& a, int64_t row) {
    Args last = a;
    last.next_n = a.lens_per_row ? a.next_n : 1;
    return TopKRules::limit(last, a.lens_per_row ? row : row / a.next_n);
  }
};
struct NegativeStart : TopKRules { // candidates counted from a start before column 0
  static __device__ int32_t first(const Args& a, int64_t row) { return a.starts ? a.starts[row] : 0; }
  static __device__ bool is_candidate(int32_t column, int32_t first, int32_t limit) {
    return TopKRules::is_candidate(column, most(first, 0), limit);
  }
};
struct ReadsPastLimit : TopKRules {
  static __device__ bool is_candidate(int32_t column, int32_t first, int32_t limit) {
    return column >= first && column <= limit;
  }
};
struct IdentityOff : TopKRules {
  static __device__ bool takes_all(int32_t candidates, int32_t k) { return candidates <= k + 1; }
};

// ---- how numbers compare ----
struct NanFirst : TopKRules {
  static __device__ uint32_t key_of(uint32_t bits) {
    return (bits & 0x7fffffffu) > 0x7f800000u ? ~0u : TopKRules::key_of(bits);
  }
};
struct NegativeZeroBelow : TopKRules {
  static __device__ uint32_t key_of(uint32_t bits) {
    return bits == 0x80000000u ? 0x7fffffffu : TopKRules::key_of(bits);
  }
};
struct SignIgnored
    : TopKRules { // the raw bits as they are: negative numbers above positive ones, upside down
  static __device__ uint32_t key_of(uint32_t bits) { return most(bits, 1u << 21); }
};
struct LastDigitIgnored : TopKRules {
  static __device__ int digits() { return 2; }
};
struct HistogramNotCleared : TopKRules {
  static __device__ uint32_t emptied(uint32_t count) { return count; }
};

// ---- who is taken ----
struct TieHighest : TopKRules {
  static __device__ int32_t ties_taken(int32_t before, const Threshold& t) {
    return most(0, before - (t.ties - t.quota));
  }
};
struct TieDuplicate : TopKRules { // the last but one is written twice, the last never
  static __device__ void store_tie(int32_t* indices, int32_t position, int32_t column, int32_t nth,
                                   const Threshold& t) {
    if (nth + 1 < t.quota || t.quota == 1) indices[position] = column;
    if (nth + 2 == t.quota) indices[position + 1] = column;
  }
};
struct TieUnbounded : TopKRules { // every column that ties is written, past the row
  static __device__ int32_t ties_taken(int32_t before, const Threshold&) { return before; }
};

struct BarrierMissing : Arch {
  static __device__ void barrier() {}
};

template <class R, class A = Arch> inline constexpr mqa::TopKFn kLaunch = &mqa::launch_top_k_with<R, A>;
inline constexpr FaultKind kKill = FaultKind::must_kill;

constexpr Fault kFaults[] = {
    {"topk_stride", "the row stride of the logits taken from the number of columns", "value", kKill,
     kLaunch<StrideFromColumns>,
     R"({"op": "top_k", "batch": 3, "context_lens": [4, 4, 4], "max_model_len": 4, "strides": {"logits": 9},
         "data": {"pattern": "address"}})"},
    {"topk_row_offset_32", "the byte offset of a row of logits in 32 bits", "value", kKill,
     kLaunch<RowOffset32>,
     R"({"op": "top_k", "batch": 2, "context_lens": [3, 3], "max_model_len": 3, "strides": {"logits": 1073741824},
         "data": {"pattern": "address"}})"},
    {"topk_indices_dense", "the row stride of the indices taken from k", "untouched", kKill,
     kLaunch<IndicesDense>,
     R"({"op": "top_k", "batch": 2, "context_lens": [1, 1], "strides": {"indices": 2}})"},
    {"topk_local_columns", "columns counted from the row's start", "class", kKill, kLaunch<LocalColumns>,
     R"({"op": "top_k", "context_lens": [4], "starts": [2], "max_model_len": 4})"},
    {"topk_padding_zero", "0 instead of -1 where there is no column", "class", kKill, kLaunch<PaddingZero>,
     R"({"op": "top_k", "top_k": {"k": 2}})"},
    {"topk_limit_ignores_next_n", "every row sees the whole context", "class", kKill,
     kLaunch<LimitIgnoresNextN>,
     R"({"op": "top_k", "next_n": 2, "context_lens": [2], "max_model_len": 2, "top_k": {"k": 2}})"},
    {"topk_negative_start", "candidates counted from a negative start", "class", kKill,
     kLaunch<NegativeStart>, R"({"op": "top_k", "context_lens": [1], "starts": [-1], "top_k": {"k": 2}})"},
    {"topk_reads_past_limit", "the column at the limit is a candidate", "read", kKill,
     kLaunch<ReadsPastLimit>, R"({"op": "top_k", "context_lens": [2], "max_model_len": 3})"},
    {"topk_identity_off", "a row of k + 1 candidates gives the first k unseen", "value", kKill,
     kLaunch<IdentityOff>,
     R"({"op": "top_k", "context_lens": [2], "max_model_len": 2, "data": {"pattern": "address"}})"},
    {"topk_nan_first", "NaN above every number", "value", kKill, kLaunch<NanFirst>,
     R"({"op": "top_k", "context_lens": [40], "max_model_len": 40, "data": {"lane": "special"}})"},
    {"topk_neg_zero_below", "-0 below +0", "value", kKill, kLaunch<NegativeZeroBelow>,
     R"({"op": "top_k", "context_lens": [60], "max_model_len": 60, "top_k": {"k": 40, "stable": true},
         "data": {"pattern": "positive"}})"},
    {"topk_sign_ignored", "numbers compared by their raw bits", "value", kKill, kLaunch<SignIgnored>,
     R"({"op": "top_k", "context_lens": [20], "max_model_len": 20, "data": {"lane": "numeric"}})"},
    {"topk_last_digit_ignored", "the lowest ten bits are not compared", "value", kKill,
     kLaunch<LastDigitIgnored>,
     R"({"op": "top_k", "context_lens": [20], "max_model_len": 20, "data": {"pattern": "one_dim"}})"},
    {"topk_histogram_not_cleared", "a digit is counted on top of the one before", "untouched", kKill,
     kLaunch<HistogramNotCleared>,
     R"({"op": "top_k", "context_lens": [20], "max_model_len": 20, "data": {"pattern": "one_dim"}})"},
    {"topk_tie_highest", "of columns that tie the highest are taken", "value", kKill, kLaunch<TieHighest>,
     R"({"op": "top_k", "context_lens": [2], "max_model_len": 2, "top_k": {"stable": true},
         "data": {"pattern": "one_head"}})"},
    {"topk_tie_duplicate", "a tie at the k-th is written twice", "value", kKill, kLaunch<TieDuplicate>,
     R"({"op": "top_k", "context_lens": [3], "max_model_len": 3, "top_k": {"k": 2},
         "data": {"pattern": "one_head"}})"},
    {"topk_tie_unbounded", "every tie at the k-th is written, past the row", "touched", kKill,
     kLaunch<TieUnbounded>,
     R"({"op": "top_k", "context_lens": [2], "max_model_len": 2, "strides": {"indices": 2},
         "data": {"pattern": "one_head"}})"},
    {"topk_missing_barrier", "no barrier between counting, finding and writing", "fault", kKill,
     kLaunch<TopKRules, BarrierMissing>, R"({"op": "top_k", "context_lens": [2], "max_model_len": 2})", true},
};

} // namespace

std::span<const Fault> top_k_faults() { return kFaults; }

} // namespace mqalab
