// Host side of the wgmma variant: which instance runs, with how much shared memory and how many workers.
#pragma once
#include "kernels/hopper/limits.hpp"
#include "kernels/hopper/paged_logits.hpp"
#include "kernels/launch.hpp"

#include <atomic>

namespace mqa::hopper {

template <class R, int Heads, int Workers, bool Aligned> struct Instance {
  static constexpr auto* kernel = &paged_logits_wgmma<R, Heads, Aligned, Workers>;

  // More than 48 KiB of shared memory has to be asked for, once per kernel and device.
  static hipError_t allow_shared() {
    static std::atomic<uint64_t> done{0};
    int device = 0;
    if (const hipError_t error = hipGetDevice(&device); error != hipSuccess) return error;
    const uint64_t bit = uint64_t{1} << (device % 64);
    if (done.load(std::memory_order_relaxed) & bit) return hipSuccess;
    const hipError_t error = hipFuncSetAttribute(reinterpret_cast<const void*>(kernel),
                                                 hipFuncAttributeMaxDynamicSharedMemorySize, kSharedBytesPerSm - kScheduleBytes);
    if (error == hipSuccess) done.fetch_or(bit, std::memory_order_relaxed);
    return error;
  }
  static hipError_t launch(const PagedArgs& a, const LaunchConfig& c, hipStream_t stream) {
    if (const hipError_t error = allow_shared(); error != hipSuccess) return error;
    const int groups = a.next_n * parts_of_row(a.heads);
    const int stages = stages_for(c.wave_per_eu, staged_bytes(a.next_n, a.heads));
    kernel<<<dim3(static_cast<uint32_t>(c.workers)), dim3(kThreads), c.lds_bytes, stream>>>(a, groups, stages);
    return hipGetLastError();
  }
};

template <class R, int Heads, int Workers>
hipError_t launch_aligned(const PagedArgs& a, const LaunchConfig& c, hipStream_t stream) {
  return a.aligned16 ? Instance<R, Heads, Workers, true>::launch(a, c, stream)
                     : Instance<R, Heads, Workers, false>::launch(a, c, stream);
}
template <class R, int Heads>
hipError_t launch_workers(const PagedArgs& a, const LaunchConfig& c, hipStream_t stream) {
  return c.wave_per_eu == 2 ? launch_aligned<R, Heads, 2>(a, c, stream) : launch_aligned<R, Heads, 4>(a, c, stream);
}
template <class R> hipError_t launch(const PagedArgs& a, const LaunchConfig& c, hipStream_t stream) {
  return heads_of_group(a.heads) == 32 ? launch_workers<R, 32>(a, c, stream) : launch_workers<R, 64>(a, c, stream);
}

}  // namespace mqa::hopper
