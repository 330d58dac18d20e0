// The logits that a top-k case's data spec stands for: every one a pure function of (seed, row, column).
//
// What the words of a case mean here.
//   exact    general: nine values, so that ties are wide.  positive: half are zeros of both signs, the rest
//            small positive numbers.  address: ascending in even rows, descending in odd ones.  one_token:
//            all equal but one column in each row.  one_head: all equal.  one_dim: equal but for the lowest
//            ten bits.
//   numeric  gaussian
//   special  gaussian with NaN, infinities, denormals, -0 and FLT_MAX mixed in.  one_head: NaN everywhere.
//            one_token: NaN everywhere but for one -inf.
// raw_bytes overrules the lane: random bits.
#pragma once
#include "refimpl/generate.hpp"
#include "refimpl/problem.hpp"
#include "refimpl/sparse_buffer.hpp"

#include <cstdint>
#include <vector>

namespace mqalab {

// Logits of the candidates of a row: columns first(row), ..., limit(row) - 1.
std::vector<float> top_k_candidates(const Problem&, const DataSpec&, int64_t row);

// Bytes that a launch may read: the last row ends at its last column.
int64_t top_k_logits_bytes(const Problem&);
// All rows with the problem's stride.  Everything that is no candidate is poison: NaNs, or numbers larger
// than all others.  Above `dense_bytes` only candidates and their neighbours are filled.
SparseBuffer top_k_logits(const Problem&, const DataSpec&, Poison, int64_t dense_bytes = 1 << 22);

} // namespace mqalab
