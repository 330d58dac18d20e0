// Passes over an output that stay on the device, for outputs too large to be brought back: gigabytes are
// prefilled, scanned and compared there, and a few words return.  Kernels in device_scan.hip, run on every
// platform.
#pragma once
#include "fuzz/relation.hpp"

#include <cstdint>
#include <span>

namespace mqalab {

struct ScanResult {
  int64_t count = 0;  // words of that kind
  int64_t first = -1; // element of the first one
  uint32_t got = 0;   // what it holds
};

// words[i] = sentinel(salt, first_element + i) for i in [0, count).
void prefill_on_device(uint32_t* words, int64_t count, uint64_t salt, int64_t first_element);

// One row of a prefilled output, all in elements of the buffer: begin <= values_begin <= values_end <= end,
// and begin <= tail_end <= end.  Before tail_end everything is written, outside the values -inf; where there
// are no tails tail_end is begin.  What is neither a value nor a tail keeps its sentinel.
struct RowToScan {
  int64_t begin = 0, end = 0;
  int64_t values_begin = 0, values_end = 0;
  int64_t tail_end = 0;
};
struct RowScan {
  ScanResult untouched; // values and tails that hold their sentinel
  ScanResult touched;   // others that do not
  ScanResult not_low;   // tails that were written, and are not -inf
};
// One pass over thousands of rows at a time.
RowScan scan_rows(const uint32_t* words, std::span<const RowToScan>, uint64_t salt);

// Rows of two outputs that must agree: element offsets into `ours` and `theirs`, and how many columns.
struct RowsToCompare {
  int64_t ours = 0, theirs = 0, columns = 0;
};
// Counts elements where theirs is not factor * ours to the bit (NaNs agree with NaNs, -0 with 0); `first` is
// the element of `ours`, got what theirs holds.
ScanResult compare_on_device(const float* ours, const float* theirs, std::span<const RowsToCompare>,
                             double factor);

} // namespace mqalab
