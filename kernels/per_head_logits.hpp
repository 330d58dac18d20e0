// Unreduced logits: the kernel of paged_logits.hpp without its head sum.  A lane stores what the matrix unit
// left it, four heads of one token a slot, each head in a plane of its own.
#pragma once
#include "kernels/paged_logits.hpp"

namespace mqa {

// Scales of the tokens whose products a lane holds.
template <class Arch> struct SlotScales {
  float slot[Arch::kSlots];
};
template <class Arch> __device__ SlotScales<Arch> share_scales(float own, int lane) {
  SlotScales<Arch> scales;
  for (int slot = 0; slot < Arch::kSlots; ++slot)
    scales.slot[slot] = Arch::shuffle(own, Arch::token_lane(Arch::slot_token(slot, lane)));
  return scales;
}

// Where the values of one row and unit go.
template <class R> struct PlaneSink {
  const PagedArgs& a;
  int64_t row;
  int32_t limit, end; // columns [limit, end) are tail; what comes after belongs to others

  __device__ void store(int head, int32_t position, float value) const {
    const bool seen = R::visible(position, limit);
    if (head < R::planes_of(a) && position < end && (seen || R::fills_tail(a)))
      R::store(a.logits, R::plane_offset(a, head) + R::logit_offset(a, row, position),
               seen ? value : kNegInf);
  }
};

template <class Arch, class R, int D, class Queries>
__device__ void store_heads(const PlaneSink<R>& sink, const Queries& queries, const Keys<Arch, D>& keys,
                            const SlotScales<Arch>& scales, int n, int32_t unit, int lane, float factor) {
  for (int tile = 0; tile < R::head_tiles(sink.a.heads); ++tile) {
    const auto product = Arch::template product<D>(keys.slot, queries.fragment(n, tile, lane));
    for (int half = 0; half < 2; ++half) {
      const auto weights = queries.weights(n, tile, lane, half);
      const int head = tile * kHeadTile + Arch::head_in_tile(2 * half, Arch::quarter(lane));
      for (int slot = 0; slot < Arch::kSlots; ++slot) {
        const auto dots = Arch::pair(product, slot, half);
        const int32_t position = unit + Arch::slot_token(slot, lane);
        const float first = R::template head_value<Arch>(factor * dots.x, weights.x);
        const float second = R::template head_value<Arch>(factor * dots.y, weights.y);
        sink.store(head, position, R::scaled(first, scales.slot[slot]));
        sink.store(head + 1, position, R::scaled(second, scales.slot[slot]));
      }
    }
  }
}

// Columns [needed, MML) of every plane; the splits share them evenly.
template <class Arch, class R>
__device__ void fill_planes(const PagedArgs& a, const Place& at, int32_t needed) {
  if (!R::fills_tail(a)) return;
  const Range share = R::split_range(most(0, R::tail_end(a) - needed), a.splits, at.split);
  for (int head = 0; head < R::tail_planes_of(a); ++head)
    for (int n = 0; n < R::rows_of(a); ++n)
      for (int32_t column = needed + share.begin + at.thread; column < needed + share.end;
           column += Arch::kThreads)
        R::store(a.logits, R::plane_offset(a, head) + R::logit_offset(a, at.sequence * a.next_n + n, column),
                 kNegInf);
}

template <class Arch, class R, int D, class Queries>
__device__ void serve_split_per_head(const PagedArgs& a, const Place& at, const Queries& queries,
                                     const Sequence& sequence) {
  const int32_t needed = needed_tokens<R>(a, sequence);
  const Range chunks = R::split_range(R::chunk_count(needed, a.chunk_tokens), a.splits, at.split);
  const Range tokens = R::token_range(chunks, a.chunk_tokens, needed);
  const float factor = Arch::value_factor(R::query_is_fnuz(a)) * Arch::value_factor(R::key_is_fnuz(a));
  constexpr int kWaves = Arch::kThreads / Arch::kLanes;
  for (int32_t unit = tokens.begin + at.wave * Arch::kLanes; unit < tokens.end;
       unit += kWaves * Arch::kLanes) {
    const PagedArgs& args = Arch::reread(a);
    const int32_t own = unit + Arch::lane_token(at.lane);
    const int32_t id = load_block_id<R>(args, sequence, own, own < tokens.end);
    const auto keys = load_keys<Arch, R, D>(args, at.lane, own, id);
    const auto scales = share_scales<Arch>(keys.scale, at.lane);
    for (int n = 0; n < R::rows_of(a); ++n) {
      const PagedArgs& again = Arch::reread(a);
      const PlaneSink<R> sink{again, sequence.index * a.next_n + n, limit_of<R>(again, sequence, n),
                              tokens.end};
      store_heads<Arch, R, D>(sink, queries, keys, scales, n, unit, at.lane, factor);
    }
  }
  fill_planes<Arch, R>(Arch::reread(a), at, needed);
}

template <class Arch, class R, int D, bool Staged, int WavePerEu>
__global__ __launch_bounds__(Arch::kThreads, WavePerEu) void per_head_logits(const PagedArgs a) {
  extern __shared__ unsigned char lds[];
  const Place at = place<Arch>(a);
  const Sequence sequence = sequence_at<R>(a, at.sequence);
  const DirectQueries<Arch, R, D> direct{a, at.sequence};
  if constexpr (Staged) {
    const StagedQueries<Arch, R, D> staged(a, lds);
    staged.fill(direct, a, at.thread);
    Arch::barrier();
    serve_split_per_head<Arch, R, D>(a, at, staged, sequence);
  } else {
    serve_split_per_head<Arch, R, D>(a, at, direct, sequence);
  }
}

} // namespace mqa
