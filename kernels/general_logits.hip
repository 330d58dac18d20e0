// The production instances of the general variant.
#include "kernels/general_launch.hpp"

namespace mqa {

hipError_t launch_general_logits(const PagedArgs& args, const LaunchConfig& config, hipStream_t stream) {
  return launch_general<Rules>(args, config, stream);
}

} // namespace mqa
