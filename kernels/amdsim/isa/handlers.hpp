// The handlers and the selectors of all files, for the two
// places that need to know them: select.cpp and classes.cpp
#pragma once
#include "isa.hpp"

namespace amdsim {

// Each fills in.nat and the handler's fields; false: nothing executes it. in.nat may be do_refuse.
bool select_salu(Inst& in);
bool select_valu(Inst& in);
bool select_mfma(Inst& in, bool fnuz);
bool select_fp8_conversion(Inst& in, bool fnuz);
bool select_lds(Inst& in);
bool select_flat(Inst& in); // flat, global, scratch
bool select_buffer(Inst& in);
bool select_scalar_memory(Inst& in);
bool select_lanes(Inst& in);   // moves between lanes, and to and from accumulation registers
bool select_control(Inst& in); // branches, the program counter, hardware registers

} // namespace amdsim
