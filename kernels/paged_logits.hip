// The production instances of the kernel.
#include "kernels/dispatch.hpp"

namespace mqa {

hipError_t launch_paged_logits(const PagedArgs& args, const LaunchConfig& config, hipStream_t stream) {
  return launch_with<Rules, AllInstances>(args, config, stream);
}

}  // namespace mqa
