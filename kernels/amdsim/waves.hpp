// Waves and blocks before their first instruction: register
// files, LDS and scratch, and what the hardware puts in them.
#pragma once
#include "executor.hpp"

namespace amdsim {

struct LaunchBuffers {
  uint64_t kernarg, packet; // addresses of the kernel arguments and of the dispatch packet
};

Wave* take_wave(); // from a pool, which grows
Group* take_group();
void give_back(Group* group); // with its waves
void reserve_scratch(const Kernel& k);

void fill(void* p, size_t bytes); // zeros, or AMDSIM_POISON
void init_wave(Wave& w, Group& g, int id, const LaunchBuffers& buffers);

} // namespace amdsim
