// The production instances of the kernel.
#include "kernels/dispatch.hpp"
#if defined(MQA_PLATFORM_NVIDIA)
#include "kernels/hopper/launch.hpp"
#endif

namespace mqa {

hipError_t launch_paged_logits(const PagedArgs& args, const LaunchConfig& config, hipStream_t stream) {
#if defined(MQA_PLATFORM_NVIDIA)
  if (config.variant == MQA_VARIANT_WGMMA)
    return args.batch ? hopper::launch<Rules>(args, config, stream) : hipSuccess;
#endif
  return launch_with<Rules, AllInstances>(args, config, stream);
}

} // namespace mqa
