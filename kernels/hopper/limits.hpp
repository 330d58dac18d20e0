// What the wgmma variant can take, as plain numbers for the host.
#pragma once
#include "kernels/mqa.h"

#include <cstdint>

namespace mqa::hopper {

inline constexpr int kTileTokens = 64, kThreads = 128, kHeadDim = 128;
inline constexpr int kMostSequences = 1024;               // lengths of all sequences are kept in shared memory
inline constexpr int kMostSharedBytes = 200 << 10;        // queries and weights of a sequence
inline constexpr int kSharedBytesPerSm = 227 << 10;
inline constexpr int kScheduleBytes = kMostSequences * 4 + 2048;  // with what the system reserves and alignment

// Queries go to the matrix unit in groups of this many heads; a row has one group, or two for more than 64 heads.
inline constexpr int heads_of_group(int heads) { return heads <= 32 ? 32 : 64; }
inline constexpr int parts_of_row(int heads) { return heads <= 64 ? 1 : 2; }
inline constexpr int64_t shared_bytes(int64_t next_n, int heads) {
  return next_n * parts_of_row(heads) * heads_of_group(heads) * (kHeadDim + static_cast<int64_t>(sizeof(float)));
}
// Workers that fit one SM when `wanted` are asked for.
inline constexpr int workers_per_sm(int wanted, int64_t shared) {
  const auto fit = static_cast<int>(kSharedBytesPerSm / (shared + kScheduleBytes));
  return fit < wanted ? fit : wanted;
}

}  // namespace mqa::hopper
