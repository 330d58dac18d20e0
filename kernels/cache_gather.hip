// The production instance of the gather.
#include "kernels/cache_gather.hpp"
#include "kernels/launch.hpp"

namespace mqa {

hipError_t launch_cache_gather(const mqa_cache_gather_args& args, hipStream_t stream) {
  return launch_cache_gather_with<CacheGatherRules>(args, stream);
}

} // namespace mqa
