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
inline constexpr int kMostHeads = 128; // columns of a product
inline constexpr int kLeastStages = 3, kMostStages = 8;
inline constexpr int kSharedBytesPerSm = 227 << 10;
inline constexpr int kScheduleBytes =
    kMostSequences * 4 + 2048; // with what the system reserves and alignment

// A row has 32, 64 or 128 columns in a product, whatever its heads, and a product up to 128 columns of whole
// rows.
inline constexpr int columns_of_row(int heads) { return heads <= 32 ? 32 : heads <= 64 ? 64 : 128; }
inline constexpr int rows_of_product(int64_t next_n, int heads) {
  const int most = 128 / columns_of_row(heads);
  return next_n == 1 ? 1 : next_n == 2 && most > 2 ? 2 : most;
}
inline constexpr int64_t products_of_sequence(int64_t next_n, int heads) {
  return (next_n + rows_of_product(next_n, heads) - 1) / rows_of_product(next_n, heads);
}
// Queries, weights (spaced, see Staged) and limits of one sequence.
inline constexpr int64_t staged_bytes(int64_t next_n, int heads) {
  const int64_t rows = products_of_sequence(next_n, heads) * rows_of_product(next_n, heads);
  const int64_t columns = columns_of_row(heads);
  return rows * (columns * kHeadDim + (columns + 16) * static_cast<int64_t>(sizeof(float))) +
         next_n * static_cast<int64_t>(sizeof(int32_t));
}
// Stages that fit when `workers` share an SM; below kLeastStages the call cannot be served so.
inline constexpr int stages_for(int workers, int64_t staged) {
  const int64_t room = kSharedBytesPerSm / workers - kScheduleBytes - staged;
  const int64_t stages = room / kTileSpacing;
  return static_cast<int>(stages < kMostStages ? stages : kMostStages);
}

} // namespace mqa::hopper
