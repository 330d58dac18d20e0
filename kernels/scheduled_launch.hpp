// From run-time values to an instance of the scheduled variant, as dispatch.hpp does for the others.
#pragma once
#include "kernels/dispatch.hpp"
#include "kernels/scheduled_logits.hpp"

namespace mqa {

template <class A, class R, class S, int D, int First, int... Rest>
hipError_t launch_scheduled_waves(List<First, Rest...>, const PagedArgs& args, const LaunchConfig& config,
                                  hipStream_t stream) {
  if constexpr (sizeof...(Rest) > 0)
    if (config.wave_per_eu != First)
      return launch_scheduled_waves<A, R, S, D>(List<Rest...>{}, args, config, stream);
  scheduled_logits<A, R, S, D, First>
      <<<dim3(static_cast<uint32_t>(config.workers)), dim3(A::kThreads), config.lds_bytes, stream>>>(args);
  return hipGetLastError();
}
template <class Set, class A, class R, class S, int First, int... Rest>
hipError_t launch_scheduled_dims(List<First, Rest...>, const PagedArgs& args, const LaunchConfig& config,
                                 hipStream_t stream) {
  if (args.head_dim == First)
    return launch_scheduled_waves<A, R, S, First>(typename Set::WavesPerEu{}, args, config, stream);
  if constexpr (sizeof...(Rest) > 0)
    return launch_scheduled_dims<Set, A, R, S>(List<Rest...>{}, args, config, stream);
  return hipErrorInvalidValue;
}

// Rules R, schedule S, arch layer A.  hipErrorInvalidValue: `Set` has no instance, or the variant is another
// one.
template <class R, class Set, class S = Schedule, class A = Arch>
hipError_t launch_scheduled(const PagedArgs& args, const LaunchConfig& config, hipStream_t stream) {
  if (config.variant != MQA_VARIANT_SCHEDULED) return hipErrorInvalidValue;
  if (args.batch == 0) return hipSuccess;
  return launch_scheduled_dims<Set, A, R, S>(typename Set::HeadDims{}, args, config, stream);
}

} // namespace mqa
