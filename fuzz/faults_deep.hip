// A planted fault behind four nested branches of the kernel, each a test of one host-visible number that no feature class
// tells apart.  Random cases meet all four at once every million; edge coverage of the machine code keeps each step.  It
// is the measure of whether that guidance works (docs: `mqalab fuzz --fault deep_fast_path`, with and without
// --no-coverage).
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
    if (a.batch != 6) return limit;
    step();
    if (a.heads != 56) return limit;
    step();
    if (a.max_model_len % 32 != 11) return limit;
    step();
    if (a.block_size % 128 != 80) return limit;
    step();
    return limit - (limit > 0);
  }
};

constexpr Fault kFaults[] = {
    {"deep_fast_path", "a fast path for one odd shape, behind four branches, loses the last column", "untouched", kKill,
     kLaunch<DeepFastPath>,
     R"({"batch": 6, "heads": 56, "block_size": 80, "context_lens": [3, 3, 3, 3, 3, 3], "max_model_len": 11})"},
};

} // namespace

std::span<const Fault> deep_faults() { return kFaults; }

} // namespace mqalab
