// Boundary values worth drawing (faults.md, section 5), given everything else of a case.  A uniform draw of
// contexts up to 202752 meets a residue of 0, 1 or 255 modulo 256 only once in 85 draws; these lists meet it
// every other time.
#pragma once
#include "fuzz/fields.hpp"
#include "fuzz/random.hpp"

#include <vector>

namespace mqalab {

// The selection size of the models that use this operation: every selection is whole up to it.
inline constexpr int64_t kIndexTopk = 2048;
inline constexpr int64_t kMostSelected = 4096; // the largest k

// Ascending, without duplicates, never negative, at most `most`.
std::vector<int64_t> context_boundaries(const Case&, int64_t most);
// Half of the draws from the boundaries, the rest log-uniform up to `most`.
int64_t draw_context(const Case&, Random&, int64_t most);
// Row strides (in units of unit_bytes) at which some row of the case starts at, just before or just after
// 2^31 or 2^32 bytes.
int64_t draw_crossing_stride(int64_t row, int64_t unit_bytes, Random&);
// Of the exact lane: general, half of it sign-biased, 50 %; address code 30 %; a single token, head or dim
// 20 %.
Pattern draw_pattern(const Case&, Random&);
// A legal or nearly legal value for a field; contexts and strides have their own draws above.
int64_t draw_field(const Case&, const Field&, Random&);

} // namespace mqalab
