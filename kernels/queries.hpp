// The queries of a sequence, read from memory (direct) or kept in LDS (staged).  Both kinds give one lane its
// fragment and its weights of (row n, head tile).  Heads past the last count as zero.
#pragma once
#include "kernels/arch/arch.hpp"
#include "kernels/lengths.hpp"

#include <hip/hip_runtime.h>

namespace mqa {

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
    const int rows = R::tile_rows(a, from.sequence);
    const int lane = thread % Arch::kLanes;
    int n = 0, tile = Arch::uniform(thread / Arch::kLanes); // waves take tiles in turn, row after row
    for (;; tile += Arch::kThreads / Arch::kLanes) {
      for (; tile >= tiles; tile -= tiles) ++n;
      if (n >= rows) break;
      const auto fragment = __builtin_bit_cast(Pieces, from.fragment(n, tile, lane));
      for (int i = 0; i < kPieces; ++i) piece(n, tile, i, lane) = fragment.piece[i];
    }
    for (n = 0; n < rows; ++n)
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

} // namespace mqa
