// Top-k of rows, first half: the key at which a row's selection ends, by an exact radix select.  The row is
// read once per digit, counting in a histogram in LDS.  Nothing is kept between passes but the threshold, so
// no row is too long and no tie too wide.  The file runs: place, load, walk, count, find.
#pragma once
#include "kernels/arch/arch.hpp"
#include "kernels/top_k_rules.hpp"

#include <hip/hip_runtime.h>

namespace mqa {

inline constexpr int kTopKBins = 1 << 11;
inline constexpr int kTopKMostThreads = 1024, kTopKFewThreads = 512;
inline constexpr int kTopKMostWaves = kTopKMostThreads / Arch::kLanes;

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

} // namespace mqa
