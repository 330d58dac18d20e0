// The kernels of device_scan.hip.  All pointers are the device's; counts and offsets are of 32-bit words.
#pragma once
#include "fuzz/device_scan.hpp"

#include <hip/hip_runtime_api.h>

namespace mqalab {

// What a pass adds up.  `first` starts above every element.
struct ScanTotals {
  unsigned long long count = 0;
  unsigned long long first = ~0ull;
};

struct Words {
  uint32_t* words;
  int64_t count;
};
// What a word is set to or compared with: its sentinel, or a constant.
struct SentinelPattern {
  uint64_t salt;
  int64_t first_element;
};
struct ConstantPattern {
  uint32_t word;
};

hipError_t launch_prefill(Words, SentinelPattern);
hipError_t launch_prefill(Words, ConstantPattern);
// Counts words that are their pattern's (equal) or are not; `first` is an index into the words.
hipError_t launch_scan(Words, SentinelPattern, bool equal, ScanTotals*);
hipError_t launch_scan(Words, ConstantPattern, bool equal, ScanTotals*);
// `most_columns`: of the longest row.
hipError_t launch_compare(const float* ours, const float* theirs, const RowsToCompare*, int64_t rows,
                          int64_t most_columns, double factor, ScanTotals*);

} // namespace mqalab
