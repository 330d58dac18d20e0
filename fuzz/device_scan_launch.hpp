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

// One of them for each kind of word that a pass counts.
inline constexpr int kScanKinds = 3;

inline constexpr int64_t kMostScanBlocks = 4096;

hipError_t launch_prefill(uint32_t* words, int64_t count, uint64_t salt, int64_t first_element);
// Block b leaves its totals in of_blocks[b * kScanKinds], untouched, touched and not -inf; *blocks of them,
// at most kMostScanBlocks.  `most_columns`: of the longest row, padding included.
hipError_t launch_scan_rows(const uint32_t* words, const RowToScan*, int64_t rows, int64_t most_columns,
                            uint64_t salt, ScanTotals* of_blocks, int64_t* blocks);
// One total a block.
// `most_columns`: of the longest row.
hipError_t launch_compare(const float* ours, const float* theirs, const RowsToCompare*, int64_t rows,
                          int64_t most_columns, double factor, ScanTotals* of_blocks, int64_t* blocks);

} // namespace mqalab
