// The two FP8 e4m3 flavours, byte by byte (operation.md, section 3).
#pragma once
#include "kernels/mqa.h"

#include <array>
#include <cstdint>

namespace mqalab {

// Exact value of a byte; NaN for the flavour's NaN codes.
double decode_fp8(mqa_fp8 flavour, uint8_t byte);
const std::array<double, 256>& fp8_table(mqa_fp8 flavour);
// Nearest byte, ties to even, saturating at the largest finite value; NaN gives the flavour's NaN.
uint8_t encode_fp8(mqa_fp8 flavour, double value);
bool is_nan_code(mqa_fp8 flavour, uint8_t byte);

} // namespace mqalab
