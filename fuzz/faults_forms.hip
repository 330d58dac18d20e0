// Planted faults of ragged keys, per-head logits, the head sum and prefill logits: what each form has beside
// the paged one.
#include "fuzz/fault_table.hpp"
#include "kernels/head_sum.hpp"

namespace mqalab {
namespace {

using mqa::HeadSumArgs;
using mqa::PagedArgs;
using mqa::Range;
using mqa::Rules;
using mqa::SumRules;

// ---- ragged keys ----
struct RaggedBaseEarly : Rules {
  static __device__ int64_t slot_base(const PagedArgs& a, int64_t b) {
    return Rules::slot_base(a, b) - (b > 0);
  }
};
struct RaggedBaseZero : Rules {
  static __device__ int64_t slot_base(const PagedArgs& a, int64_t) { return Rules::slot_base(a, 0); }
};
struct RaggedLengthIsEnd : Rules {
  static __device__ int32_t slot_count(const PagedArgs& a, int64_t b) { return a.slot_prefix[b + 1]; }
};
struct RaggedMask : Rules { // pos <= length - n
  static __device__ int32_t row_limit(const PagedArgs& a, int32_t length, int n) {
    const int32_t limit = mqa::least(length, length - n + 1);
    return mqa::least(mqa::most(0, limit), a.max_model_len);
  }
};

// ---- per-head logits ----
struct PlaneOffset32 : Rules {
  static __device__ int64_t plane_offset(const PagedArgs& a, int head) {
    return static_cast<uint32_t>(Rules::plane_offset(a, head) * 4) / 4;
  }
};
struct PlanesDense : Rules { // the stride between planes taken from the shape
  static __device__ int64_t plane_offset(const PagedArgs& a, int head) {
    return int64_t{head} * a.total_rows * a.logits_stride;
  }
};
struct HeadTailDropped : Rules {
  static __device__ int planes_of(const PagedArgs& a) { return a.heads / mqa::kHeadTile * mqa::kHeadTile; }
};
struct HeadWeightMissing : Rules {
  template <class Arch> static __device__ float head_value(float dot, float) { return Arch::relu(dot); }
};
struct HeadReluAfterWeight : Rules {
  template <class Arch> static __device__ float head_value(float dot, float weight) {
    return Arch::relu(dot * weight);
  }
};
struct TailInFirstPlane : Rules {
  static __device__ int tail_planes_of(const PagedArgs&) { return 1; }
};

// ---- prefill ----
struct StartIgnored : Rules {
  static __device__ int32_t start_of(const PagedArgs&, int64_t) { return 0; }
};
struct StartOffByOne : Rules {
  static __device__ int32_t start_of(const PagedArgs& a, int64_t row) {
    const int32_t start = Rules::start_of(a, row);
    return start > 0 ? start - 1 : start;
  }
};
struct StartOfTile : Rules {
  static __device__ int32_t start_of(const PagedArgs& a, int64_t row) {
    return Rules::start_of(a, row - row % a.next_n);
  }
};
struct EndUnclamped : Rules {
  static __device__ Range key_range(const PagedArgs& a, int32_t start, int32_t end) {
    PagedArgs endless = a;
    endless.num_blocks = INT32_MAX;
    return Rules::key_range(endless, start, end);
  }
};
struct LateRowsSkipped : Rules {
  static __device__ bool meets(Range keys, int32_t begin, int32_t end) {
    return keys.begin <= begin && begin < keys.end && begin < end;
  }
};
struct HullOfFirstRow : Rules {
  static __device__ Range joined(Range all, Range keys) { return all.begin < all.end ? all : keys; }
};
struct LocalColumns : Rules {
  static __device__ int32_t column_of(const PagedArgs&, Range keys, int32_t key) { return key - keys.begin; }
};
struct GlobalColumns : Rules {
  static __device__ int32_t column_of(const PagedArgs&, Range, int32_t key) { return key; }
};
struct PartialTileDropped : Rules {
  static __device__ int tile_rows(const PagedArgs& a, int64_t b) {
    const int rows = Rules::tile_rows(a, b);
    return rows < a.next_n ? 0 : rows;
  }
};
// The rows that a partial tile lacks repeat the last row; nothing is read out of bounds, the stores are.
struct PhantomRows : Rules {
  static __device__ int tile_rows(const PagedArgs& a, int64_t b) {
    return mqa::least(Rules::tile_rows(a, b) + 1, a.next_n);
  }
  static __device__ int64_t present(const PagedArgs& a, int64_t row) {
    return mqa::least<int64_t>(row, a.total_rows - 1);
  }
  static __device__ int32_t start_of(const PagedArgs& a, int64_t row) {
    return Rules::start_of(a, present(a, row));
  }
  static __device__ int32_t end_of(const PagedArgs& a, int64_t row) {
    return Rules::end_of(a, present(a, row));
  }
  static __device__ int64_t query_offset(const PagedArgs& a, int64_t b, int n, int head) {
    return Rules::query_offset(a, 0, 0, head) + present(a, b * a.next_n + n) * a.q_stride_next;
  }
  static __device__ int64_t weight_offset(const PagedArgs& a, int64_t row, int head) {
    return Rules::weight_offset(a, present(a, row), head);
  }
};
struct TailBeforeMissing : Rules {
  static __device__ int32_t columns_before(Range) { return 0; }
};

// ---- head sum ----
struct LastHeadSkipped : SumRules {
  static __device__ int heads_of(const HeadSumArgs& a) { return a.heads - 1; }
};
struct SumInBf16 : SumRules {
  static __device__ float add(float sum, float part) {
    return __builtin_bit_cast(float, __builtin_bit_cast(uint32_t, sum + part) & 0xffff0000u);
  }
};
struct PartsDense : SumRules {
  static __device__ int64_t part_offset(const HeadSumArgs& a, int head, int64_t row, int32_t column) {
    return head * a.stride_head + row * a.columns + column;
  }
};
struct SumOffset32 : SumRules {
  static __device__ int64_t part_offset(const HeadSumArgs& a, int head, int64_t row, int32_t column) {
    return static_cast<uint32_t>(SumRules::part_offset(a, head, row, column) * 4) / 4;
  }
};

template <class R>
constexpr mqa::LaunchFn kPerHead = &mqa::launch_with<R, mqa::OneInstance<mqa::PerHeadForm>>;
template <class R>
constexpr mqa::LaunchFn kPrefill = &mqa::launch_with<R, mqa::OneInstance<mqa::PrefillForm>>;
template <class R> constexpr mqa::HeadSumFn kSum = &mqa::launch_head_sum_with<R>;

constexpr Fault kFaults[] = {
    {"ragged_base_early", "all sequences but the first begin one slot early", "value", kKill,
     kLaunch<RaggedBaseEarly>,
     R"({"op": "ragged_mqa_logits", "batch": 2, "context_lens": [1, 1], "data": {"pattern": "address"}})"},
    {"ragged_base_zero", "every sequence begins with the first one's slots", "value", kKill,
     kLaunch<RaggedBaseZero>,
     R"({"op": "ragged_mqa_logits", "batch": 2, "context_lens": [1, 1], "data": {"pattern": "address"}})"},
    {"ragged_length_is_end", "a sequence's length is where its slots end", "touched", kKill,
     kLaunch<RaggedLengthIsEnd>,
     R"({"op": "ragged_mqa_logits", "batch": 3, "context_lens": [1, 1, 6], "max_model_len": 6})"},
    {"ragged_mask", "row n sees positions up to length - n: the order of rows is reversed", "touched", kKill,
     kLaunch<RaggedMask>,
     R"({"op": "ragged_mqa_logits", "next_n": 2, "context_lens": [3], "max_model_len": 4})"},
    {"per_head_plane_32", "byte offset of a head's plane modulo 2^32", "untouched", kKill,
     kPerHead<PlaneOffset32>,
     R"({"op": "per_head_mqa_logits", "heads": 2, "strides": {"logits_head": 1073741824}})"},
    {"per_head_planes_dense", "the stride between planes is taken from the shape", "untouched", kKill,
     kPerHead<PlanesDense>, R"({"op": "per_head_mqa_logits", "heads": 2, "strides": {"logits_head": 2}})"},
    {"per_head_tail_dropped", "heads behind the last full tile are not stored", "untouched", kKill,
     kPerHead<HeadTailDropped>, R"({"op": "per_head_mqa_logits", "heads": 1})"},
    {"per_head_weight_missing", "the weight is left out", "value", kKill, kPerHead<HeadWeightMissing>,
     R"({"op": "per_head_mqa_logits"})"},
    {"per_head_relu_after_weight", "relu after the product with the weight", "value", kKill,
     kPerHead<HeadReluAfterWeight>, R"({"op": "per_head_mqa_logits"})"},
    {"per_head_tail_first_plane", "-inf in the plane of head 0 only", "untouched", kKill,
     kPerHead<TailInFirstPlane>,
     R"({"op": "per_head_mqa_logits", "heads": 2, "tail": "neg_inf", "max_model_len": 2})"},
    {"prefill_start_ignored", "every row sees keys from 0 on", "touched", kKill, kPrefill<StartIgnored>,
     R"({"op": "prefill_mqa_logits", "starts": [1], "context_lens": [2], "max_model_len": 2})"},
    {"prefill_start_off_by_one", "a row sees the key before its start, too", "touched", kKill,
     kPrefill<StartOffByOne>,
     R"({"op": "prefill_mqa_logits", "starts": [1], "context_lens": [2], "max_model_len": 2})"},
    {"prefill_start_of_tile", "all rows of a tile have the first one's start", "touched", kKill,
     kPrefill<StartOfTile>,
     R"({"op": "prefill_mqa_logits", "next_n": 2, "starts": [0, 1], "context_lens": [2, 2], "max_model_len": 2})"},
    {"prefill_end_unclamped", "an end past the last key is not cut", "touched", kKill, kPrefill<EndUnclamped>,
     R"({"op": "prefill_mqa_logits", "context_lens": [2], "max_model_len": 2, "num_blocks": 1})"},
    {"prefill_late_rows_skipped", "a row is skipped where its keys begin inside a unit", "untouched", kKill,
     kPrefill<LateRowsSkipped>,
     R"({"op": "prefill_mqa_logits", "starts": [1], "context_lens": [2], "max_model_len": 2})"},
    {"prefill_hull_of_first_row", "a tile works on the keys that its first row sees", "untouched", kKill,
     kPrefill<HullOfFirstRow>,
     R"({"op": "prefill_mqa_logits", "next_n": 2, "context_lens": [1, 65], "max_model_len": 65})"},
    {"prefill_local_columns", "columns counted from the row's start where they are to be keys", "untouched",
     kKill, kPrefill<LocalColumns>,
     R"({"op": "prefill_mqa_logits", "starts": [1], "context_lens": [2], "max_model_len": 2})"},
    {"prefill_global_columns", "columns are keys where they are to be counted from the row's start",
     "untouched", kKill, kPrefill<GlobalColumns>,
     R"({"op": "prefill_mqa_logits", "starts": [1], "context_lens": [2], "max_model_len": 2, "compressed": true})"},
    {"prefill_partial_tile_dropped", "the last tile is lost when it is not full", "untouched", kKill,
     kPrefill<PartialTileDropped>, R"({"op": "prefill_mqa_logits"})"},
    {"prefill_phantom_rows", "a partial tile stores a row more than there is", "guard", kKill,
     kPrefill<PhantomRows>, R"({"op": "prefill_mqa_logits"})"},
    {"prefill_tail_before_missing", "-inf after a row's values only", "untouched", kKill,
     kPrefill<TailBeforeMissing>,
     R"({"op": "prefill_mqa_logits", "starts": [1], "context_lens": [2], "max_model_len": 2, "tail": "neg_inf"})"},
    {"sum_last_head_skipped", "the head sum leaves out the last head", "value", kKill, kSum<LastHeadSkipped>,
     R"({"op": "per_head_sum", "tail": "neg_inf"})"},
    {"sum_bf16", "the head sum is kept in bf16", "value", kKill, kSum<SumInBf16>,
     R"({"op": "per_head_sum", "tail": "neg_inf"})"},
    {"sum_rows_dense", "the head sum takes the row stride from the number of columns", "class", kKill,
     kSum<PartsDense>,
     R"({"op": "per_head_sum", "tail": "neg_inf", "batch": 2, "context_lens": [1, 1], "strides": {"logits": 2}})"},
    {"sum_offset_32", "the head sum reads at a byte offset modulo 2^32", "value", kKill, kSum<SumOffset32>,
     R"({"op": "per_head_sum", "heads": 2, "tail": "neg_inf", "strides": {"logits_head": 1073741824}})"},
};

} // namespace

std::span<const Fault> form_faults() { return kFaults; }

} // namespace mqalab
