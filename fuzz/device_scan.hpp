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
// Words that are not their sentinel: written.  And those that still are: untouched.
ScanResult scan_written(const uint32_t* words, int64_t count, uint64_t salt, int64_t first_element);
ScanResult scan_untouched(const uint32_t* words, int64_t count, uint64_t salt, int64_t first_element);
// Words that are not `word`: a -inf tail, a guard zone.
ScanResult scan_other_than(const uint32_t* words, int64_t count, uint32_t word);
void fill_on_device(uint32_t* words, int64_t count, uint32_t word);

// Rows of two outputs that must agree: element offsets into `ours` and `theirs`, and how many columns.
struct RowsToCompare {
  int64_t ours = 0, theirs = 0, columns = 0;
};
// Counts elements where theirs is not factor * ours to the bit (NaNs agree with NaNs, -0 with 0); `first` is
// the element of `ours`, got what theirs holds.
ScanResult compare_on_device(const float* ours, const float* theirs, std::span<const RowsToCompare>,
                             double factor);

} // namespace mqalab
