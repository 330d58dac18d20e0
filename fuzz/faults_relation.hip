// Planted faults that only a relation sees: each launch by itself is right, or within the bound of the
// numeric lane, and another one that must agree with it does not.  Kernels whose order of additions depends
// on what must not matter, and launchers that are wrong only on other streams or in a graph.
#include "fuzz/fault_table.hpp"

#include <algorithm>
#include <vector>

namespace mqalab {
namespace {

using mqa::FaultInstances;
using mqa::LaunchConfig;
using mqa::PagedArgs;
using mqa::Rules;

// ---- the order of additions ----

struct OddSequence {
  static __device__ bool holds(const PagedArgs&, int64_t sequence) { return sequence & 1; }
};
struct SeveralSplits {
  static __device__ bool holds(const PagedArgs& a, int64_t) { return a.splits > 1; }
};
struct OddBase {
  static __device__ bool holds(const PagedArgs& a, int64_t) {
    return reinterpret_cast<uintptr_t>(a.logits) % 16 != 0;
  }
};
// Every head with its own weight, the last one first.
template <class When> struct HeadsBackwards : Rules {
  static __device__ int head_at(const PagedArgs& a, int64_t sequence, int head) {
    return When::holds(a, sequence) ? a.heads - 1 - head : head;
  }
  static __device__ int64_t query_offset(const PagedArgs& a, int64_t b, int n, int head) {
    return Rules::query_offset(a, b, n, head_at(a, b, head));
  }
  static __device__ int64_t weight_offset(const PagedArgs& a, int64_t row, int head) {
    return Rules::weight_offset(a, row, head_at(a, row / a.next_n, head));
  }
};

// ---- launchers ----

hipError_t ignore_stream(const PagedArgs& args, const LaunchConfig& config, hipStream_t) {
  return mqa::launch_with<Rules, FaultInstances>(args, config, nullptr);
}

// The longest context as the host read it, in a field that paged keys leave alone.
struct CutAtHostLength : Rules {
  static __device__ int32_t row_limit(const PagedArgs& a, int32_t length, int n) {
    return mqa::least(Rules::row_limit(a, length, n), a.compressed);
  }
};
hipError_t read_lengths(const PagedArgs& args, const LaunchConfig& config, hipStream_t stream) {
  if (args.batch == 0) return hipSuccess;
  std::vector<int32_t> lengths(
      static_cast<size_t>(Rules::length_index(args, args.batch - 1, args.next_n - 1) + 1));
  const hipError_t error =
      hipMemcpy(lengths.data(), args.context_lens, 4 * lengths.size(), hipMemcpyDeviceToHost);
  if (error != hipSuccess) return error;
  PagedArgs cut = args;
  cut.compressed = std::max(0, std::ranges::max(lengths));
  return mqa::launch_with<CutAtHostLength, FaultInstances>(cut, config, stream);
}

// As arguments in two blocks that take turns, where a change of streams comes one launch late.  Launches on
// the default stream are always right.
hipError_t switch_late(const PagedArgs& args, const LaunchConfig& config, hipStream_t stream) {
  static hipStream_t last_stream = nullptr;
  static float* last_logits = nullptr;
  PagedArgs late = args;
  if (stream && stream != last_stream && last_logits) late.logits = last_logits;
  last_stream = stream, last_logits = args.logits;
  return mqa::launch_with<Rules, FaultInstances>(late, config, stream);
}

// The data seeds are ones by which the case draws the relation that sees the fault.
constexpr Fault kFaults[] = {
    {"head_order_by_sequence", "odd sequences add up their heads from the last to the first", "relation",
     kKill, kLaunch<HeadsBackwards<OddSequence>>,
     R"({"batch": 2, "context_lens": [64, 64], "max_model_len": 64, "data": {"lane": "numeric", "seed": 33}})"},
    {"head_order_by_split", "with more than one split the heads are added up from the last to the first",
     "relation", kKill, kLaunch<HeadsBackwards<SeveralSplits>>,
     R"({"context_lens": [64], "max_model_len": 64, "data": {"lane": "numeric", "seed": 31}})"},
    {"head_order_by_base", "logits that do not start at 16 bytes: heads from the last to the first",
     "relation", kKill, kLaunch<HeadsBackwards<OddBase>>,
     R"({"context_lens": [64], "max_model_len": 64, "data": {"lane": "numeric", "seed": 10}})"},
    {"stream_ignored", "launches on the default stream, whatever the caller gave", "relation", kKill,
     &ignore_stream, R"({"context_lens": [8], "max_model_len": 8})"},
    {"lengths_on_host", "the longest context is read back at the launch and limits all rows", "relation",
     kKill, &read_lengths, R"({"context_lens": [8], "max_model_len": 8})"},
    {"stream_switch_late", "the first launch on another stream writes to the output of the one before",
     "relation", kKill, &switch_late, R"({"context_lens": [8], "max_model_len": 8, "data": {"seed": 2}})"},
};

} // namespace

std::span<const Fault> relation_faults() { return kFaults; }

} // namespace mqalab
