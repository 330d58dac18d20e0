// For oracle_test: a kernel that never ends.  Only the simulator, which counts instructions, can be given it.
#include "fuzz/endless.hpp"

#include <hip/hip_runtime.h>

namespace mqalab {
namespace {

__global__ void endless(volatile float* logits) {
  while (*logits != 1.0f) {
  }
}

} // namespace

hipError_t launch_endless(const mqa::PagedArgs& args, const mqa::LaunchConfig&, hipStream_t stream) {
  endless<<<dim3(1), dim3(64), 0, stream>>>(args.logits);
  return hipGetLastError();
}

} // namespace mqalab
