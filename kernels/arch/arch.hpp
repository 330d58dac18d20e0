// The one place that says which arch layer this build uses, and what host code needs to know of it.
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

namespace mqa {

// LDS of the staged variant, in bytes: all heads of all rows, padded to whole tiles, and their weights.
inline int64_t staged_lds_bytes(int64_t next_n, int heads, int head_dim) {
  const int64_t padded_heads = next_n * Rules::head_tiles(heads) * kHeadTile;
  return padded_heads * (head_dim * Arch::kStagedBytesPerDim + static_cast<int64_t>(sizeof(float)));
}

} // namespace mqa
