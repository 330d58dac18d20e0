// Judging, without a device: given what a launch left in the output and what the reference says, which cells
// are wrong and what is the verdict.  The order of classes is oracle.md, section 1.
#pragma once
#include "fuzz/verdict.hpp"
#include "fuzz/watch.hpp"
#include "refimpl/generate.hpp"
#include "refimpl/reference.hpp"

#include <span>
#include <vector>

namespace mqalab {

// What is due.
struct Expected {
  const Problem& problem;
  const DataSpec& data;
  const Tensors& tensors;
  std::span<const RowReference> rows; // of the output
  bool exact;                         // bitwise, or within the bound
  int32_t chunk_tokens;               // of the launched configuration; only names regions
  int32_t splits = 1;                 // ... and these, too
};

// What one launch left: the watched cells, window after window, and how they were prefilled.
struct Output {
  const Watch& watch;
  std::span<const uint32_t> cells;
  uint64_t salt;                       // of this launch's prefill
  std::span<const uint64_t> old_salts; // of earlier ones
};

// A cell that is not as it should be.
struct Deviation {
  VerdictClass kind = VerdictClass::value;
  int64_t row = 0, column = 0; // row of the output: of one plane of per-head logits
  uint32_t got = 0;
  double expected = 0, bound = 0; // expected is -inf for a tail cell and NaN where nothing may be written
  bool promised = true;           // a value or -inf is due; false: must stay untouched
};

struct Judgement {
  VerdictClass verdict = VerdictClass::ok;  // the first class in order that has a deviation
  std::vector<Deviation> deviations;        // of that class, the first 65536
  int64_t cells_checked = 0, cells_bad = 0; // bad: of every class
  double worst_error_ratio = 0;             // of cells judged by a bound
};
// The error as a share of its bound; 0 where there is no error to speak of: an overflow to infinity, a result
// that may be anything, a cell without a bound.
double error_ratio(double expected, double bound, float got);
Judgement judge_cells(const Expected&, const Output&);
// The same as a verdict for people: pattern, region, first bad cells.
Verdict judge(const Expected&, const Output&);

// Two launches that must agree bitwise: equal, or each still its own prefill.  Deviations hold the second
// run's bits as got and the first's as expected; empty when they agree.
std::vector<Deviation> differences(const Problem&, const Output& first, const Output& second);

} // namespace mqalab
