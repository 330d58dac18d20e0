// The traffic-only kernel: reads the pages of a list into shared memory by bulk copies, writes `floats`
// floats a page, and computes nothing.  The yardstick of the kernel table: an achievable time for the bytes,
// not a proven minimum.
#pragma once
#include <hip/hip_runtime.h>

#include <cstdint>

namespace mqalab {

struct TrafficArgs {
  const uint8_t* pool;
  const int32_t* pages; // ids, `count` of them
  float* out;           // count * floats
  int32_t count, floats;
  int64_t page_bytes; // a multiple of 16
};

inline constexpr int kTrafficThreads = 128, kMostStages = 24;

__device__ inline uint32_t shared_address(const void* p) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(p));
}
__device__ inline void barrier_init(uint64_t* b) {
  asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(shared_address(b)) : "memory");
}
__device__ inline void bulk_load(void* to, const void* from, uint32_t bytes, uint64_t* b) {
  asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(shared_address(b)), "r"(bytes)
               : "memory");
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
          shared_address(to)),
      "l"(from), "r"(bytes), "r"(shared_address(b))
      : "memory");
}
__device__ inline void barrier_wait(uint64_t* b, uint32_t parity) {
  asm volatile(
      "{ .reg .pred done; again: mbarrier.try_wait.parity.shared.b64 done, [%0], %1; @!done bra again; }" ::
          "r"(shared_address(b)),
      "r"(parity)
      : "memory");
}

// Static layout: a block takes a contiguous run of pages through a ring of `stages` pages.
__global__ void __launch_bounds__(kTrafficThreads) traffic(const TrafficArgs a, int stages) {
  extern __shared__ __align__(128) unsigned char ring[];
  __shared__ uint64_t full[kMostStages];
  const auto begin = static_cast<int32_t>(int64_t{a.count} * blockIdx.x / gridDim.x);
  const auto end = static_cast<int32_t>(int64_t{a.count} * (blockIdx.x + 1) / gridDim.x);
  const auto page_bytes = static_cast<uint32_t>(a.page_bytes);
  const auto load = [&](int32_t page) {
    const int stage = (page - begin) % stages;
    bulk_load(ring + int64_t{stage} * page_bytes, a.pool + a.pages[page] * a.page_bytes, page_bytes,
              full + stage);
  };
  if (threadIdx.x == 0) {
    for (int i = 0; i < stages; ++i) barrier_init(full + i);
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    for (int32_t page = begin; page < end && page < begin + stages; ++page) load(page);
  }
  __syncthreads();
  for (int32_t page = begin; page < end; ++page) {
    const int stage = (page - begin) % stages;
    barrier_wait(full + stage, (page - begin) / stages % 2);
    const auto* words = reinterpret_cast<const float*>(ring + int64_t{stage} * page_bytes);
    for (int32_t i = threadIdx.x; i < a.floats; i += kTrafficThreads)
      a.out[int64_t{page} * a.floats + i] = words[i % 2048];
    __syncthreads();
    if (threadIdx.x == 0 && page + stages < end) load(page + stages);
  }
}

} // namespace mqalab
