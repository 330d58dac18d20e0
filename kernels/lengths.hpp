// How far the rows of a sequence see, from the lengths in device memory.
#pragma once
#include "kernels/rules.hpp"

namespace mqa {

// What the rows of a sequence share: read once, so that the loop over its tokens reads no length again.
struct Sequence {
  int64_t index;
  int32_t context;    // its usable length; with lens_per_row every row reads its own
  int64_t table_base; // entry of block_table before its own ones: ragged keys, else 0
};
template <class R> __device__ Sequence sequence_at(const PagedArgs& a, int64_t b) {
  if (a.slot_prefix) return {b, R::slot_count(a, b), R::slot_base(a, b)};
  return {b, a.lens_per_row ? 0 : R::usable_length(a.context_lens[R::length_index(a, b, 0)]), 0};
}

// Columns [0, limit) of row n hold values.
template <class R> __device__ int32_t limit_of(const PagedArgs& a, const Sequence& s, int n) {
  const int32_t length = a.lens_per_row ? a.context_lens[R::length_index(a, s.index, n)] : s.context;
  return R::row_limit(a, length, n);
}
template <class R> __device__ int32_t limit_of(const PagedArgs& a, int64_t b, int n) {
  return limit_of<R>(a, sequence_at<R>(a, b), n);
}

// Tokens that any row of the sequence needs.  With one length per sequence the last row sees the most.
template <class R> __device__ int32_t needed_tokens(const PagedArgs& a, const Sequence& s) {
  if (!a.lens_per_row) return limit_of<R>(a, s, a.next_n - 1);
  int32_t needed = 0;
  for (int n = 0; n < a.next_n; ++n) needed = most(needed, limit_of<R>(a, s, n));
  return needed;
}
template <class R> __device__ int32_t needed_tokens(const PagedArgs& a, int64_t b) {
  return needed_tokens<R>(a, sequence_at<R>(a, b));
}

// Keys that a row of a prefill sees.
template <class R> __device__ Range row_keys(const PagedArgs& a, int64_t row) {
  return R::key_range(a, R::start_of(a, row), R::end_of(a, row));
}

} // namespace mqa
