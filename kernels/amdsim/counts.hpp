// Executed instructions by class, and the bytes that they moved, of one launch.
#pragma once
#include "executor.hpp"
#include "include/amdsim/control.h"

namespace amdsim {

extern bool collect_counts;           // amdsim_collect_counts(), or AMDSIM_STATS=2
extern uint64_t class_bytes[C_COUNT]; // of the running launch, summed over active lanes
extern amdsim_counts last_counts;

inline void count_bytes(const Wave& w, const Inst& in) {
  class_bytes[in.klass] += uint64_t{in.bytes} * (in.klass == C_SMEM ? 1 : __builtin_popcountll(w.exec()));
}

void counts_start(const Kernel& k);
void counts_finish(const Kernel& k, const LaunchDims& d, uint64_t waves, uint64_t max_block_instructions);
void print_counts(const Kernel& k, const LaunchDims& d, double seconds); // a line of JSON

} // namespace amdsim
