// Starts the general variant.
#pragma once
#include "kernels/general_logits.hpp"
#include "kernels/launch.hpp"

namespace mqa {

// Rules R, the variant's own decisions G, arch layer A; every form.  hipErrorInvalidValue: the variant is
// another one. One instance, for 4 waves per SIMD, serves the requests for fewer as well.
template <class R, class G = General, class A = Arch>
hipError_t launch_general(const PagedArgs& args, const LaunchConfig& config, hipStream_t stream) {
  if (config.variant != MQA_VARIANT_GENERAL) return hipErrorInvalidValue;
  if (args.batch == 0) return hipSuccess;
  const dim3 grid(static_cast<uint32_t>(args.batch) * static_cast<uint32_t>(args.splits)), block(A::kThreads);
  switch (config.form) {
  case Form::head_sum: general_logits<A, R, G, Form::head_sum, 4><<<grid, block, 0, stream>>>(args); break;
  case Form::per_head: general_logits<A, R, G, Form::per_head, 4><<<grid, block, 0, stream>>>(args); break;
  case Form::prefill: general_logits<A, R, G, Form::prefill, 4><<<grid, block, 0, stream>>>(args); break;
  }
  return hipGetLastError();
}

} // namespace mqa
