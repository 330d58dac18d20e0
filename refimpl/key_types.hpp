// The types that keys come in before they are quantised: their bits, and what those stand for.
#pragma once
#include "kernels/mqa.h"

#include <cstdint>

namespace mqalab {

int32_t key_bytes(mqa_key_type); // 2 or 4
// Nearest, ties to even; beyond the type's range an infinity.
uint32_t encode_key(mqa_key_type, double value);
// Exact.
float decode_key(mqa_key_type, uint32_t bits);
uint32_t load_key_bits(mqa_key_type, const uint8_t* from);
void store_key_bits(mqa_key_type, uint32_t bits, uint8_t* to);
// Of the type's finite values the largest.
float largest_key(mqa_key_type);

} // namespace mqalab
