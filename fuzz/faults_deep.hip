// A planted fault behind four nested branches of the kernel.  Random cases meet all four at once every 12,000
// or so, cases that draw from the numbers in the kernel's compares (dictionary.hpp) every few hundred; edge
// coverage of the machine code keeps each step.  It is the measure of whether that guidance works: compare
// `mqalab fuzz --fault deep_fast_path` with and without --no-coverage, and with --guide none, which has no
// numbers either.
#include "fuzz/fault_table.hpp"

namespace mqalab {
namespace {

using mqa::PagedArgs;
using mqa::Rules;

// Keeps the compiler from joining nested conditions into one.
__device__ inline void step() { asm volatile("" ::: "memory"); }

// As a fast path for one odd shape that loses the last column.
struct DeepFastPath : Rules {
  static __device__ int32_t row_limit(const PagedArgs& a, int32_t length, int n) {
    const int32_t limit = Rules::row_limit(a, length, n);
    if (a.next_n != 3) return limit;
    step();
    if (a.heads != 40) return limit;
    step();
    if (a.block_size != 48) return limit;
    step();
    if (a.chunk_tokens != 128) return limit;
    step();
    return limit - (limit > 0);
  }
};

constexpr Fault kFaults[] = {
    {"deep_fast_path", "a fast path for one odd shape, behind four branches, loses the last column",
     "untouched", kKill, kLaunch<DeepFastPath>,
     R"({"next_n": 3, "heads": 40, "block_size": 48, "context_lens": [9], "max_model_len": 9,
         "config": {"chunk_k": 128}})"},
};

} // namespace

std::span<const Fault> deep_faults() { return kFaults; }

} // namespace mqalab
