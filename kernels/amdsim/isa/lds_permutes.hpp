// DS instructions that only move values between lanes
#pragma once
#include "isa.hpp"

namespace amdsim {

void do_permute(Wave& w, const Inst& in);  // to the lane that the address names
void do_bpermute(Wave& w, const Inst& in); // from it
void do_swizzle(Wave& w, const Inst& in);  // by a fixed pattern

} // namespace amdsim
