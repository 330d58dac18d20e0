// Top-k of rows, the kernel: an exact radix select, a block per row.  The row is read once per digit to find
// the key at which the selection ends, counting in a histogram in LDS, and once more to write the columns
// above it; in order, once before that to count what each wave will write.  Nothing is kept between passes
// but the threshold, so no row is too long and no tie too wide.  The file runs: place, load, walk, count,
// find, write, kernel, launch.
#pragma once
#include "kernels/arch/arch.hpp"
#include "kernels/launch.hpp"
#include "kernels/top_k_rules.hpp"

#include <hip/hip_runtime.h>

namespace mqa {

inline constexpr int kTopKBins = 1 << 11;
inline constexpr int kTopKMostThreads = 1024, kTopKFewThreads = 512;
inline constexpr int kTopKMostWaves = kTopKMostThreads / Arch::kLanes;
// Rows beyond this many go on in the grid's second dimension: in one, 2^31 rows have more threads than a
// launch can.
inline constexpr int64_t kTopKGridWidth = 65535;
// Rows up to this width get the small block: several fit a compute unit, and a pass over the row is short.
// Measured on an H200: of 8192 columns and less it serves many rows faster and few as fast, of 32768 and more
// it serves few slower.
inline constexpr int64_t kTopKNarrow_columns = 16384;

struct TopKCounts {
  int32_t above, ties;
  friend __device__ TopKCounts operator+(TopKCounts a, TopKCounts b) {
    return {a.above + b.above, a.ties + b.ties};
  }
};
struct TopKShared {
  uint32_t histogram[kTopKBins];
  uint32_t of_wave[2][kTopKMostWaves]; // what each wave holds, of bins or of columns to write
  TopKCounts claimed;                  // without order: what waves took so far
  Threshold threshold;
};

// ---- place ----
struct TopKRow {
  const float* logits; // column 0
  int32_t* indices;
  int32_t first, limit, k;
  int32_t begin; // first, moved left to where a load of 16 bytes is aligned; may be negative
};
template <class R> __device__ TopKRow top_k_row(const mqa_top_k_args& a, int64_t row) {
  const float* logits = a.logits + R::logit_offset(a, row);
  const int32_t first = R::first(a, row);
  const auto misaligned =
      static_cast<int32_t>(reinterpret_cast<uintptr_t>(logits + first) / sizeof(float) % 4);
  return {logits, a.indices + R::index_offset(a, row), first, R::limit(a, row), a.k, first - misaligned};
}
// Batch: loads that a thread has in flight.
template <int Threads, int Batch> struct TopKThread {
  static constexpr int threads = Threads, waves = Threads / Arch::kLanes, bins = kTopKBins / Threads,
                       batch = Batch;
  int32_t id, lane, wave;
};
template <class Arch, int Threads, int Batch> __device__ TopKThread<Threads, Batch> top_k_thread() {
  const auto id = static_cast<int32_t>(threadIdx.x);
  return {id, id % Arch::kLanes, Arch::uniform(id / Arch::kLanes)};
}

// ---- load ----
// Keys of four adjacent columns from an aligned one on; 0 for what is no candidate, whose memory is not read.
struct Keys {
  uint32_t key[4];
};
template <class R> __device__ Keys load_four(const TopKRow& row, int32_t column) {
  const uint4 bits = *reinterpret_cast<const uint4*>(row.logits + column);
  return {{R::key_of(bits.x), R::key_of(bits.y), R::key_of(bits.z), R::key_of(bits.w)}};
}
template <class R> __device__ bool are_candidates(const TopKRow& row, int32_t begin, int32_t end) {
  return R::is_candidate(begin, row.first, row.limit) && R::is_candidate(end - 1, row.first, row.limit);
}
template <class R> __device__ Keys load_keys(const TopKRow& row, int32_t column) {
  if (are_candidates<R>(row, column, column + 4)) return load_four<R>(row, column);
  Keys keys = {};
  for (int i = 0; i < 4; ++i)
    if (R::is_candidate(column + i, row.first, row.limit))
      keys.key[i] = R::key_of(reinterpret_cast<const uint32_t*>(row.logits)[column + i]);
  return keys;
}

// ---- walk ----
// Calls body(keys, first column) for the columns of this wave, its share of the row, tile by tile from left
// to right; whole waves at a time.  Where a batch of tiles holds nothing but candidates, its loads come
// first.
template <class Arch, class R, class Thread, class Body>
__device__ void walk(const TopKRow& row, const Thread& me, Body body) {
  constexpr int32_t tile = 4 * Arch::kLanes, batch = Thread::batch * tile;
  const int32_t share = ceil_div(row.limit - row.begin, tile * Thread::waves) * tile;
  int32_t begin = row.begin + me.wave * share;
  const int32_t end = least(begin + share, row.limit);
  while (begin < end) {
    const int32_t column = begin + 4 * me.lane;
    if (begin + batch <= end && are_candidates<R>(row, begin, begin + batch)) {
      Keys keys[Thread::batch];
#pragma unroll
      for (int i = 0; i < Thread::batch; ++i) keys[i] = load_four<R>(row, column + i * tile);
#pragma unroll
      for (int i = 0; i < Thread::batch; ++i) body(keys[i], column + i * tile);
      begin += batch;
    } else {
      body(load_keys<R>(row, column), column);
      begin += tile;
    }
  }
}

// ---- count ----
// A histogram of one digit over the keys that agree with the threshold so far.
template <class Arch, class R, class Thread>
__device__ void count_digit(TopKShared& lds, const Thread& me, const TopKRow& row, const Threshold& t,
                            int bits) {
  const int32_t shift = t.shift - bits;
  walk<Arch, R>(row, me, [&](const Keys& keys, int32_t) {
    for (const uint32_t key : keys.key)
      if (uint64_t{key} >> t.shift == t.prefix)
        atomicAdd(&lds.histogram[key >> shift & ((1u << bits) - 1)], 1u);
  });
}

// ---- find ----
// Sum over this lane and those below it, of which the first `Lanes` count.
template <class Arch, int Lanes> __device__ uint32_t inclusive_sum(uint32_t x, int lane) {
  for (int distance = 1; distance < Lanes; distance *= 2) {
    const auto other =
        static_cast<uint32_t>(Arch::shuffle(static_cast<int32_t>(x), (lane - distance) & (Arch::kLanes - 1)));
    x += lane >= distance ? other : 0;
  }
  return x;
}
// What the waves before this one hold together, of one word a wave in LDS.
template <class Arch, class Thread>
__device__ uint32_t of_waves_before(const uint32_t* of_wave, const Thread& me) {
  const uint32_t own = of_wave[me.lane % Thread::waves],
                 sums = inclusive_sum<Arch, Thread::waves>(own, me.lane);
  return static_cast<uint32_t>(Arch::shuffle(static_cast<int32_t>(sums - own), me.wave));
}
// The bin in which the quota is used up, counted from the highest; every thread owns a few adjacent bins.
// Empties the histogram.  The whole block calls it between two barriers of its own.
template <class Arch, class R, class Thread>
__device__ Threshold find_bin(TopKShared& lds, const Thread& me, const Threshold& t, int bits) {
  constexpr int own = Thread::bins;
  const int top = kTopKBins - 1 - me.id * own;
  uint32_t sum = 0;
  for (int i = 0; i < own; ++i) sum += lds.histogram[top - i];
  const uint32_t inclusive = inclusive_sum<Arch, Arch::kLanes>(sum, me.lane);
  if (me.lane == Arch::kLanes - 1) lds.of_wave[0][me.wave] = inclusive;
  Arch::barrier();
  uint32_t above = of_waves_before<Arch>(lds.of_wave[0], me) + inclusive - sum;
  const auto quota = static_cast<uint32_t>(t.quota);
  const bool ends_here = above < quota && quota <= above + sum;
  for (int i = 0; i < own; ++i) {
    const uint32_t count = lds.histogram[top - i];
    lds.histogram[top - i] = R::emptied(count);
    if (ends_here && above < quota && quota <= above + count)
      lds.threshold = {t.prefix << bits | static_cast<uint32_t>(top - i), t.shift - bits,
                       static_cast<int32_t>(quota - above), static_cast<int32_t>(count)};
    above += count;
  }
  Arch::barrier();
  return lds.threshold;
}
// Digit after digit, until a bin is taken whole.
template <class Arch, class R, class Thread>
__device__ Threshold find_threshold(TopKShared& lds, const Thread& me, const TopKRow& row) {
  Threshold t{0, 32, row.k, 0};
  for (int digit = 0; digit < R::digits() && t.ties != t.quota; ++digit) {
    count_digit<Arch, R>(lds, me, row, t, R::digit_bits(digit));
    Arch::barrier();
    t = find_bin<Arch, R>(lds, me, t, R::digit_bits(digit));
  }
  return t;
}

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
