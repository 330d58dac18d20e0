// Planted faults of a block's inner life: barriers, initialisation of LDS, values that stray between lanes.
// On the simulator its LDS checker names them; on hardware they show as wrong or unstable values, or not at
// all.
#include "fuzz/fault_table.hpp"

namespace mqalab {
namespace {

using mqa::Arch;
using mqa::PagedArgs;
using mqa::Rules;

struct BarrierMissing : Arch {
  static __device__ void barrier() {}
};
struct LdsPaddingUnwritten : Rules {
  static __device__ int staged_heads(const PagedArgs& a) { return a.heads; }
};
struct StoreBeforeBegin : Rules {
  static __device__ void store(float* logits, int64_t offset, float value) {
    logits[offset] = value;
    if (offset == 0) logits[-1] = value;
  }
};

constexpr Fault kFaults[] = {
    {"barrier_missing", "no barrier between staging q and reading it", "fault", kKill,
     kLaunch<Rules, BarrierMissing>, R"({"heads": 64, "context_lens": [256], "max_model_len": 256})", true},
    {"lds_padding_unwritten", "weights of the head padding are read from LDS unwritten", "fault", kKill,
     kLaunch<LdsPaddingUnwritten>, R"({"context_lens": [4], "max_model_len": 4})", true},
    {"store_before_begin", "a store one element before the logits", "guard", kKill, kLaunch<StoreBeforeBegin>,
     R"({})"},
};

} // namespace

std::span<const Fault> block_faults() { return kFaults; }

} // namespace mqalab
