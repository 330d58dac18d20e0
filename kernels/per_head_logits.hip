// The production instances of the per-head form.
#include "kernels/dispatch.hpp"

namespace mqa {

hipError_t launch_per_head_logits(const PagedArgs& args, const LaunchConfig& config, hipStream_t stream) {
  return launch_with<Rules, PerHeadInstances>(args, config, stream);
}

} // namespace mqa
