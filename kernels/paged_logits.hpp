// Fused paged MQA logits, the kernel.  A block serves all next_n rows of one sequence for one split of its
// chunks; its waves take units of kLanes tokens in turn.  A unit's keys are loaded once and stay in registers
// while every row and every tile of 16 heads passes over them.  The file runs: place, sums, stores, kernel.
#pragma once
#include "kernels/keys.hpp"
#include "kernels/queries.hpp"

namespace mqa {

inline constexpr float kNegInf = -__builtin_inff();

// ---- place
// ----------------------------------------------------------------------------------------------------
struct Place {
  int64_t sequence;
  int32_t split, thread, lane, wave;
};
template <class Arch> __device__ Place place(const PagedArgs& a) {
  const auto block = static_cast<int32_t>(blockIdx.x), thread = static_cast<int32_t>(threadIdx.x);
  return {block % a.batch, block / a.batch, thread, thread % Arch::kLanes,
          Arch::uniform(thread / Arch::kLanes)};
}
// ---- sums
// ----------------------------------------------------------------------------------------------------- Adds
// up the quarters: each lane starts with 4 slots' partial sums and ends with the whole sum of its own token.
// Scalars by value, because selects between array elements become long chains of compares.
template <class Arch> __device__ float reduce(float s0, float s1, float s2, float s3, int lane) {
  const bool upper = Arch::quarter(lane) & 2, odd = Arch::quarter(lane) & 1;
  const float even_sum = (upper ? s2 : s0) + Arch::exchange(upper ? s0 : s2, lane, 2);
  const float odd_sum = (upper ? s3 : s1) + Arch::exchange(upper ? s1 : s3, lane, 2);
  return (odd ? odd_sum : even_sum) + Arch::exchange(odd ? even_sum : odd_sum, lane, 1);
}

// Sum over heads of relu(dot) * weight for the token that this lane owns, row n.
template <class Arch, class R, int D, class Queries>
__device__ float head_sum(const PagedArgs& a, const Queries& queries, const Keys<Arch, D>& keys, int n,
                          int lane) {
  using Pair = typename Arch::Pair;
  Pair sums[Arch::kSlots] = {};
  for (int tile = 0; tile < R::head_tiles(a.heads); ++tile) {
    const auto query = queries.fragment(n, tile, lane);
    const Pair weights[2] = {queries.weights(n, tile, lane, 0), queries.weights(n, tile, lane, 1)};
    const auto product = Arch::template product<D>(keys.slot, query);
    for (int slot = 0; slot < Arch::kSlots; ++slot)
      for (int half = 0; half < 2; ++half)
        sums[slot] = R::template add_heads<Arch>(sums[slot], Arch::pair(product, slot, half), weights[half]);
  }
  return reduce<Arch>(sums[0].x + sums[0].y, sums[1].x + sums[1].y, sums[2].x + sums[2].y,
                      sums[3].x + sums[3].y, lane);
}

// ---- stores
// --------------------------------------------------------------------------------------------------- Column
// `position` of row n: its logit where the row may see it, else -inf when the tail is to be filled.
template <class R>
__device__ void store_logit(const PagedArgs& a, const Sequence& s, int n, int32_t position, int32_t end,
                            float logit) {
  const int64_t row = s.index * a.next_n + n;
  const bool seen = R::visible(position, limit_of<R>(a, s, n));
  if (position < end && (seen || R::fills_tail(a)))
    R::store(a.logits, R::logit_offset(a, row, position), seen ? logit : kNegInf);
}
// Columns of all rows, by the whole block.
template <class Arch, class R>
__device__ void fill_columns(const PagedArgs& a, const Place& at, Range columns) {
  for (int n = 0; n < R::rows_of(a); ++n)
    for (int32_t column = columns.begin + at.thread; column < columns.end; column += Arch::kThreads)
      R::store(a.logits, R::logit_offset(a, at.sequence * a.next_n + n, column), kNegInf);
}
// Columns [needed, MML) of all rows; the splits share them evenly.  Those before `needed` were stored with
// the values.
template <class Arch, class R>
__device__ void fill_tail(const PagedArgs& a, const Place& at, int32_t needed) {
  if (!R::fills_tail(a)) return;
  const Range share = R::split_range(most(0, R::tail_end(a) - needed), a.splits, at.split);
  fill_columns<Arch, R>(a, at, {needed + share.begin, needed + share.end});
}

// ---- kernel
// ---------------------------------------------------------------------------------------------------
// Tokens of the sequence, by the whole block: its waves take units of kLanes in turn.
template <class Arch, class R, int D, class Queries>
__device__ void serve_tokens(const PagedArgs& a, const Place& at, const Queries& queries, Range tokens) {
  const float factor = Arch::value_factor(R::query_is_fnuz(a)) * Arch::value_factor(R::key_is_fnuz(a));
  constexpr int kWaves = Arch::kThreads / Arch::kLanes;
  const Sequence sequence = sequence_at<R>(a, at.sequence);
  for (int32_t unit = tokens.begin + at.wave * Arch::kLanes; unit < tokens.end;
       unit += kWaves * Arch::kLanes) {
    const int32_t own = unit + Arch::lane_token(at.lane);
    const auto keys =
        load_keys<Arch, R, D>(a, at.lane, own, load_block_id<R>(a, sequence, own, own < tokens.end));
    for (int n = 0; n < R::rows_of(a); ++n) {
      const float sum = factor * head_sum<Arch, R, D>(a, queries, keys, n, at.lane);
      store_logit<R>(a, sequence, n, own, tokens.end, R::scaled(sum, keys.scale));
    }
  }
}

template <class Arch, class R, int D, class Queries>
__device__ void serve_split(const PagedArgs& a, const Place& at, const Queries& queries, int32_t needed) {
  const Range chunks = R::split_range(R::chunk_count(needed, a.chunk_tokens), a.splits, at.split);
  serve_tokens<Arch, R, D>(a, at, queries, R::token_range(chunks, a.chunk_tokens, needed));
  fill_tail<Arch, R>(a, at, needed);
}

// Waves take part in one barrier, after staging.
template <class Arch, class R, int D, bool Staged, int WavePerEu>
__global__ __launch_bounds__(Arch::kThreads, WavePerEu) void paged_logits(const PagedArgs a) {
  extern __shared__ unsigned char lds[];
  const Place at = place<Arch>(a);
  const int32_t needed = needed_tokens<R>(a, at.sequence);
  const DirectQueries<Arch, R, D> direct{a, at.sequence};
  if constexpr (Staged) {
    const StagedQueries<Arch, R, D> staged(a, lds);
    staged.fill(direct, a, at.thread);
    Arch::barrier();
    serve_split<Arch, R, D>(a, at, staged, needed);
  } else {
    serve_split<Arch, R, D>(a, at, direct, needed);
  }
}

} // namespace mqa
