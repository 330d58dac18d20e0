// The production instances of the scheduled variant.
#include "kernels/scheduled_launch.hpp"

namespace mqa {

hipError_t launch_scheduled_logits(const PagedArgs& args, const LaunchConfig& config, hipStream_t stream) {
  return launch_scheduled<Rules, AllInstances>(args, config, stream);
}

} // namespace mqa
