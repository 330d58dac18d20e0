// Judging selections, without a device: what a launch left in the indices, against the logits it was given.
#pragma once
#include "fuzz/judge.hpp"

#include <functional>
#include <string>
#include <vector>

namespace mqalab {

// The indices as an output of k cells a row: for its Watch, its regions and differences().
Problem index_cells(const Problem&);

// Logits of columns first(row), ..., limit(row) - 1 of a row, as they are on the device.
using Candidates = std::function<std::vector<float>(int64_t row)>;

struct TopKJudgement {
  VerdictClass verdict = VerdictClass::ok; // the first class in order that has a deviation
  std::vector<Deviation> deviations; // of that class, the first 65536; column: position in the row of indices
  std::string pattern, note;         // of the first: "duplicate", "column 7 for the second time"
  int64_t cells_bad = 0;             // of every class
};
// `output`: of index_cells(problem).  Untouched, stale, touched, then wrong_class (an index out of range, or
// -1 and a column confused), then value (a wrong selection).
TopKJudgement judge_top_k_cells(const Problem&, const Candidates&, const Output& output);
Verdict judge_top_k(const Problem&, const Candidates&, const Output& output);

} // namespace mqalab
