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
constexpr int64_t kMost_blocks = 4096;

__device__ uint32_t pattern_at(SentinelPattern p, int64_t i) { return sentinel(p.salt, p.first_element + i); }
__device__ uint32_t pattern_at(ConstantPattern p, int64_t) { return p.word; }

// A thread's share goes into the result at once, and only where there is something to tell.
__device__ void add(ScanTotals* totals, const ScanTotals& mine) {
  if (mine.count == 0) return;
  atomicAdd(&totals->count, mine.count);
  atomicMin(&totals->first, mine.first);
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

template <class Pattern> __global__ void scan(Words w, Pattern pattern, bool equal, ScanTotals* totals) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * kThreads;
  ScanTotals mine;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < w.count; i += step)
    if ((w.words[i] == pattern_at(pattern, i)) == equal) see(mine, i);
  add(totals, mine);
}

// In double, where a float times a power of two is exact.
__device__ bool agree(float ours, float theirs, double factor) {
  if (ours != ours) return theirs != theirs;
  return static_cast<double>(theirs) == factor * static_cast<double>(ours);
}

__global__ void compare(const float* ours, const float* theirs, const RowsToCompare* rows, int64_t count,
                        double factor, ScanTotals* totals) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * kThreads;
  ScanTotals mine;
  for (int64_t r = blockIdx.y; r < count; r += gridDim.y) {
    const RowsToCompare row = rows[r];
    for (int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < row.columns; i += step)
      if (!agree(ours[row.ours + i], theirs[row.theirs + i], factor)) see(mine, row.ours + i);
  }
  add(totals, mine);
}

uint32_t blocks_for(int64_t words, int64_t most) {
  const int64_t per_block = kThreads * kWords_per_thread;
  return static_cast<uint32_t>(std::clamp<int64_t>((words + per_block - 1) / per_block, 1, most));
}

template <class Pattern> hipError_t start_prefill(Words w, Pattern pattern) {
  prefill<<<dim3(blocks_for(w.count, kMost_blocks)), dim3(kThreads), 0, nullptr>>>(w, pattern);
  return hipGetLastError();
}
template <class Pattern> hipError_t start_scan(Words w, Pattern pattern, bool equal, ScanTotals* totals) {
  scan<<<dim3(blocks_for(w.count, kMost_blocks)), dim3(kThreads), 0, nullptr>>>(w, pattern, equal, totals);
  return hipGetLastError();
}

} // namespace

hipError_t launch_prefill(Words w, SentinelPattern pattern) { return start_prefill(w, pattern); }
hipError_t launch_prefill(Words w, ConstantPattern pattern) { return start_prefill(w, pattern); }
hipError_t launch_scan(Words w, SentinelPattern pattern, bool equal, ScanTotals* totals) {
  return start_scan(w, pattern, equal, totals);
}
hipError_t launch_scan(Words w, ConstantPattern pattern, bool equal, ScanTotals* totals) {
  return start_scan(w, pattern, equal, totals);
}

hipError_t launch_compare(const float* ours, const float* theirs, const RowsToCompare* rows, int64_t count,
                          int64_t most_columns, double factor, ScanTotals* totals) {
  const auto grid_rows = static_cast<uint32_t>(std::min(count, kMost_blocks));
  const dim3 grid(blocks_for(most_columns, std::max<int64_t>(1, kMost_blocks / grid_rows)), grid_rows);
  compare<<<grid, dim3(kThreads), 0, nullptr>>>(ours, theirs, rows, count, factor, totals);
  return hipGetLastError();
}

} // namespace mqalab
