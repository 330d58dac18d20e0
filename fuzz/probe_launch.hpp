// One instruction of a unit per dot; see probe.hip.
#pragma once
#include "fuzz/probe.hpp"

#include <hip/hip_runtime_api.h>

namespace mqalab {

// Device pointers.  hipErrorInvalidValue: a unit that this build's kernels do not use.
hipError_t launch_probe(Unit, const FusedDot* dots, float* sums, int count);

} // namespace mqalab
