// Prefill logits: rows against contiguous keys, each row with a range of its own.  A block serves a tile of
// rows for one split of the keys that any of them sees; units that no row sees are skipped, and so are rows
// that do not see a unit.  Tails are written apart from the values, because a row's values may have columns
// on both sides.
#pragma once
#include "kernels/paged_logits.hpp"

namespace mqa {

// The keys that the rows of a tile see.  The array is a named one, so that its address costs no register.
template <class Arch, class R> struct RowRanges {
  const Range (&row)[kMostTileRows];
  int count;

  __device__ bool row_meets(int n, int32_t begin, int32_t end) const {
    return R::meets({Arch::uniform(row[n].begin), Arch::uniform(row[n].end)}, begin, end);
  }
  __device__ bool any_meets(int32_t begin, int32_t end) const {
    for (int n = 0; n < count; ++n)
      if (row_meets(n, begin, end)) return true;
    return false;
  }
  __device__ Range hull() const {
    Range all{0, 0};
    for (int n = 0; n < count; ++n) all = R::joined(all, row[n]);
    return {Arch::uniform(all.begin), Arch::uniform(all.end)};
  }
};

// Tokens before first_key and from tokens.end on belong to no row of the unit: they are not read.
template <class Arch, class R, int D>
__device__ void serve_keys(const PagedArgs& a, const Place& at, const StagedQueries<Arch, R, D>& queries,
                           const RowRanges<Arch, R>& ranges, Range tokens, int32_t first_key) {
  const float factor = Arch::value_factor(R::query_is_fnuz(a)) * Arch::value_factor(R::key_is_fnuz(a));
  constexpr int kWaves = Arch::kThreads / Arch::kLanes;
  for (int32_t unit = tokens.begin + at.wave * Arch::kLanes; unit < tokens.end;
       unit += kWaves * Arch::kLanes) {
    if (!ranges.any_meets(unit, unit + Arch::kLanes)) continue;
    const int32_t own = unit + Arch::lane_token(at.lane);
    const bool needed = own >= first_key && own < tokens.end;
    const auto keys = load_keys<Arch, R, D>(a, at.lane, own, needed ? own : -1);
    for (int n = 0; n < ranges.count; ++n) {
      if (!ranges.row_meets(n, unit, unit + Arch::kLanes)) continue;
      const float sum = factor * head_sum<Arch, R, D>(a, queries, keys, n, at.lane);
      const Range seen = ranges.row[n];
      if (own >= seen.begin && R::visible(own, seen.end))
        R::store(a.logits, R::logit_offset(a, at.sequence * a.next_n + n, R::column_of(a, seen, own)),
                 R::scaled(sum, keys.scale));
    }
  }
}

// Columns of the tile's rows that hold no value; the splits share them evenly.
template <class Arch, class R>
__device__ void fill_outside(const PagedArgs& a, const Place& at, const RowRanges<Arch, R>& ranges) {
  if (!R::fills_tail(a)) return;
  for (int n = 0; n < ranges.count; ++n) {
    const Range seen = ranges.row[n];
    const Range values{R::column_of(a, seen, seen.begin), R::column_of(a, seen, seen.end)};
    const int32_t before = R::columns_before(values);
    const Range share = R::split_range(before + most(0, R::tail_end(a) - values.end), a.splits, at.split);
    for (int32_t i = share.begin + at.thread; i < share.end; i += Arch::kThreads)
      R::store(a.logits,
               R::logit_offset(a, at.sequence * a.next_n + n, i < before ? i : i - before + values.end),
               kNegInf);
  }
}

template <class Arch, class R, int D, int WavePerEu>
__global__ __launch_bounds__(Arch::kThreads, WavePerEu) void prefill_logits(const PagedArgs a) {
  extern __shared__ __align__(16) unsigned char lds[];
  __shared__ Range seen[kMostTileRows];
  const Place at = place<Arch>(a);
  const StagedQueries<Arch, R, D> staged(a, lds);
  staged.fill(DirectQueries<Arch, R, D>{a, at.sequence}, a, at.thread);
  const RowRanges<Arch, R> ranges{seen, R::tile_rows(a, at.sequence)};
  for (int n = at.thread; n < ranges.count; n += Arch::kThreads)
    seen[n] = row_keys<R>(a, at.sequence * a.next_n + n);
  Arch::barrier();
  // Whole units from a multiple of a unit on, so that a wave's stores are as aligned as the rows of the
  // output.
  const Range hull = ranges.hull();
  const int32_t begin = hull.begin / Arch::kLanes * Arch::kLanes;
  const Range chunks = R::split_range(R::chunk_count(hull.end - begin, a.chunk_tokens), a.splits, at.split);
  const Range tokens = R::token_range(chunks, a.chunk_tokens, hull.end - begin);
  serve_keys<Arch, R, D>(a, at, staged, ranges, {begin + tokens.begin, begin + tokens.end}, hull.begin);
  fill_outside<Arch, R>(a, at, ranges);
}

} // namespace mqa
