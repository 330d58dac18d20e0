// The production instance of top-k.
#include "kernels/top_k.hpp"

namespace mqa {

hipError_t launch_top_k(const mqa_top_k_args& args, hipStream_t stream) {
  return launch_top_k_with<TopKRules>(args, stream);
}

} // namespace mqa
