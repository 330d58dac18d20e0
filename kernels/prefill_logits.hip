// The production instances of the prefill form.
#include "kernels/dispatch.hpp"

namespace mqa {

hipError_t launch_prefill_logits(const PagedArgs& args, const LaunchConfig& config, hipStream_t stream) {
  return launch_with<Rules, PrefillInstances>(args, config, stream);
}

} // namespace mqa
