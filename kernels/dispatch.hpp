// From run-time values to a compiled kernel instance.  Production builds every instance; a planted fault
// builds a few.
#pragma once
#include "kernels/launch.hpp"
#include "kernels/paged_logits.hpp"
#include "kernels/per_head_logits.hpp"
#include "kernels/prefill_logits.hpp"

namespace mqa {

template <int... Values> struct List {};
// A kernel of its own per form: which instances there are, and how one is started.  By name, never through a
// pointer to the kernel: under -fsanitize=function clang 19 drops that launch without a word.
struct HeadSumForm {
  static constexpr Form kForm = Form::head_sum;
  template <class A, class R, int D, bool Staged, int WavePerEu>
  static void start(dim3 grid, uint32_t lds_bytes, hipStream_t stream, const PagedArgs& args) {
    paged_logits<A, R, D, Staged, WavePerEu><<<grid, dim3(A::kThreads), lds_bytes, stream>>>(args);
  }
};
struct PerHeadForm {
  static constexpr Form kForm = Form::per_head;
  template <class A, class R, int D, bool Staged, int WavePerEu>
  static void start(dim3 grid, uint32_t lds_bytes, hipStream_t stream, const PagedArgs& args) {
    per_head_logits<A, R, D, Staged, WavePerEu><<<grid, dim3(A::kThreads), lds_bytes, stream>>>(args);
  }
};
struct PrefillForm {
  static constexpr Form kForm = Form::prefill;
  template <class A, class R, int D, bool Staged, int WavePerEu>
  static void start(dim3 grid, uint32_t lds_bytes, hipStream_t stream, const PagedArgs& args) {
    prefill_logits<A, R, D, WavePerEu><<<grid, dim3(A::kThreads), lds_bytes, stream>>>(args);
  }
};
// Every instance of libmqa, and what the lab builds of each planted fault.
struct AllInstances : HeadSumForm {
  using HeadDims = List<32, 64, 128>;
  using WavesPerEu = List<1, 2, 4>;
  static constexpr bool kDirect = true;
};
struct PerHeadInstances : PerHeadForm {
  using HeadDims = List<32, 64, 128>;
  using WavesPerEu = List<2>;
  static constexpr bool kDirect = true;
};
struct PrefillInstances : PrefillForm {
  using HeadDims = List<32, 64, 128>;
  using WavesPerEu = List<1, 2, 4>;
  static constexpr bool kDirect = false;
};
template <class Kind> struct OneInstance : Kind {
  using HeadDims = List<128>;
  using WavesPerEu = List<2>;
  static constexpr bool kDirect = false;
};
using FaultInstances = OneInstance<HeadSumForm>;

template <class Set, class A, class R, int D, bool Staged, int WavePerEu>
hipError_t launch_instance(const PagedArgs& args, const LaunchConfig& config, hipStream_t stream) {
  const dim3 grid(static_cast<uint32_t>(args.batch) * static_cast<uint32_t>(args.splits));
  Set::template start<A, R, D, Staged, WavePerEu>(grid, Staged ? config.lds_bytes : 0, stream, args);
  return hipGetLastError();
}

// Tries the compiled values in turn until one equals the wanted one.
template <class Set, class A, class R, int D, bool Staged, int First, int... Rest>
hipError_t launch_waves(List<First, Rest...>, const PagedArgs& args, const LaunchConfig& config,
                        hipStream_t stream) {
  if (config.wave_per_eu == First || sizeof...(Rest) == 0)
    return launch_instance<Set, A, R, D, Staged, First>(args, config, stream);
  if constexpr (sizeof...(Rest) > 0)
    return launch_waves<Set, A, R, D, Staged>(List<Rest...>{}, args, config, stream);
  return hipErrorInvalidValue;
}
template <class Set, class A, class R, int First, int... Rest>
hipError_t launch_dims(List<First, Rest...>, const PagedArgs& args, const LaunchConfig& config,
                       hipStream_t stream) {
  using Waves = typename Set::WavesPerEu;
  if (args.head_dim == First) {
    if (config.variant == MQA_VARIANT_STAGED)
      return launch_waves<Set, A, R, First, true>(Waves{}, args, config, stream);
    if constexpr (Set::kDirect)
      if (config.variant == MQA_VARIANT_DIRECT)
        return launch_waves<Set, A, R, First, false>(Waves{}, args, config, stream);
    return hipErrorInvalidValue;
  }
  if constexpr (sizeof...(Rest) > 0) return launch_dims<Set, A, R>(List<Rest...>{}, args, config, stream);
  return hipErrorInvalidValue;
}

// Starts the kernel with rules R and arch layer A.  hipErrorInvalidValue: `Set` has no instance for this
// form, head_dim or variant. A set with fewer occupancy requests runs its last one for those that it lacks.
template <class R, class Set, class A = Arch>
hipError_t launch_with(const PagedArgs& args, const LaunchConfig& config, hipStream_t stream) {
  if (config.form != Set::kForm) return hipErrorInvalidValue;
  if (args.batch == 0) return hipSuccess;
  return launch_dims<Set, A, R>(typename Set::HeadDims{}, args, config, stream);
}

} // namespace mqa
