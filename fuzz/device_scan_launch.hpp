// The kernels of device_scan.hip.  All pointers are the device's; counts and offsets are of 32-bit words.
#pragma once
#include "fuzz/device_scan.hpp"

#include <hip/hip_runtime_api.h>

namespace mqalab {

// What one block of a pass adds up; the host adds the blocks.  `first` starts above every element.
struct ScanTotals {
  unsigned long long count = 0;
  unsigned long long first = ~0ull;
};

inline constexpr int64_t kMostScanBlocks = 4096;

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
// Counts words that are their pattern's (equal) or are not; `first` is an index into the words.  Each block
// leaves its totals in of_blocks[0 .. *blocks), room for kMostScanBlocks.
hipError_t launch_scan(Words, SentinelPattern, bool equal, ScanTotals* of_blocks, int64_t* blocks);
hipError_t launch_scan(Words, ConstantPattern, bool equal, ScanTotals* of_blocks, int64_t* blocks);
// `most_columns`: of the longest row.
hipError_t launch_compare(const float* ours, const float* theirs, const RowsToCompare*, int64_t rows,
                          int64_t most_columns, double factor, ScanTotals* of_blocks, int64_t* blocks);

} // namespace mqalab
