// Judging selections, without a device: what a launch left in the indices, against the logits it was given.
#pragma once
#include "fuzz/judge.hpp"
#include "refimpl/reference.hpp"

#include <functional>
#include <span>
#include <string>
#include <vector>

namespace mqalab {

// The indices as an output of k cells a row: for its Watch, its regions and differences().
Problem index_cells(const Problem&);

// Logits of columns first(row), ..., limit(row) - 1 of a row, as they are on the device.
using Candidates = std::function<std::vector<float>(int64_t row)>;

// "row 0 position 3"; and what region_of() says of index_cells() in these words.
std::string position_text(const Deviation&);
std::string in_positions(std::string region);

struct TopKJudgement {
  VerdictClass verdict = VerdictClass::ok; // the first class in order that has a deviation
  std::vector<Deviation> deviations; // of that class, the first 65536; column: position in the row of indices
  std::string pattern, note;         // of the first: "duplicate", "column 7 for the second time"
  int64_t cells_bad = 0;             // of every class
  double recall = -1;                // as in Verdict, against these very logits
};
// `output`: of index_cells(problem).  Untouched, stale, touched, then wrong_class (an index out of range, or
// -1 and a column confused), then value (a wrong selection).
TopKJudgement judge_top_k_cells(const Problem&, const Candidates&, const Output& output);
Verdict judge_top_k(const Problem&, const Candidates&, const Output& output);

// What a row of indices holds, k of them.
std::span<const int32_t> selection_of(const Problem&, const Output& output, int64_t row);

// The selection end to end: against the reference of the logits that it was made from (rows of the output, by
// topk_margin).  It knows no rounding of those logits, so it claims less than judge_top_k does, and holds for
// whatever the steps between did.  Value; the pattern is "must be selected" or "may not be selected".
Verdict judge_end_to_end(const Problem&, std::span<const RowReference> rows, const Output& output);

} // namespace mqalab
