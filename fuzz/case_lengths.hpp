// Context lengths of a shape: the default, and which of the two forms (one per sequence, one per row) a list
// is in.
#pragma once
#include "fuzz/case.hpp"

#include <algorithm>

namespace mqalab {

// Rows of the output, as the case says it; the lab checks no more than this many.
inline constexpr int64_t kMostRows = int64_t{1} << 20;

// One token each.  A batch that no legal case has gets a short list, so that decoding stays cheap.
inline std::vector<int32_t> default_lengths(const Shape& s) {
  const int64_t rows = int64_t{std::max(s.batch, 0)} * (s.lens_per_row ? std::max(s.next_n, 0) : 1);
  return std::vector<int32_t>(static_cast<size_t>(rows > kMostRows ? 1 : rows), 1);
}

// Prefill has an end per row, and starts go with limits per row.
inline bool implied_per_row(Operation op, const Shape& s) {
  return op == Operation::prefill_logits || !s.starts.empty();
}

// A list with one entry per row and not per sequence can only mean lengths per row.
inline bool deduced_per_row(const Shape& s) {
  const auto count = static_cast<int64_t>(s.context_lens.size());
  return count != s.batch && count == int64_t{s.batch} * s.next_n;
}

} // namespace mqalab
