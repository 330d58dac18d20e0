// Boundary values worth drawing (faults.md, section 5), given everything else of a case.  A uniform draw of
// contexts up to 202752 meets a residue of 0, 1 or 255 modulo 256 only once in 85 draws; these lists meet it
// every other time.
#pragma once
#include "fuzz/fields.hpp"
#include "fuzz/random.hpp"

#include <functional>
#include <vector>

namespace mqalab {

// The selection size of the models that use this operation: every selection is whole up to it.
inline constexpr int64_t kIndexTopk = 2048;
inline constexpr int64_t kMostSelected = 4096; // the largest k

// Ascending, without duplicates, never negative, at most `most`.
std::vector<int64_t> context_boundaries(const Case&, int64_t most);
// Half of the draws from the boundaries, the rest log-uniform up to `most`.
int64_t draw_context(const Case&, Random&, int64_t most);

// Items (rows, planes, blocks, tokens) one stride apart: item i begins i * stride units into its buffer.
struct StridedItems {
  int64_t first = 1, last = 0; // of those that a launch reads or writes, item 0 left out: it begins at 0
  int64_t count = 0;           // the buffer has room for
  int64_t unit_bytes = 1;
  std::function<int64_t(int64_t item)> extent; // units that are read or written of an item
  int64_t step = 1;                            // strides are multiples of it
};
inline constexpr int64_t kEdge31 = int64_t{1} << 31, kEdge32 = int64_t{1} << 32; // of 32-bit offsets
// Of one stretched buffer: two rows of which the second begins at 2^31 floats.
inline constexpr int64_t kMostStretched_bytes = int64_t{16} << 30;
// A stride, in units, with which one of the items lies at an edge: 2^31 or 2^32 bytes, or 2^31 units.  It
// begins there or next to it, ends there, or lies across it.  The buffer is not much longer than most_bytes;
// 0 where no stride does it.
int64_t draw_crossing_stride(const StridedItems&, int64_t most_bytes, Random&);
// Of the exact lane: general, half of it sign-biased, 50 %; address code 30 %; a single token, head or dim
// 20 %.
Pattern draw_pattern(const Case&, Random&);
// A legal or nearly legal value for a field; contexts and strides have their own draws above.
int64_t draw_field(const Case&, const Field&, Random&);

} // namespace mqalab
