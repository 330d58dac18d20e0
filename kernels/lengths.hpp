// How far the rows of a sequence see, from the lengths in device memory.
#pragma once
#include "kernels/rules.hpp"

namespace mqa {

template <class R> __device__ int32_t limit_of(const PagedArgs& a, int64_t sequence, int n) {
  return R::row_limit(a, a.context_lens[R::length_index(a, sequence, n)], n);
}
// Tokens that any row of the sequence needs.  With one length per sequence the last row sees the most.
template <class R> __device__ int32_t needed_tokens(const PagedArgs& a, int64_t sequence) {
  if (!a.lens_per_row) return limit_of<R>(a, sequence, a.next_n - 1);
  int32_t needed = 0;
  for (int n = 0; n < a.next_n; ++n) needed = most(needed, limit_of<R>(a, sequence, n));
  return needed;
}

} // namespace mqa
