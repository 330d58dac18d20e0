// Conversions between numbers of 16, 32 and 64 bits
#include "float_parts.hpp"

namespace amdsim {
namespace {

void pack_to_zero(u32* d, VArgs& g) {
  Floats64 a, b;
  alignas(64) u32 high[64];
  memcpy(a.x, g.a, 256);
  memcpy(b.x, g.b, 256);
  floats_to_halves<TO_ZERO>(high, b.x);
  floats_to_halves<TO_ZERO>(d, a.x);
  LANES d[l] |= high[l] << 16;
}

// clang-format off: it takes a * b for a pointer, and would break rows up
constexpr VOp table[] = {
    {"V_CVT_PK_BF16_F32", "u:ff", WORDS(float_to_bf16(asf(a)) | float_to_bf16(asf(b)) << 16)},
    {"V_CVT_F32_I32", "f:u", WORDS(asu((float)(i32)a))},
    {"V_CVT_F32_U32", "f:u", WORDS(asu((float)a))},
    {"V_CVT_I32_F32", "u:f", FROM_FLOAT(toi32(a))},
    {"V_CVT_U32_F32", "u:f", FROM_FLOAT(tou32(a))},
    {"V_CVT_RPI_I32_F32", "u:f", FROM_FLOAT(toi32(std::floor((double)a + 0.5)))},
    {"V_CVT_FLR_I32_F32", "u:f", FROM_FLOAT(toi32(std::floor(a)))},
    {"V_CVT_OFF_F32_I4", "f:u", WORDS(asu((float)((i32)(a << 28) >> 28) * 0.0625f))},
    {"V_CVT_F16_F32", "h:f", TO_HALF(asf(a))},
    {"V_CVT_F32_F16", "f:h", FROM_HALF(asu(a))},
    {"V_CVT_F32_F64", "f:d", FROM_DOUBLE(asu((float)a))},
    {"V_CVT_F64_F32", "d:f", TO_DOUBLE(asf(a))},
    {"V_CVT_I32_F64", "u:d", FROM_DOUBLE((u32)toi32(a))},
    {"V_CVT_U32_F64", "u:d", FROM_DOUBLE(tou32(a))},
    {"V_CVT_F64_I32", "d:u", TO_DOUBLE((i32)a)},
    {"V_CVT_F64_U32", "d:u", TO_DOUBLE(a)},
    {"V_CVT_F32_UBYTE0", "f:u", WORDS(asu((float)(i32)(a & 255)))},
    {"V_CVT_F32_UBYTE1", "f:u", WORDS(asu((float)(i32)(a >> 8 & 255)))},
    {"V_CVT_F32_UBYTE2", "f:u", WORDS(asu((float)(i32)(a >> 16 & 255)))},
    {"V_CVT_F32_UBYTE3", "f:u", WORDS(asu((float)(i32)(a >> 24)))},
    {"V_CVT_F16_U16", "h:s", TO_HALF((i32)low16(a))},
    {"V_CVT_F16_I16", "h:s", TO_HALF(signed16(a))},
    {"V_CVT_U16_F16", "s:h", FROM_HALF(!(a > 0) ? 0u : a >= 65535.f ? 65535u : (u32)(i32)a)},
    {"V_CVT_I16_F16", "s:h",
     FROM_HALF(low16((u32)(a != a ? 0 : a >= 32767.f ? 32767 : a <= -32768.f ? -32768 : (i32)a)))},
    {"V_CVT_PKRTZ_F16_F32", "u:ff", pack_to_zero},
    {"V_CVT_PK_U16_U32", "u:uu", WORDS(min2(a, 65535u) | min2(b, 65535u) << 16)},
    {"V_CVT_PK_I16_I32", "u:uu",
     WORDS(low16(clamp((i32)a, -32768, 32767)) | (u32)clamp((i32)b, -32768, 32767) << 16)},
};
// clang-format on

} // namespace

std::span<const VOp> conversion_ops() { return table; }

} // namespace amdsim
