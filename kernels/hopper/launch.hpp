// Host side of the wgmma variant: which instance runs, with how much shared memory and how many workers.
#pragma once
#include "kernels/hopper/limits.hpp"
#include "kernels/hopper/paged_logits.hpp"
#include "kernels/launch.hpp"

#include <atomic>

namespace mqa::hopper {

// The copy engine's map of a planar cache.  The driver's encoder is asked for once; the last map is kept,
// because a launcher calls with the same cache again and again.
inline hipError_t describe_pages(const PagedArgs& a, Pages* pages) {
  using Encode = decltype(&cuTensorMapEncodeTiled);
  static const Encode encode = [] {
    void* address = nullptr;
    cudaDriverEntryPointQueryResult found;
    const auto error = cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &address, 12000,
                                                        cudaEnableDefault, &found);
    return error == cudaSuccess ? reinterpret_cast<Encode>(address) : nullptr;
  }();
  if (!encode) return hipErrorNotSupported;
  struct Key {
    const void* cache;
    int64_t stride, blocks, size;
    bool operator==(const Key&) const = default;
  };
  static thread_local Key last_key{};
  static thread_local Pages last{};
  const Key key{a.kv_cache, a.kv_block_stride_bytes, a.num_blocks, a.block_size};
  if (key != last_key) {
    last.box = a.block_size % 64 == 0 ? 64 : a.block_size % 32 == 0 ? 32 : 16;
    const cuuint64_t sizes[] = {kHeadDim, static_cast<cuuint64_t>(a.block_size),
                                static_cast<cuuint64_t>(a.num_blocks)};
    const cuuint64_t strides[] = {kHeadDim, static_cast<cuuint64_t>(a.kv_block_stride_bytes)};
    const cuuint32_t box[] = {kHeadDim, static_cast<cuuint32_t>(last.box), 1}, step[] = {1, 1, 1};
    const CUresult result =
        encode(&last.map, CU_TENSOR_MAP_DATA_TYPE_UINT8, 3, const_cast<uint8_t*>(a.kv_cache), sizes, strides,
               box, step, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
               CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    if (result != CUDA_SUCCESS) return hipErrorInvalidValue;
    last_key = key;
  }
  *pages = last;
  return hipSuccess;
}
// Whole pages can come by the copy engine: its addresses and strides are multiples of 16, strides below 2^40.
inline bool has_pages(const PagedArgs& a) {
  return a.aligned16 && !a.shuffled && a.block_size % 16 == 0 && a.num_blocks > 0 &&
         a.kv_block_stride_bytes < int64_t{1} << 40;
}

template <class R, int Heads, int Rows, class Feeder, int Workers> struct Instance {
  static constexpr auto* kernel = &paged_logits_wgmma<R, Heads, Rows, Feeder, Workers>;

  // More than 48 KiB of shared memory has to be asked for, once per kernel and device.
  static hipError_t allow_shared() {
    static std::atomic<uint64_t> done{0};
    int device = 0;
    if (const hipError_t error = hipGetDevice(&device); error != hipSuccess) return error;
    const uint64_t bit = uint64_t{1} << (device % 64);
    if (done.load(std::memory_order_relaxed) & bit) return hipSuccess;
    const hipError_t error =
        hipFuncSetAttribute(reinterpret_cast<const void*>(kernel), hipFuncAttributeMaxDynamicSharedMemorySize,
                            kSharedBytesPerSm - kScheduleBytes);
    if (error == hipSuccess) done.fetch_or(bit, std::memory_order_relaxed);
    return error;
  }
  static hipError_t launch(const PagedArgs& a, const LaunchConfig& c, hipStream_t stream) {
    if (const hipError_t error = allow_shared(); error != hipSuccess) return error;
    Pages pages{};
    if (std::is_same_v<Feeder, BulkFeeder>)
      if (const hipError_t error = describe_pages(a, &pages); error != hipSuccess) return error;
    const auto products = static_cast<int>(products_of_sequence(a.next_n, a.heads));
    const int stages = stages_for(c.wave_per_eu, staged_bytes(a.next_n, a.heads));
    kernel<<<dim3(static_cast<uint32_t>(c.workers)), dim3(kThreads), c.lds_bytes, stream>>>(a, products,
                                                                                            stages, pages);
    return hipGetLastError();
  }
};

template <class R, int Heads, int Rows, class Feeder>
hipError_t launch_workers(const PagedArgs& a, const LaunchConfig& c, hipStream_t stream) {
  switch (c.wave_per_eu) {
  case 2: return Instance<R, Heads, Rows, Feeder, 2>::launch(a, c, stream);
  case 3: return Instance<R, Heads, Rows, Feeder, 3>::launch(a, c, stream);
  default: return Instance<R, Heads, Rows, Feeder, 4>::launch(a, c, stream);
  }
}
template <class R, int Heads, int Rows>
hipError_t launch_feeder(const PagedArgs& a, const LaunchConfig& c, hipStream_t stream) {
  if (has_pages(a)) return launch_workers<R, Heads, Rows, BulkFeeder>(a, c, stream);
  if (a.aligned16 && a.shuffled && a.num_blocks > 0)
    return launch_workers<R, Heads, Rows, ShuffledFeeder>(a, c, stream);
  return a.aligned16 ? launch_workers<R, Heads, Rows, CopyFeeder<true>>(a, c, stream)
                     : launch_workers<R, Heads, Rows, CopyFeeder<false>>(a, c, stream);
}
template <class R> hipError_t launch(const PagedArgs& a, const LaunchConfig& c, hipStream_t stream) {
  const int columns = columns_of_row(a.heads), rows = rows_of_product(a.next_n, a.heads);
  if (columns == 128) return launch_feeder<R, 128, 1>(a, c, stream);
  if (columns == 64)
    return rows == 1 ? launch_feeder<R, 64, 1>(a, c, stream) : launch_feeder<R, 64, 2>(a, c, stream);
  if (rows == 1) return launch_feeder<R, 32, 1>(a, c, stream);
  return rows == 2 ? launch_feeder<R, 32, 2>(a, c, stream) : launch_feeder<R, 32, 4>(a, c, stream);
}

} // namespace mqa::hopper
