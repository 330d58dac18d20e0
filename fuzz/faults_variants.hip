// Planted faults of the scheduled variant (who serves which chunk, and when queries are staged) and of the
// general one (its own loops and its decoding).  Each is built into that variant only, so its witness asks
// for it.
#include "fuzz/fault_table.hpp"
#include "kernels/general_launch.hpp"
#include "kernels/scheduled_launch.hpp"

namespace mqalab {
namespace {

using mqa::Arch;
using mqa::ChunkShare;
using mqa::General;
using mqa::Range;
using mqa::Rules;
using mqa::Schedule;

struct SharesDropRest : Schedule {
  static __device__ ChunkShare share(int64_t chunks, int64_t workers, int64_t worker) {
    const int64_t each = chunks / workers;
    return {worker * each, (worker + 1) * each};
  }
};
struct OneWindow : Schedule { // as a schedule with room for one window of sequences
  static __device__ ChunkShare seen_from_next(ChunkShare, int32_t) { return {0, 0}; }
};
struct CarryOffByOne : Schedule {
  static __device__ ChunkShare seen_from_next(ChunkShare share, int32_t count) {
    return {share.begin - count - 1, share.end - count - 1};
  }
};
struct SequenceBefore : Schedule {
  static __device__ int64_t sequence_of(int64_t first_of_window, int index) {
    return first_of_window + mqa::most(index - 1, 0);
  }
};
struct ChunksOfWindow : Schedule {
  static __device__ Range part_of_sequence(Range part, int32_t before, int32_t after) {
    return {mqa::most(part.begin, before), mqa::least(part.end, after)};
  }
};
struct EmptyWithoutTail : Schedule {
  static __device__ int32_t tail_columns(int32_t tail_end, int32_t needed) {
    return needed > 0 ? mqa::most(0, tail_end - needed) : 0;
  }
};
struct TailDropsRest : Schedule {
  static __device__ int32_t tail_columns(int32_t tail_end, int32_t needed) {
    return mqa::most(0, tail_end - needed) / 64 * 64;
  }
};
struct NoBarrierBeforeStaging : Schedule {
  template <class A> static __device__ void before_staging() {}
};
template <class S>
inline constexpr mqa::LaunchFn kScheduled = &mqa::launch_scheduled<Rules, mqa::FaultInstances, S>;

struct DropsLastPiece : General {
  static __device__ int pieces(int head_dim) { return head_dim / mqa::kPieceDims - 1; }
};
struct ReadsHeadTail : General {
  static __device__ bool present(int, int) { return true; }
};
struct NanByteIsZero : Arch { // 0x80 is -0 in every other format
  static __device__ void decode_values(Pair* to, uint32_t word, bool fnuz) {
    const uint32_t magnitude = (word & 0x7f7f7f7fu) + 0x7f7f7f7fu;
    Arch::decode_values(to, word & (magnitude | 0x7f7f7f7fu), fnuz);
  }
};
template <class G, class A = Arch>
inline constexpr mqa::LaunchFn kGeneral = &mqa::launch_general<Rules, G, A>;

constexpr Fault kFaults[] = {
    {"sched_shares_drop_rest", "the chunks that do not divide evenly among the workers are lost", "untouched",
     kKill, kScheduled<SharesDropRest>,
     R"({"max_model_len": 65, "config": {"variant": "scheduled", "chunk_k": 64}})"},
    {"sched_one_window", "workers look at the first window of sequences only", "untouched", kKill,
     kScheduled<OneWindow>, R"({"batch": 257, "config": {"variant": "scheduled"}})"},
    {"sched_carry_off_by_one", "past a window a worker's share begins a chunk too early", "untouched", kKill,
     kScheduled<CarryOffByOne>, R"({"batch": 257, "config": {"variant": "scheduled"}})"},
    {"sched_sequence_before", "a worker serves the sequence before its own", "untouched", kKill,
     kScheduled<SequenceBefore>, R"({"batch": 2, "config": {"variant": "scheduled"}})"},
    {"sched_chunks_of_window", "a sequence's chunks are counted from the window's first", "untouched", kKill,
     kScheduled<ChunksOfWindow>, R"({"batch": 2, "config": {"variant": "scheduled"}})"},
    {"sched_empty_without_tail", "a sequence without tokens gets no -inf tail", "untouched", kKill,
     kScheduled<EmptyWithoutTail>,
     R"({"tail": "neg_inf", "context_lens": [0], "config": {"variant": "scheduled"}})"},
    {"sched_tail_drops_rest", "only whole runs of 64 columns of a tail are shared among the workers",
     "untouched", kKill, kScheduled<TailDropsRest>,
     R"({"tail": "neg_inf", "max_model_len": 2, "config": {"variant": "scheduled"}})"},
    {"sched_barrier_missing", "no barrier before the next sequence's queries are staged", "fault", kKill,
     kScheduled<NoBarrierBeforeStaging>, R"({"batch": 700, "heads": 64, "config": {"variant": "scheduled"}})",
     true},
    {"general_drops_dims", "the last 16 dims take no part", "value", kKill, kGeneral<DropsLastPiece>,
     R"({"context_lens": [8], "max_model_len": 8, "config": {"variant": "general"}})"},
    {"general_reads_head_tail", "heads past the last one are read as if they were there", "fault", kKill,
     kGeneral<ReadsHeadTail>, R"({"heads": 9, "config": {"variant": "general"}})", true},
    {"general_nan_byte_is_zero", "the byte 0x80 counts as zero in e4m3fnuz too", "value", kKill,
     kGeneral<General, NanByteIsZero>,
     R"({"fp8": "e4m3fnuz", "data": {"lane": "special", "set": [["k", 0, 128]]}, "config": {"variant": "general"}})"},
};

} // namespace

std::span<const Fault> variant_faults() { return kFaults; }

} // namespace mqalab
