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

__device__ uint32_t pattern_at(SentinelPattern p, int64_t i) { return sentinel(p.salt, p.first_element + i); }
__device__ uint32_t pattern_at(ConstantPattern p, int64_t) { return p.word; }

// Adds the threads of a block in its LDS: no atomics, so a pass asks nothing of a device but loads and
// stores.
__device__ void add(ScanTotals* of_blocks, const ScanTotals& mine) {
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
  if (t != 0) return;
  ScanTotals& all = of_blocks[static_cast<int64_t>(blockIdx.y) * gridDim.x + blockIdx.x];
  all.count = counts[0], all.first = firsts[0];
}
__device__ void see(ScanTotals& mine, int64_t element) {
  const auto e = static_cast<unsigned long long>(element);
  ++mine.count;
  if (e < mine.first) mine.first = e;
}

template <class Pattern> __global__ void prefill(Words w, Pattern pattern) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * kThreads;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < w.count; i += step)
    w.words[i] = pattern_at(pattern, i);
}

template <class Pattern> __global__ void scan(Words w, Pattern pattern, bool equal, ScanTotals* of_blocks) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * kThreads;
  ScanTotals mine;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < w.count; i += step)
    if ((w.words[i] == pattern_at(pattern, i)) == equal) see(mine, i);
  add(of_blocks, mine);
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
  add(of_blocks, mine);
}

uint32_t blocks_for(int64_t words, int64_t most) {
  const int64_t per_block = kThreads * kWords_per_thread;
  return static_cast<uint32_t>(std::clamp<int64_t>((words + per_block - 1) / per_block, 1, most));
}

template <class Pattern> hipError_t start_prefill(Words w, Pattern pattern) {
  prefill<<<dim3(blocks_for(w.count, kMostScanBlocks)), dim3(kThreads), 0, nullptr>>>(w, pattern);
  return hipGetLastError();
}
template <class Pattern>
hipError_t start_scan(Words w, Pattern pattern, bool equal, ScanTotals* of_blocks, int64_t* blocks) {
  const dim3 grid(blocks_for(w.count, kMostScanBlocks));
  *blocks = grid.x;
  scan<<<grid, dim3(kThreads), 0, nullptr>>>(w, pattern, equal, of_blocks);
  return hipGetLastError();
}

} // namespace

hipError_t launch_prefill(Words w, SentinelPattern pattern) { return start_prefill(w, pattern); }
hipError_t launch_prefill(Words w, ConstantPattern pattern) { return start_prefill(w, pattern); }
hipError_t launch_scan(Words w, SentinelPattern pattern, bool equal, ScanTotals* of_blocks, int64_t* blocks) {
  return start_scan(w, pattern, equal, of_blocks, blocks);
}
hipError_t launch_scan(Words w, ConstantPattern pattern, bool equal, ScanTotals* of_blocks, int64_t* blocks) {
  return start_scan(w, pattern, equal, of_blocks, blocks);
}

hipError_t launch_compare(const float* ours, const float* theirs, const RowsToCompare* rows, int64_t count,
                          int64_t most_columns, double factor, ScanTotals* of_blocks, int64_t* blocks) {
  const auto grid_rows = static_cast<uint32_t>(std::min(count, kMostScanBlocks));
  const dim3 grid(blocks_for(most_columns, std::max<int64_t>(1, kMostScanBlocks / grid_rows)), grid_rows);
  *blocks = int64_t{grid.x} * grid.y;
  compare<<<grid, dim3(kThreads), 0, nullptr>>>(ours, theirs, rows, count, factor, of_blocks);
  return hipGetLastError();
}

} // namespace mqalab
