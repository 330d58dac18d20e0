// Is this the top-k of that row?  Exact against the row itself: no bound, no tolerance, ties free unless
// stable.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mqalab {

// One row as the contract sees it: `candidates` are the logits of columns first, first + 1, ...
struct TopKRow {
  std::span<const float> candidates;
  int64_t first = 0;
  int32_t k = 1;
  bool stable = false;
};

enum class TopKMistake : uint8_t {
  out_of_range, // a column that is no candidate, or -1 where a column is due
  padding,      // no -1 behind the last selected column
  duplicate,    // a column for the second time
  not_among,    // a column whose logit is below the k-th largest
  missing,      // a column that every right selection holds
  order,        // the right columns in the wrong order
  tie           // stable: a column that ties where a lower one was to be taken
};
std::string_view name(TopKMistake); // "out of range", "padding", "duplicate", "not among the largest", ...

struct TopKComplaint {
  TopKMistake mistake;
  int64_t position =
      0; // in the row of indices; of a missing column: the position it has in the ascending list
  int32_t got = 0, expected = 0; // expected: what the one ascending list with the lowest ties holds there
  std::string words;             // "column 7 for the second time"
};

// The right list: ascending, of those that tie the lowest, then -1 up to k.
std::vector<int32_t> top_k_columns(const TopKRow&);
// Every mistake in indices, k of them, in the order of positions, missing columns last; empty: all is right.
std::vector<TopKComplaint> top_k_complaints(const TopKRow&, std::span<const int32_t> indices);

} // namespace mqalab
