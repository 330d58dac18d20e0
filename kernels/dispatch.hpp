// From run-time values to a compiled kernel instance.  Production builds every instance; a planted fault
// builds a few.
#pragma once
#include "kernels/launch.hpp"
#include "kernels/paged_logits.hpp"

namespace mqa {

template <int... Values> struct List {};
// Every instance of libmqa, and what the lab builds of each planted fault.
struct AllInstances {
  using HeadDims = List<32, 64, 128>;
  using WavesPerEu = List<1, 2, 4>;
  static constexpr bool kDirect = true;
};
struct FaultInstances {
  using HeadDims = List<128>;
  using WavesPerEu = List<2>;
  static constexpr bool kDirect = false;
};

template <class A, class R, int D, bool Staged, int WavePerEu>
hipError_t launch_instance(const PagedArgs& args, const LaunchConfig& config, hipStream_t stream) {
  const dim3 grid(static_cast<uint32_t>(args.batch) * static_cast<uint32_t>(args.splits));
  paged_logits<A, R, D, Staged, WavePerEu>
      <<<grid, dim3(A::kThreads), Staged ? config.lds_bytes : 0, stream>>>(args);
  return hipGetLastError();
}

// Tries the compiled values in turn until one equals the wanted one.
template <class A, class R, int D, bool Staged, int First, int... Rest>
hipError_t launch_waves(List<First, Rest...>, const PagedArgs& args, const LaunchConfig& config,
                        hipStream_t stream) {
  if (config.wave_per_eu == First || sizeof...(Rest) == 0)
    return launch_instance<A, R, D, Staged, First>(args, config, stream);
  if constexpr (sizeof...(Rest) > 0)
    return launch_waves<A, R, D, Staged>(List<Rest...>{}, args, config, stream);
  return hipErrorInvalidValue;
}
template <class Set, class A, class R, int First, int... Rest>
hipError_t launch_dims(List<First, Rest...>, const PagedArgs& args, const LaunchConfig& config,
                       hipStream_t stream) {
  using Waves = typename Set::WavesPerEu;
  if (args.head_dim == First) {
    if (config.variant == MQA_VARIANT_STAGED)
      return launch_waves<A, R, First, true>(Waves{}, args, config, stream);
    if constexpr (Set::kDirect) return launch_waves<A, R, First, false>(Waves{}, args, config, stream);
    return hipErrorInvalidValue;
  }
  if constexpr (sizeof...(Rest) > 0) return launch_dims<Set, A, R>(List<Rest...>{}, args, config, stream);
  return hipErrorInvalidValue;
}

// Starts the kernel with rules R and arch layer A.  hipErrorInvalidValue: `Set` has no instance for this
// head_dim or variant. A set with fewer occupancy requests runs its last one for those that it lacks.
template <class R, class Set, class A = Arch>
hipError_t launch_with(const PagedArgs& args, const LaunchConfig& config, hipStream_t stream) {
  if (args.batch == 0) return hipSuccess;
  return launch_dims<Set, A, R>(typename Set::HeadDims{}, args, config, stream);
}

} // namespace mqa
