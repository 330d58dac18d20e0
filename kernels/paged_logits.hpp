// Fused paged MQA logits, the kernel.  A block serves all next_n rows of one sequence for one split of its
// chunks; its waves take units of kLanes tokens in turn.  A unit's keys are loaded once and stay in registers
// while every row and every tile of 16 heads passes over them.  The file runs: place, queries, keys, sums,
// stores, kernel.
#pragma once
#include "kernels/arch/arch.hpp"
#include "kernels/lengths.hpp"

#include <hip/hip_runtime.h>

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
// ---- queries
// -------------------------------------------------------------------------------------------------- Both
// kinds give one lane its fragment and its weights of (row n, head tile).  Heads past the last count as zero.
template <class Arch, class R, int D> struct DirectQueries {
  const PagedArgs& a;
  int64_t sequence;

  __device__ typename Arch::template QueryFragment<D> fragment(int n, int tile, int lane) const {
    uint32_t raw[Arch::kFragmentHeads][D / 16];
    for (int j = 0; j < Arch::kFragmentHeads; ++j) {
      const int head = tile * kHeadTile + Arch::fragment_head(lane, j);
      const bool present = head < a.heads;
      const uint8_t* from = a.q + R::query_offset(a, sequence, n, present ? head : 0);
      for (int c = 0; c < Arch::template kChunks<D>; ++c) {
        constexpr int bytes = Arch::template kChunkBytes<D>;
        uint32_t* to = raw[j] + c * bytes / 4;
        Arch::template load_bytes<bytes>(to, from + 64 * c + bytes * Arch::quarter(lane));
        for (int i = 0; i < bytes / 4; ++i) to[i] = present ? to[i] : 0;
      }
    }
    return Arch::template decode_query<D>(raw, R::query_is_fnuz(a));
  }
  __device__ float weight(int n, int head) const {
    const int64_t row = sequence * a.next_n + n;
    return head < a.heads ? R::load_weight(a.weights, R::weight_offset(a, row, head)) : 0.0f;
  }
  __device__ typename Arch::Pair weights(int n, int tile, int lane, int half) const {
    const int head = tile * kHeadTile + Arch::head_in_tile(2 * half, Arch::quarter(lane));
    return typename Arch::Pair{weight(n, head), weight(n, head + 1)};
  }
};

// All rows of the sequence in LDS, in the order in which lanes read them: [row][tile][piece][lane], then the
// weights.
template <class Arch, class R, int D> struct StagedQueries {
  using Fragment = typename Arch::template QueryFragment<D>;
  static constexpr int kPieceBytes = sizeof(Fragment) < 16 ? sizeof(Fragment) : 16;
  static constexpr int kPieces = sizeof(Fragment) / kPieceBytes;
  struct alignas(kPieceBytes) Piece {
    uint32_t word[kPieceBytes / 4];
  };
  Piece* pieces;
  float* all_weights;
  int tiles;

  __device__ StagedQueries(const PagedArgs& a, unsigned char* lds)
      : pieces(reinterpret_cast<Piece*>(lds)), tiles(R::head_tiles(a.heads)) {
    all_weights = reinterpret_cast<float*>(pieces + int64_t{a.next_n} * tiles * kPieces * Arch::kLanes);
  }
  __device__ Piece& piece(int n, int tile, int i, int lane) const {
    return pieces[((n * tiles + tile) * kPieces + i) * Arch::kLanes + lane];
  }
  // By the whole block; a barrier must follow.
  __device__ void fill(const DirectQueries<Arch, R, D>& from, const PagedArgs& a, int thread) const {
    for (int item = thread; item < a.next_n * tiles * Arch::kLanes; item += Arch::kThreads) {
      const int lane = item % Arch::kLanes, tile = item / Arch::kLanes % tiles,
                n = item / Arch::kLanes / tiles;
      const auto fragment = __builtin_bit_cast(Pieces, from.fragment(n, tile, lane));
      for (int i = 0; i < kPieces; ++i) piece(n, tile, i, lane) = fragment.piece[i];
    }
    for (int n = 0; n < a.next_n; ++n)
      for (int head = thread; head < R::staged_heads(a); head += Arch::kThreads)
        all_weights[n * tiles * kHeadTile + head] = from.weight(n, head);
  }
  __device__ Fragment fragment(int n, int tile, int lane) const {
    Pieces p;
    for (int i = 0; i < kPieces; ++i) p.piece[i] = piece(n, tile, i, lane);
    return __builtin_bit_cast(Fragment, p);
  }
  __device__ typename Arch::Pair weights(int n, int tile, int lane, int half) const {
    const int head = Arch::head_in_tile(2 * half, Arch::quarter(lane));
    return *reinterpret_cast<const typename Arch::Pair*>(all_weights + (n * tiles + tile) * kHeadTile + head);
  }

private:
  struct Pieces {
    Piece piece[kPieces];
  };
};

