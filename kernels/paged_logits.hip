// The production instances of the head sum over paged or ragged keys, and the way from a configuration to a
// kernel.
#include "kernels/dispatch.hpp"
#if defined(MQA_PLATFORM_NVIDIA)
#include "kernels/hopper/launch.hpp"
#endif

namespace mqa {

hipError_t launch_paged_logits(const PagedArgs& args, const LaunchConfig& config, hipStream_t stream) {
  if (args.batch == 0) return hipSuccess;
#if defined(MQA_PLATFORM_NVIDIA)
  if (config.variant == MQA_VARIANT_WGMMA) return hopper::launch<Rules>(args, config, stream);
#endif
  if (config.variant == MQA_VARIANT_SCHEDULED) return launch_scheduled_logits(args, config, stream);
  if (config.variant == MQA_VARIANT_GENERAL) return launch_general_logits(args, config, stream);
  switch (config.form) {
  case Form::head_sum: return launch_with<Rules, AllInstances>(args, config, stream);
  case Form::per_head: return launch_per_head_logits(args, config, stream);
  case Form::prefill: return launch_prefill_logits(args, config, stream);
  }
  return hipErrorInvalidValue;
}

} // namespace mqa
