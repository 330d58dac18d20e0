// Passes over outputs of gigabytes.  Every index is 64 bits wide: these kernels look for the mistakes of
// others that are not.
#include "fuzz/device_scan_launch.hpp"
#include "fuzz/sentinel.hpp"

#include <hip/hip_runtime.h>

#include <algorithm>

namespace mqalab {
namespace {

constexpr int kThreads = 256;
constexpr int64_t kWords_per_thread = 16; // before more blocks are worth it

// Adds the threads of a block in its LDS: no atomics, so a pass asks nothing of a device but loads and
// stores.
__device__ void add(ScanTotals& all, const ScanTotals& mine) {
  __shared__ unsigned long long counts[kThreads], firsts[kThreads];
  const uint32_t t = threadIdx.x;
  counts[t] = mine.count, firsts[t] = mine.first;
  __syncthreads();
  for (uint32_t half = kThreads / 2; half > 0; half /= 2) {
    if (t < half) {
      counts[t] += counts[t + half];
      if (firsts[t + half] < firsts[t]) firsts[t] = firsts[t + half];
    }
    __syncthreads();
  }
  if (t == 0) all.count = counts[0], all.first = firsts[0];
}
__device__ int64_t block_number() { return static_cast<int64_t>(blockIdx.y) * gridDim.x + blockIdx.x; }
__device__ void see(ScanTotals& mine, int64_t element) {
  const auto e = static_cast<unsigned long long>(element);
  ++mine.count;
  if (e < mine.first) mine.first = e;
}

__global__ void prefill(uint32_t* words, int64_t count, uint64_t salt, int64_t first_element) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * kThreads;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < count; i += step)
    words[i] = sentinel(salt, first_element + i);
}

__global__ void scan(const uint32_t* words, const RowToScan* rows, int64_t count, uint64_t salt,
                     ScanTotals* of_blocks) {
  constexpr uint32_t kNegInfBits = 0xff800000u;
  const int64_t step = static_cast<int64_t>(gridDim.x) * kThreads;
  ScanTotals untouched, touched, not_low;
  for (int64_t r = blockIdx.y; r < count; r += gridDim.y) {
    const RowToScan row = rows[r];
    int64_t i = row.begin + static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
    for (; i < row.end; i += step) {
      const uint32_t word = words[i];
      const bool is_value = i >= row.values_begin && i < row.values_end,
                 is_tail = !is_value && i < row.tail_end;
      const bool written = word != sentinel(salt, i);
      if (!written && (is_value || is_tail)) see(untouched, i);
      if (written && !is_value && !is_tail) see(touched, i);
      if (written && is_tail && word != kNegInfBits) see(not_low, i);
    }
  }
  ScanTotals* of_kinds = of_blocks + block_number() * kScanKinds;
  add(of_kinds[0], untouched), add(of_kinds[1], touched), add(of_kinds[2], not_low);
}

// In double, where a float times a power of two is exact.
__device__ bool agree(float ours, float theirs, double factor) {
  if (ours != ours) return theirs != theirs;
  return static_cast<double>(theirs) == factor * static_cast<double>(ours);
}

__global__ void compare(const float* ours, const float* theirs, const RowsToCompare* rows, int64_t count,
                        double factor, ScanTotals* of_blocks) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * kThreads;
  ScanTotals mine;
  for (int64_t r = blockIdx.y; r < count; r += gridDim.y) {
    const RowsToCompare row = rows[r];
    for (int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < row.columns; i += step)
      if (!agree(ours[row.ours + i], theirs[row.theirs + i], factor)) see(mine, row.ours + i);
  }
  add(of_blocks[block_number()], mine);
}

uint32_t blocks_for(int64_t words, int64_t most) {
  const int64_t per_block = kThreads * kWords_per_thread;
  return static_cast<uint32_t>(std::clamp<int64_t>((words + per_block - 1) / per_block, 1, most));
}

dim3 grid_for(int64_t rows, int64_t most_columns) {
  const auto grid_rows = static_cast<uint32_t>(std::min(rows, kMostScanBlocks));
  return dim3(blocks_for(most_columns, std::max<int64_t>(1, kMostScanBlocks / grid_rows)), grid_rows);
}

} // namespace

hipError_t launch_prefill(uint32_t* words, int64_t count, uint64_t salt, int64_t first_element) {
  const dim3 grid(blocks_for(count, kMostScanBlocks));
  prefill<<<grid, dim3(kThreads), 0, nullptr>>>(words, count, salt, first_element);
  return hipGetLastError();
}

hipError_t launch_scan_rows(const uint32_t* words, const RowToScan* rows, int64_t count, int64_t most_columns,
                            uint64_t salt, ScanTotals* of_blocks, int64_t* blocks) {
  const dim3 grid = grid_for(count, most_columns);
  *blocks = int64_t{grid.x} * grid.y;
  scan<<<grid, dim3(kThreads), 0, nullptr>>>(words, rows, count, salt, of_blocks);
  return hipGetLastError();
}

hipError_t launch_compare(const float* ours, const float* theirs, const RowsToCompare* rows, int64_t count,
                          int64_t most_columns, double factor, ScanTotals* of_blocks, int64_t* blocks) {
  const dim3 grid = grid_for(count, most_columns);
  *blocks = int64_t{grid.x} * grid.y;
  compare<<<grid, dim3(kThreads), 0, nullptr>>>(ours, theirs, rows, count, factor, of_blocks);
  return hipGetLastError();
}

} // namespace mqalab
