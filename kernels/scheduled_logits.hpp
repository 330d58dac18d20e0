// The scheduled variant: persistent blocks, the workers, over a schedule that each makes for itself from the
// lengths in device memory.  One launch, nothing known to the host, so that a graph may be replayed with
// other lengths.  Values and -inf tails are two schedules after another, because a chunk of one costs far
// more than a chunk of the other.
#pragma once
#include "kernels/paged_logits.hpp"
#include "kernels/schedule.hpp"

namespace mqa {

// ---- a window of sequences, one a thread ----
template <class Arch> __device__ int64_t uniform(int64_t x) {
  const auto low = static_cast<uint32_t>(Arch::uniform(static_cast<int32_t>(x)));
  return int64_t{Arch::uniform(static_cast<int32_t>(x >> 32))} << 32 | low;
}
// Sum over the lanes up to and with this one.
template <class Arch, class Count> __device__ Count scan_wave(Count x, int lane) {
  for (int step = 1; step < Arch::kLanes; step *= 2) {
    const Count below = Arch::shuffle(x, most(lane - step, 0));
    x += lane >= step ? below : 0;
  }
  return x;
}
// Sum over the threads up to and with this one.  By the whole block; a barrier must follow before the next.
template <class Arch, class Count>
__device__ Count scan_block(Window<Arch>& window, Count x, const Place& at) {
  x = scan_wave<Arch>(x, at.lane);
  if (at.lane == Arch::kLanes - 1) window.wave_total[at.wave] = x;
  Arch::barrier();
  for (int wave = 0; wave < at.wave; ++wave) x += static_cast<Count>(window.wave_total[wave]);
  return x;
}
template <class Arch> __device__ int64_t block_total(const Window<Arch>& window) {
  int64_t total = 0;
  for (const int64_t part : window.wave_total) total += part;
  return uniform<Arch>(total);
}

// ---- the worker's walk over its share ----

// What is shared among the workers: Columns::of(a, sequence) columns of every sequence, in chunks, each
// served by visit(a, place, chunks).  The arguments are read again wherever many of them are needed.
template <class Arch, class R, class Columns>
__device__ int32_t chunks_of(const PagedArgs& a, int64_t sequence) {
  return sequence < a.batch ? R::chunk_count(Columns::of(a, sequence), a.chunk_tokens) : 0;
}
template <class Arch, class R, class Columns>
__device__ int64_t count_chunks(const PagedArgs& a, Window<Arch>& window, const Place& at) {
  int64_t own = 0;
  for (int64_t b = at.thread; b < a.batch; b += Arch::kThreads) own += chunks_of<Arch, R, Columns>(a, b);
  scan_block<Arch>(window, own, at);
  const int64_t total = block_total<Arch>(window);
  Arch::barrier();
  return total;
}
// Serves the worker's share in the order of the sequences, by the whole block.
template <class Arch, class R, class S, class Columns, class Visit>
__device__ void walk(const PagedArgs& a, Window<Arch>& window, const Place& at, Visit visit) {
  ChunkShare share =
      S::share(count_chunks<Arch, R, Columns>(Arch::reread(a), window, at), gridDim.x, blockIdx.x);
  if (share.begin >= share.end) return;
  for (int64_t start = 0; start < a.batch && share.end > 0; start += Arch::kThreads) {
    const int32_t own = chunks_of<Arch, R, Columns>(Arch::reread(a), start + at.thread);
    const int32_t after = scan_block<Arch>(window, own, at);
    const auto count = static_cast<int32_t>(block_total<Arch>(window));
    const Range part = S::part_of_window(share, count);
    window.before[at.thread + 1] = after;
    if (at.thread == 0) window.before[0] = 0;
    if (S::begins_in(part, after - own, after)) window.first = at.thread;
    Arch::barrier();
    if (part.begin < part.end)
      for (int i = Arch::uniform(window.first); i < Arch::kThreads; ++i) {
        const int32_t before = Arch::uniform(window.before[i]);
        if (before >= part.end) break;
        const Range mine = S::part_of_sequence(part, before, Arch::uniform(window.before[i + 1]));
        const Place here{S::sequence_of(start, i), 0, at.thread, at.lane, at.wave};
        if (mine.begin < mine.end) visit(Arch::reread(a), here, mine);
      }
    share = S::seen_from_next(share, count);
    Arch::barrier();
  }
}

// ---- kernel ----
template <class R> struct Values {
  static __device__ int32_t of(const PagedArgs& a, int64_t sequence) { return needed_tokens<R>(a, sequence); }
};
template <class R, class S> struct Tails {
  static __device__ int32_t of(const PagedArgs& a, int64_t sequence) {
    return S::tail_columns(R::tail_end(a), needed_tokens<R>(a, sequence));
  }
};

template <class Arch, class R, class S, int D, int WavePerEu>
__global__ __launch_bounds__(Arch::kThreads, WavePerEu) void scheduled_logits(const PagedArgs args) {
  extern __shared__ __align__(16) unsigned char lds[];
  auto& window = *reinterpret_cast<Window<Arch>*>(lds);
  const Place at = place<Arch>(args);
  const auto serve = [&](const PagedArgs& a, const Place& here, Range chunks) {
    const StagedQueries<Arch, R, D> staged(a, lds + kWindowBytes<Arch>);
    S::template before_staging<Arch>();
    staged.fill(DirectQueries<Arch, R, D>{a, here.sequence}, a, here.thread);
    Arch::barrier();
    const PagedArgs& again = Arch::reread(a);
    const int32_t needed = Values<R>::of(again, here.sequence);
    serve_tokens<Arch, R, D>(again, here, staged, R::token_range(chunks, again.chunk_tokens, needed));
  };
  const auto fill = [](const PagedArgs& a, const Place& here, Range chunks) {
    const Range tail = R::token_range(chunks, a.chunk_tokens, Tails<R, S>::of(a, here.sequence));
    const int32_t needed = Values<R>::of(a, here.sequence);
    fill_columns<Arch, R>(a, here, {needed + tail.begin, needed + tail.end});
  };
  walk<Arch, R, S, Values<R>>(args, window, at, serve);
  if (R::fills_tail(args)) walk<Arch, R, S, Tails<R, S>>(args, window, at, fill);
}

} // namespace mqa
