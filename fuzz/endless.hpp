// See endless.hip.
#pragma once
#include "kernels/launch.hpp"

namespace mqalab {

hipError_t launch_endless(const mqa::PagedArgs&, const mqa::LaunchConfig&, hipStream_t);

} // namespace mqalab
