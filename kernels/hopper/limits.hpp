// What the wgmma variant can take, as plain numbers for the host.
#pragma once
#include "kernels/mqa.h"

#include <cstdint>

namespace mqa::hopper {

inline constexpr int kTileTokens = 64, kHeadDim = 128;
inline constexpr int kMathThreads = 128,
                     kThreads = kMathThreads + 32; // a warpgroup computes, a warp feeds it
inline constexpr int kMostSequences = 1024;        // lengths of all sequences are kept in shared memory
inline constexpr int kTileBytes = kTileTokens * (kHeadDim + 4);
inline constexpr int kTileSpacing =
    (kTileBytes + 1023) / 1024 * 1024; // the matrix unit's swizzle repeats every 1024 bytes
inline constexpr int kMostHeads = 128; // two groups of a row
inline constexpr int kLeastStages = 3, kMostStages = 8;
inline constexpr int kSharedBytesPerSm = 227 << 10;
inline constexpr int kScheduleBytes =
    kMostSequences * 4 + 2048; // with what the system reserves and alignment

// Queries go to the matrix unit in groups of this many heads; a row has one group, or two for more than 64
// heads.
inline constexpr int heads_of_group(int heads) { return heads <= 32 ? 32 : 64; }
inline constexpr int parts_of_row(int heads) { return heads <= 64 ? 1 : 2; }
// Queries, weights and limits of one sequence.
inline constexpr int64_t staged_bytes(int64_t next_n, int heads) {
  return next_n *
         (parts_of_row(heads) * heads_of_group(heads) * (kHeadDim + static_cast<int64_t>(sizeof(float))) +
          static_cast<int64_t>(sizeof(int32_t)));
}
// Stages that fit when `workers` share an SM; below kLeastStages the call cannot be served so.
inline constexpr int stages_for(int workers, int64_t staged) {
  const int64_t room = kSharedBytesPerSm / workers - kScheduleBytes - staged;
  const int64_t stages = room / kTileSpacing;
  return static_cast<int>(stages < kMostStages ? stages : kMostStages);
}

} // namespace mqa::hopper
