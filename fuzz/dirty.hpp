// LDS and registers hold whatever the last kernel left there.  A kernel that reads them before it writes them
// goes unseen as long as that is zero, so real hardware is made dirty before a case; the simulator poisons by
// itself, to the byte (AMDSIM_POISON).
#pragma once
#include "kernels/launch.hpp"

namespace mqalab {

// Fills the LDS and most of the vector registers of every compute unit with `word`, as far as the scheduler
// gives each of them its share of the blocks.
hipError_t dirty_compute_units(uint32_t word, const mqa::DeviceFacts&, hipStream_t);
// What the launch above consists of.
int dirty_blocks(const mqa::DeviceFacts&);

} // namespace mqalab
