// The production instance of the head sum.
#include "kernels/head_sum.hpp"
#include "kernels/launch.hpp"

namespace mqa {

hipError_t launch_head_sum(const mqa_head_sum_args& args, hipStream_t stream) {
  return launch_head_sum_with<SumRules>(args, stream);
}

} // namespace mqa
