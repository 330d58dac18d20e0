// The production instance of the cache writer.
#include "kernels/cache_write.hpp"
#include "kernels/launch.hpp"

namespace mqa {

hipError_t launch_cache_write(const mqa_cache_write_args& args, hipStream_t stream) {
  return launch_cache_write_with<CacheWriteRules>(args, stream);
}

} // namespace mqa
