// The schedule of the scheduled variant, as pure functions for host and device.  The chunks of all sequences
// stand in one row, in the order of the sequences; every worker owns a consecutive share of it.  Lengths are
// only known on the device, so each worker finds its share by itself, walking over windows of sequences.
// Totals are 64-bit: 2^31 sequences of 2^18 chunks are legal.
#pragma once
#include "kernels/rules.hpp"

namespace mqa {

struct ChunkShare {
  int64_t begin, end; // in the row of all chunks
};

struct Schedule {
  // Shares differ by at most one; with fewer chunks than workers some own none.
  MQA_HD static constexpr ChunkShare share(int64_t chunks, int64_t workers, int64_t worker) {
    const int64_t each = chunks / workers, extra = chunks % workers;
    const int64_t begin = worker * each + least(worker, extra);
    return {begin, begin + each + (worker < extra ? 1 : 0)};
  }
  // The part of a share that lies in a window of `count` chunks; both counted from the window's first chunk.
  MQA_HD static constexpr Range part_of_window(ChunkShare share, int32_t count) {
    const int64_t begin = least<int64_t>(most<int64_t>(share.begin, 0), count);
    return {static_cast<int32_t>(begin), static_cast<int32_t>(most(least<int64_t>(share.end, count), begin))};
  }
  // The share, counted from the next window's first chunk.
  MQA_HD static constexpr ChunkShare seen_from_next(ChunkShare share, int32_t count) {
    return {share.begin - count, share.end - count};
  }
  // Whether a part begins in the sequence that owns chunks [before, after) of the window.
  MQA_HD static constexpr bool begins_in(Range part, int32_t before, int32_t after) {
    return part.begin >= before && part.begin < after;
  }
  MQA_HD static constexpr int64_t sequence_of(int64_t first_of_window, int index) {
    return first_of_window + index;
  }
  // The sequence's own chunks [0, after - before) that belong to the part.
  MQA_HD static constexpr Range part_of_sequence(Range part, int32_t before, int32_t after) {
    return {most(part.begin, before) - before, least(part.end, after) - before};
  }
  // Columns behind those with values; the workers share them as they share the chunks.
  MQA_HD static constexpr int32_t tail_columns(int32_t tail_end, int32_t needed) {
    return most(0, tail_end - needed);
  }
  // Between the last use of a sequence's queries in LDS and the staging of the next one's.
  template <class Arch> static MQA_HD void before_staging() { Arch::barrier(); }
};

// LDS of a worker besides its queries: sequences of one window, one a thread.
template <class Arch> struct Window {
  static constexpr int kSequences = Arch::kThreads, kWaves = Arch::kThreads / Arch::kLanes;
  int64_t wave_total[kWaves];
  int32_t before[kSequences + 1]; // chunks of the window ahead of each sequence; the last entry: all of them
  int32_t first;                  // sequence of the window in which the worker's part begins
};
// In front of the queries, which start at a multiple of 16 bytes.
template <class Arch>
inline constexpr uint32_t kWindowBytes = ceil_div<uint32_t>(sizeof(Window<Arch>), 16) * 16;

} // namespace mqa