// ---- keys
// -----------------------------------------------------------------------------------------------------
template <class Arch, int D> struct Keys {
  typename Arch::template KeyFragment<D> slot[Arch::kSlots];
  float scale; // of the token that this lane owns; NaN for a block id out of range
};

// Block id of a token, -1 when it is not needed: no table entry past the context is read.
template <class R>
__device__ int32_t load_block_id(const PagedArgs& a, int64_t sequence, int32_t position, bool needed) {
  return needed ? a.block_table[R::table_offset(a, sequence, position)] : -1;
}

// Each lane finds its own token's bytes once and tells the lanes that hold quarters of that token.  Tokens
// that are not needed, or whose block id is bad, stand in with the pool's first bytes: their sums are not
// stored, or become NaN.
template <class Arch, class R, int D>
__device__ Keys<Arch, D> load_keys(const PagedArgs& a, const Place& at, int32_t unit, int32_t end) {
  constexpr int bytes = Arch::template kChunkBytes<D>;
  const int32_t own = unit + Arch::lane_token(at.lane);
  const int32_t id = load_block_id<R>(a, at.sequence, own, own < end);
  const int32_t in_block = R::token_in_block(a, own, R::block_column(a, own));
  const bool valid = R::valid_block(id, a.num_blocks);
  const int64_t own_offset = valid ? R::block_offset(a, id) + R::token_offset(a, in_block) : 0;
  uint32_t raw[Arch::kSlots][D / 16];
  for (int slot = 0; slot < Arch::kSlots; ++slot) {
    const int owner = Arch::token_lane(Arch::slot_token(slot, at.lane));
    const uint8_t* token = a.kv_cache + Arch::shuffle(own_offset, owner);
    for (int c = 0; c < Arch::template kChunks<D>; ++c) {
      const int dim = 64 * c + bytes * Arch::quarter(at.lane);
      Arch::template load_key_bytes<bytes>(raw[slot] + c * bytes / 4, token + R::dim_offset(a, dim), a);
    }
  }
  Keys<Arch, D> keys;
  Arch::template decode_keys<D>(keys.slot, raw, R::key_is_fnuz(a));
  keys.scale = __builtin_nanf("");
  if (valid)
    keys.scale = R::load_scale(a.kv_cache, R::scale_block_offset(a, id) + R::scale_offset(a, in_block));
  return keys;
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
__device__ void store_logit(const PagedArgs& a, int64_t sequence, int n, int32_t position, int32_t end,
                            float logit) {
  const int64_t row = sequence * a.next_n + n;
  const bool seen = R::visible(position, limit_of<R>(a, sequence, n));
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
  for (int32_t unit = tokens.begin + at.wave * Arch::kLanes; unit < tokens.end;
       unit += kWaves * Arch::kLanes) {
    const auto keys = load_keys<Arch, R, D>(a, at, unit, tokens.end);
    for (int n = 0; n < R::rows_of(a); ++n) {
      const float sum = factor * head_sum<Arch, R, D>(a, queries, keys, n, at.lane);
      store_logit<R>(a, at.sequence, n, unit + Arch::lane_token(at.lane), tokens.end,
                     R::scaled(sum, keys.scale));
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
