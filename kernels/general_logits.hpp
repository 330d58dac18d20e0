// The general variant: the slow path for everything legal, in fp32 fused multiply-adds.  A lane owns one
// token; its key stays in the caches and is decoded once for every kTileHeads heads, whose queries the block
// stages in LDS as fp32.  The file runs: policy, what rows see, tokens, queries, products, stores, kernel.
#pragma once
#include "kernels/paged_logits.hpp"

namespace mqa {

inline constexpr int kPieceDims = 16, kTileHeads = 8, kMostHeadDim = 256;

// What only this variant decides; a planted fault hides one function of it, as of Rules.
struct General {
  MQA_HD static constexpr int pieces(int head_dim) { return head_dim / kPieceDims; }
  MQA_HD static constexpr bool present(int head, int heads) { return head < heads; }
};

// ---- what rows see ----

// Keys [begin, end) have a column in row n.
template <class R, Form F> __device__ Range keys_seen(const PagedArgs& a, const Sequence& s, int n) {
  if constexpr (F == Form::prefill) return row_keys<R>(a, s.index * a.next_n + n);
  return {0, limit_of<R>(a, s, n)};
}
template <class R, Form F> __device__ bool sees(Range seen, int32_t key) {
  if constexpr (F == Form::prefill) return key >= seen.begin && R::visible(key, seen.end);
  return R::visible(key, seen.end);
}
template <class R, Form F> __device__ int32_t column_of(const PagedArgs& a, Range seen, int32_t key) {
  if constexpr (F == Form::prefill) return R::column_of(a, seen, key);
  return key;
}
template <class R, Form F> __device__ int rows_at(const PagedArgs& a, int64_t sequence) {
  if constexpr (F == Form::prefill) return R::tile_rows(a, sequence);
  return R::rows_of(a);
}
// The keys that any row needs lie in this range.
template <class R, Form F> __device__ Range keys_needed(const PagedArgs& a, const Sequence& s) {
  if constexpr (F != Form::prefill) return {0, needed_tokens<R>(a, s)};
  Range all{0, 0};
  for (int n = 0; n < R::tile_rows(a, s.index); ++n) {
    const Range seen = keys_seen<R, F>(a, s, n);
    if (seen.begin >= seen.end) continue;
    all = all.end ? Range{least(all.begin, seen.begin), most(all.end, seen.end)} : seen;
  }
  return all;
}

// ---- tokens ----
struct Token {
  int64_t offset; // byte of the cache where its key begins
  bool valid;     // false where it is not needed or its block id is bad: all its values count as zero
  float scale;    // NaN for a bad id
};
template <class R, Form F>
__device__ Token find_token(const PagedArgs& a, const Sequence& s, int32_t position, bool needed) {
  const int32_t id = F != Form::prefill ? load_block_id<R>(a, s, position, needed) : needed ? position : -1;
  if (!R::valid_block(id, a.num_blocks)) return {0, false, __builtin_nanf("")};
  const int32_t in_block =
      F == Form::prefill ? 0 : R::token_in_block(a, position, R::block_column(a, position));
  return {R::block_offset(a, id) + R::token_offset(a, in_block), true,
          R::load_scale(a.scale_base, R::scale_block_offset(a, id) + R::scale_offset(a, in_block))};
}

// ---- queries ----
template <class Arch> struct QueryTile {
  alignas(16) typename Arch::Pair value[kTileHeads][kMostHeadDim / 2];
  float weight[kTileHeads];

  // Heads [first, first + kTileHeads) of row n; those past the last are zero.  By the whole block.
  template <class R, class G>
  __device__ void fill(const PagedArgs& a, int64_t sequence, int n, int first, int thread) {
    constexpr int kMostPieces = kMostHeadDim / kPieceDims;
    const int head = first + thread / kMostPieces, piece = thread % kMostPieces;
    if (thread < kTileHeads * kMostPieces && piece < a.head_dim / kPieceDims) {
      uint32_t raw[4] = {};
      if (G::present(head, a.heads))
        Arch::template load_bytes<16>(raw, a.q + R::query_offset(a, sequence, n, head) + kPieceDims * piece);
      for (int i = 0; i < 4; ++i)
        Arch::decode_values(&value[head - first][piece * kPieceDims / 2 + 2 * i], raw[i],
                            R::query_is_fnuz(a));
    }
    if (thread < kTileHeads)
      weight[thread] =
          G::present(first + thread, a.heads)
              ? R::load_weight(a.weights, R::weight_offset(a, sequence * a.next_n + n, first + thread))
              : 0.0f;
  }
};

// ---- products ----

// Of one key with the heads of a tile.
template <class Arch, class R, class G>
__device__ void dots(const PagedArgs& a, const QueryTile<Arch>& queries, const Token& token,
                     float (&dot)[kTileHeads]) {
  using Pair = typename Arch::Pair;
  Pair sums[kTileHeads] = {};
  for (int piece = 0; piece < G::pieces(a.head_dim); ++piece) {
    uint32_t raw[4] = {};
    if (token.valid)
      Arch::template load_key_bytes<16>(raw, a.kv_cache + token.offset + R::dim_offset(a, kPieceDims * piece),
                                        a);
    Pair values[kPieceDims / 2];
    for (int i = 0; i < 4; ++i) Arch::decode_values(values + 2 * i, raw[i], R::key_is_fnuz(a));
#pragma unroll
    for (int i = 0; i < kPieceDims / 2; ++i)
#pragma unroll
      for (int head = 0; head < kTileHeads; ++head)
        sums[head] = Arch::fma(queries.value[head][piece * kPieceDims / 2 + i], values[i], sums[head]);
  }
  for (int head = 0; head < kTileHeads; ++head) dot[head] = sums[head].x + sums[head].y;
}

// ---- stores ----

// -inf in a row's columns without a value, in the planes of all heads; the splits share them evenly.
template <class Arch, class R>
__device__ void fill_part(const PagedArgs& a, const Place& at, int64_t offset, Range columns) {
  const Range share = R::split_range(most(0, columns.end - columns.begin), a.splits, at.split);
  for (int32_t i = share.begin + at.thread; i < share.end; i += Arch::kThreads)
    R::store(a.logits, offset + columns.begin + i, kNegInf);
}
template <class Arch, class R, Form F>
__device__ void fill_rows(const PagedArgs& a, const Place& at, const Sequence& s) {
  if (!R::fills_tail(a)) return;
  for (int n = 0; n < rows_at<R, F>(a, s.index); ++n) {
    const Range seen = keys_seen<R, F>(a, s, n);
    const int32_t begin = column_of<R, F>(a, seen, seen.begin);
    const Range values{begin, begin + seen.end - seen.begin};
    for (int plane = 0; plane < (F == Form::per_head ? R::tail_planes_of(a) : 1); ++plane) {
      const int64_t offset = R::plane_offset(a, plane) + R::logit_offset(a, s.index * a.next_n + n, 0);
      if constexpr (F == Form::prefill) fill_part<Arch, R>(a, at, offset, {0, R::columns_before(values)});
      fill_part<Arch, R>(a, at, offset, {values.end, R::tail_end(a)});
    }
  }
}

// ---- kernel ----

// Row n of the block's tokens, of which each lane owns one.  Waves meet in two barriers a tile.
template <class Arch, class R, class G, Form F>
__device__ void serve_row(const PagedArgs& a, QueryTile<Arch>& queries, const Place& at, int n,
                          const Token& token, bool stored, int32_t column) {
  using Pair = typename Arch::Pair;
  Pair sums{};
  const int64_t offset = R::logit_offset(a, at.sequence * a.next_n + n, column);
  for (int first = 0; first < a.heads; first += kTileHeads) {
    Arch::barrier();
    queries.template fill<R, G>(a, at.sequence, n, first, at.thread);
    Arch::barrier();
    float dot[kTileHeads];
    dots<Arch, R, G>(a, queries, token, dot);
    for (int i = 0; i < kTileHeads; i += 2) {
      if constexpr (F != Form::per_head)
        sums = R::template add_heads<Arch>(sums, Pair{dot[i], dot[i + 1]},
                                           Pair{queries.weight[i], queries.weight[i + 1]});
      else
        for (int j = i; j < i + 2; ++j)
          if (stored && first + j < R::planes_of(a))
            R::store(a.logits, R::plane_offset(a, first + j) + offset,
                     R::scaled(R::template head_value<Arch>(dot[j], queries.weight[j]), token.scale));
    }
  }
  if (F != Form::per_head && stored) R::store(a.logits, offset, R::scaled(sums.x + sums.y, token.scale));
}

template <class Arch, class R, class G, Form F, int WavePerEu>
__global__ __launch_bounds__(Arch::kThreads, WavePerEu) void general_logits(const PagedArgs a) {
  __shared__ QueryTile<Arch> queries;
  const Place at = place<Arch>(a);
  const Sequence s = F == Form::prefill ? Sequence{at.sequence, 0, 0} : sequence_at<R>(a, at.sequence);
  const Range needed = keys_needed<R, F>(a, s);
  const int32_t count = needed.end - needed.begin;
  const Range part = R::token_range(R::split_range(R::chunk_count(count, a.chunk_tokens), a.splits, at.split),
                                    a.chunk_tokens, count);
  const int32_t end = needed.begin + part.end;
  for (int32_t first = needed.begin + part.begin; first < end; first += Arch::kThreads) {
    const int32_t own = first + at.thread;
    const Token token = find_token<R, F>(a, s, own, own < end);
    for (int n = 0; n < rows_at<R, F>(a, s.index); ++n) {
      const Range seen = keys_seen<R, F>(a, s, n);
      if (!(seen.begin < first + Arch::kThreads && R::visible(first, seen.end))) continue;
      serve_row<Arch, R, G, F>(a, queries, at, n, token, own < end && sees<R, F>(seen, own),
                               column_of<R, F>(a, seen, own));
    }
  }
  fill_rows<Arch, R, F>(a, at, s);
}

} // namespace mqa
