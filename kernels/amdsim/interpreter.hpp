// The interpreter's loop: one wave until it ends, waits or has had its turn.
#pragma once
#include "executor.hpp"

namespace amdsim {

// Runs `w` until it ends, meets a barrier or has run `budget` instructions.
void run_wave(Wave& w, CodeObj& co, uint64_t budget);

void set_deadline(); // AMDSIM_TIMEOUT from now on
double now_seconds();

} // namespace amdsim
