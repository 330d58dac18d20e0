// Planted faults of masks, tails and splits (faults.md, 3.3): which cells are written, and by whom.
#include "fuzz/fault_table.hpp"

namespace mqalab {
namespace {

using mqa::PagedArgs;
using mqa::Range;
using mqa::Rules;

struct NoColumnBound : Rules {
  static __device__ int32_t tail_end(const PagedArgs& a) { return mqa::ceil_div(a.max_model_len, 64) * 64; }
};
struct ColumnBoundOffByOne : Rules {
  static __device__ int32_t tail_end(const PagedArgs& a) { return a.max_model_len + 1; }
};
struct MaskLt : Rules {
  static __device__ bool visible(int32_t position, int32_t limit) { return position < limit - 1; }
};
struct MaskLe : Rules {
  static __device__ bool visible(int32_t position, int32_t limit) { return position <= limit; }
};
struct MaskNoNextN : Rules {
  static __device__ int32_t row_limit(const PagedArgs& a, int32_t length, int n) {
    return Rules::row_limit(a, length, a.lens_per_row ? n : a.next_n - 1);
  }
};
struct MaskReversed : Rules {
  static __device__ int32_t row_limit(const PagedArgs& a, int32_t length, int n) {
    return Rules::row_limit(a, length, a.next_n - 1 - n);
  }
};
struct NegativeLimitUnsigned : Rules {
  static __device__ int32_t row_limit(const PagedArgs& a, int32_t length, int n) {
    const int32_t limit = a.lens_per_row ? length : length - a.next_n + n + 1;
    const auto unsigned_limit = static_cast<uint32_t>(limit),
               columns = static_cast<uint32_t>(a.max_model_len);
    return static_cast<int32_t>(mqa::least(unsigned_limit, columns));
  }
};
struct SplitDropsRest : Rules {
  static __device__ Range split_range(int32_t chunks, int32_t splits, int32_t s) {
    return {s * (chunks / splits), (s + 1) * (chunks / splits)};
  }
};
struct SplitDropsLast : Rules {
  static __device__ Range split_range(int32_t chunks, int32_t splits, int32_t s) {
    const Range r = Rules::split_range(chunks, splits, s);
    return chunks < splits && s == chunks - 1 ? Range{r.begin, r.begin} : r;
  }
};
struct SplitShortByOne : Rules {
  static __device__ int32_t chunk_count(int32_t context, int32_t chunk_tokens) {
    return context / chunk_tokens;
  }
};
struct SplitTail64 : Rules {
  static __device__ Range token_range(Range chunks, int32_t chunk_tokens, int32_t context) {
    const Range r = Rules::token_range(chunks, chunk_tokens, context);
    return {r.begin, r.end == context && r.end - r.begin > 64 ? r.end / 64 * 64 : r.end};
  }
};
struct ConfigSensitive : Rules {
  static __device__ Range token_range(Range chunks, int32_t chunk_tokens, int32_t context) {
    const Range r = Rules::token_range(chunks, chunk_tokens, context);
    return {r.begin, chunk_tokens == 512 && r.end > r.begin ? r.end - 1 : r.end};
  }
};
struct TailNotWritten : Rules {
  static __device__ bool fills_tail(const PagedArgs&) { return false; }
};
struct TailWritten : Rules {
  static __device__ bool fills_tail(const PagedArgs&) { return true; }
};
struct TailFromContext : Rules { // -inf only inside the context, as kernels that leave the rest to the caller
  static __device__ int32_t tail_end(const PagedArgs&) { return 0; }
};
struct RowNotWritten : Rules {
  static __device__ int rows_of(const PagedArgs& a) {
    return a.next_n > 1 && a.next_n % 4 == 1 ? a.next_n - 1 : a.next_n;
  }
};
struct LimitUnclamped : Rules { // a context longer than max_model_len runs on past the columns
  static __device__ int32_t row_limit(const PagedArgs& a, int32_t length, int n) {
    return a.lens_per_row ? mqa::most(0, length) : causal_limit(length, a.next_n, n);
  }
};

constexpr Fault kFaults[] = {
    {"no_col_bound", "-inf tails run on to a multiple of 64 columns", "touched", kKill,
     kLaunch<NoColumnBound>,
     R"({"tail": "neg_inf", "context_lens": [2], "max_model_len": 3, "strides": {"logits": 80}})"},
    {"col_bound_off_by_one", "-inf tails include column max_model_len", "touched", kKill,
     kLaunch<ColumnBoundOffByOne>,
     R"({"tail": "neg_inf", "context_lens": [2], "max_model_len": 3, "strides": {"logits": 5}})"},
    {"mask_lt", "a row sees one column too few", "untouched", kKill, kLaunch<MaskLt>, R"({})"},
    {"mask_le", "a row sees one column too many", "touched", kKill, kLaunch<MaskLe>,
     R"({"next_n": 2, "context_lens": [3], "max_model_len": 4})"},
    {"mask_no_next_n", "every row sees the whole context", "touched", kKill, kLaunch<MaskNoNextN>,
     R"({"next_n": 2, "context_lens": [3], "max_model_len": 4})"},
    {"mask_reversed", "the first row of a step sees the most", "untouched", kKill, kLaunch<MaskReversed>,
     R"({"next_n": 2, "context_lens": [3], "max_model_len": 4})"},
    {"neg_limit_unsigned", "a negative limit compared as unsigned", "touched", kKill,
     kLaunch<NegativeLimitUnsigned>, R"({"next_n": 3, "context_lens": [1], "max_model_len": 4})"},
    {"split_drops_rest", "the chunks that do not divide evenly among the splits are lost", "untouched", kKill,
     kLaunch<SplitDropsRest>,
     R"({"context_lens": [129], "max_model_len": 129, "config": {"chunk_k": 64, "split_kv": 2}})"},
    {"split_drops_last", "the last busy split is lost when there are more splits than chunks", "untouched",
     kKill, kLaunch<SplitDropsLast>,
     R"({"context_lens": [65], "max_model_len": 65, "config": {"chunk_k": 64, "split_kv": 5}})"},
    {"split_short_by_one", "only full chunks are counted", "untouched", kKill, kLaunch<SplitShortByOne>,
     R"({"context_lens": [65], "max_model_len": 65, "config": {"chunk_k": 64}})"},
    {"split_tail_64", "the last split stops at a multiple of 64 tokens", "untouched", kKill,
     kLaunch<SplitTail64>, R"({"context_lens": [65], "max_model_len": 65, "config": {"split_kv": 1}})"},
    {"config_sensitive", "with chunk 512 each split loses its last token", "untouched", kKill,
     kLaunch<ConfigSensitive>, R"({"config": {"chunk_k": 512}})"},
    {"tail_not_written", "no -inf with tail neg_inf", "untouched", kKill, kLaunch<TailNotWritten>,
     R"({"tail": "neg_inf", "max_model_len": 2})"},
    {"tail_written", "-inf with tail untouched", "touched", kKill, kLaunch<TailWritten>,
     R"({"max_model_len": 2})"},
    {"tail_from_context", "-inf only inside the context", "untouched", kKill, kLaunch<TailFromContext>,
     R"({"tail": "neg_inf", "max_model_len": 2})"},
    {"row_not_written", "the last row is skipped when next_n % 4 == 1", "untouched", kKill,
     kLaunch<RowNotWritten>, R"({"next_n": 5, "context_lens": [6], "max_model_len": 6})"},
    {"limit_unclamped", "a context past max_model_len is not cut", "touched", kKill, kLaunch<LimitUnclamped>,
     R"({"context_lens": [3], "max_model_len": 1, "strides": {"logits": 8, "block_table": 8}})"},
};

} // namespace

std::span<const Fault> mask_faults() { return kFaults; }

} // namespace mqalab
