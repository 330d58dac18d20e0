// Top-k of rows, the kernel: a block a row finds the threshold (top_k_select.hpp) and writes the columns
// above it; in order, it counts before what each wave will write.  The file runs: write, kernel, launch.
#pragma once
#include "kernels/launch.hpp"
#include "kernels/top_k_select.hpp"

namespace mqa {

// ---- write ----
__device__ inline bool is_above(uint32_t key, const Threshold& t) { return key >> t.shift > t.prefix; }
__device__ inline bool is_tie(uint32_t key, const Threshold& t) { return key >> t.shift == t.prefix; }

// What lower lanes and the whole wave hold of a tile.
struct WaveCounts {
  TopKCounts lower, all;
};
template <class Arch> __device__ WaveCounts wave_counts(const Keys& keys, const Threshold& t, int lane) {
  WaveCounts c = {};
  for (const uint32_t key : keys.key) {
    const typename Arch::Lanes above = Arch::ballot(is_above(key, t)), ties = Arch::ballot(is_tie(key, t));
    c.lower.above += Arch::count_below(above, lane), c.lower.ties += Arch::count_below(ties, lane);
    c.all.above += Arch::count(above), c.all.ties += Arch::count(ties);
  }
  return c;
}

// Writes the selected of a thread's four columns; `before`: how many there are in front of them. `ties_from`:
// the first position of ties when they stand apart, or -1 when positions follow the order of columns.
template <class R>
__device__ void write_columns(const TopKRow& row, const Threshold& t, const Keys& keys, int32_t column,
                              TopKCounts before, int32_t ties_from) {
  for (int i = 0; i < 4; ++i) {
    const int32_t taken = R::ties_taken(before.ties, t), reported = R::reported(column + i, row.first);
    const bool apart = ties_from >= 0;
    if (is_above(keys.key[i], t)) {
      R::store(row.indices, apart ? before.above : before.above + taken, reported);
      ++before.above;
    } else if (is_tie(keys.key[i], t)) {
      if (R::ties_taken(before.ties + 1, t) > taken)
        R::store_tie(row.indices, (apart ? ties_from : before.above) + taken, reported, before.ties, t);
      ++before.ties;
    }
  }
}

// What the waves before this one are going to write.
template <class Arch, class R, class Thread>
__device__ TopKCounts counts_before(TopKShared& lds, const Thread& me, const TopKRow& row,
                                    const Threshold& t) {
  TopKCounts own = {};
  walk<Arch, R>(row, me, [&](const Keys& keys, int32_t) {
    for (const uint32_t key : keys.key) own.above += is_above(key, t), own.ties += is_tie(key, t);
  });
  const uint32_t above = inclusive_sum<Arch, Arch::kLanes>(static_cast<uint32_t>(own.above), me.lane),
                 ties = inclusive_sum<Arch, Arch::kLanes>(static_cast<uint32_t>(own.ties), me.lane);
  if (me.lane == Arch::kLanes - 1) lds.of_wave[0][me.wave] = above, lds.of_wave[1][me.wave] = ties;
  Arch::barrier();
  return {static_cast<int32_t>(of_waves_before<Arch>(lds.of_wave[0], me)),
          static_cast<int32_t>(of_waves_before<Arch>(lds.of_wave[1], me))};
}
// Positions for a wave's tile, whichever wave comes first.
template <class Arch> __device__ TopKCounts claim(TopKShared& lds, TopKCounts wanted, int lane) {
  TopKCounts start = {};
  if (lane == 0)
    start = {atomicAdd(&lds.claimed.above, wanted.above), atomicAdd(&lds.claimed.ties, wanted.ties)};
  return {Arch::uniform(start.above), Arch::uniform(start.ties)};
}
// Ascending, or in any order with those that tie behind all others.
template <class Arch, class R, class Thread>
__device__ void write_selected(TopKShared& lds, const Thread& me, const TopKRow& row, const Threshold& t,
                               bool ascending) {
  TopKCounts before = {};
  if (ascending) before = counts_before<Arch, R>(lds, me, row, t);
  walk<Arch, R>(row, me, [&](const Keys& keys, int32_t column) {
    const WaveCounts mine = wave_counts<Arch>(keys, t, me.lane);
    if (mine.all.above + mine.all.ties == 0) return;
    const TopKCounts start = ascending ? before : claim<Arch>(lds, mine.all, me.lane);
    write_columns<R>(row, t, keys, column, start + mine.lower, ascending ? -1 : row.k - t.quota);
    before = before + mine.all;
  });
}
// All candidates, then padding.
template <class R, class Thread> __device__ void write_all(const Thread& me, const TopKRow& row) {
  const int32_t candidates = row.limit - row.first;
  for (int32_t i = me.id; i < row.k; i += Thread::threads)
    R::store(row.indices, i, i < candidates ? R::reported(row.first + i, row.first) : R::padding());
}

// ---- kernel ----
template <class Arch, class R, int Threads, int Batch>
__global__ void __launch_bounds__(Threads) top_k(const mqa_top_k_args a) {
  __shared__ TopKShared lds;
  const int64_t i = int64_t{blockIdx.y} * gridDim.x + blockIdx.x;
  if (i >= int64_t{a.batch} * a.next_n) return;
  const auto me = top_k_thread<Arch, Threads, Batch>();
  const TopKRow row = top_k_row<R>(a, i);
  if (R::takes_all(row.limit - row.first, row.k)) return write_all<R>(me, row);
  for (int bin = me.id; bin < kTopKBins; bin += Threads) lds.histogram[bin] = 0;
  if (me.id == 0) lds.claimed = {};
  Arch::barrier();
  const Threshold t = find_threshold<Arch, R>(lds, me, row);
  write_selected<Arch, R>(lds, me, row, t, a.stable);
}

// ---- launch ----
// Rows beyond this many go on in the grid's second dimension: in one, 2^31 rows have more threads than a
// launch can.
inline constexpr int64_t kTopKGridWidth = 65535;
// Rows up to this width get the small block: several fit a compute unit, and a pass over the row is short.
// Measured on an H200: of 8192 columns and less it serves many rows faster and few as fast, of 32768 and more
// it serves few slower.
inline constexpr int64_t kTopKNarrow_columns = 16384;

template <class R, class A = Arch>
hipError_t launch_top_k_with(const mqa_top_k_args& args, hipStream_t stream) {
  const int64_t rows = int64_t{args.batch} * args.next_n;
  if (rows == 0) return hipSuccess;
  const int64_t wide = least(rows, kTopKGridWidth);
  const dim3 grid(static_cast<uint32_t>(wide), static_cast<uint32_t>(ceil_div(rows, wide)));
  if (args.columns <= kTopKNarrow_columns)
    top_k<A, R, kTopKFewThreads, 2><<<grid, dim3(kTopKFewThreads), 0, stream>>>(args);
  else
    top_k<A, R, kTopKMostThreads, 4><<<grid, dim3(kTopKMostThreads), 0, stream>>>(args);
  return hipGetLastError();
}

} // namespace mqa
