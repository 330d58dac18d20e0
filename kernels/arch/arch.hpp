// The one place that says which arch layer this build uses.
#pragma once
#if defined(MQA_PLATFORM_NVIDIA)
#include "kernels/arch/nvidia.hpp"
namespace mqa {
using Arch = Nvidia;
}
#else
#include "kernels/arch/amd.hpp"
namespace mqa {
using Arch = Amd;
}
#endif
