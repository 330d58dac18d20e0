// Operands that are no register
#pragma once
#include <cstdint>

namespace amdsim {

// An inline constant, literal or aperture as an operand of this type (VOp::sig; i: a
// literal is sign-extended to 64 bits). False: the code stands for something else.
bool constant(unsigned code, uint32_t literal, char type, uint64_t& value);

constexpr uint64_t SHARED_APERTURE = 0x0001000000000000ull, PRIVATE_APERTURE = 0x0002000000000000ull;

} // namespace amdsim
