// Half precision: computed as floats, rounded at the end
#include "division.hpp"
#include "float_parts.hpp"
#include "fused_half.hpp"
#include "min_max.hpp"

namespace amdsim {
namespace {

float rounded(float x) { return half_to_float(float_to_half(x)); }
void ldexp_f16(u32* d, VArgs& g) {
  Floats64 a(g.a), x;
  LANES x.x[l] = ldexp32(a.x[l], (i32)clamp(signed16(g.b[l]), -60, 60));
  floats_to_halves(d, x.x);
}

// clang-format off: it takes a * b for a pointer, and would break rows up
constexpr VOp table[] = {
    {"V_ADD_F16", "h:hh", HALVES_2(a + b)},
    {"V_SUB_F16", "h:hh", HALVES_2(a - b)},
    {"V_SUBREV_F16", "h:hh", HALVES_2(b - a)},
    {"V_MUL_F16", "h:hh", HALVES_2(a * b)},
    {"V_FMA_F16", "H:hhh", HALVES_3(fmah(a, b, c))},
    {"V_FMA_LEGACY_F16", "h:hhh", HALVES_3(fmah(a, b, c))},
    {"V_MAC_F16", "h:hhz", HALVES_3(rounded(a * b) + c)},
    {"V_MADMK_F16", "h:hhK", HALVES_3(rounded(a * c) + b)},
    {"V_MADAK_F16", "h:hhK", HALVES_3(rounded(a * b) + c)},
    {"V_MAD_F16", "H:hhh", HALVES_3(rounded(a * b) + c)},
    {"V_MAD_LEGACY_F16", "h:hhh", HALVES_3(rounded(a * b) + c)},
    {"V_MIN_F16", "h:hh", WORDS(fmin16(a, b))},
    {"V_MAX_F16", "h:hh", WORDS(fmax16(a, b))},
    {"V_MIN3_F16", "H:hhh", WORDS(fmin16(fmin16(a, b), c))},
    {"V_MAX3_F16", "H:hhh", WORDS(fmax16(fmax16(a, b), c))},
    {"V_MED3_F16", "H:hhh", WORDS(med16(a, b, c))},
    {"V_FLOOR_F16", "h:h", HALF(std::floor(a))},
    {"V_CEIL_F16", "h:h", HALF(std::ceil(a))},
    {"V_TRUNC_F16", "h:h", HALF(std::trunc(a))},
    {"V_RNDNE_F16", "h:h", HALF(std::nearbyint(a))},
    {"V_FRACT_F16", "h:h", HALF(!finite(a) ? NAN : min2(a - std::floor(a), 0x1.ffcp-1f))},
    {"V_LDEXP_F16", "h:hs", ldexp_f16},
    {"V_FREXP_MANT_F16", "h:h", HALF(mantissa(a))},
    {"V_FREXP_EXP_I16_F16", "s:h", WORDS(low16((u32)exponent(half_to_float(a))))},
    {"V_DIV_FIXUP_F16", "H:hhh", HALVES_3(div_fixup(a, b, c))},
    {"V_DIV_FIXUP_LEGACY_F16", "h:hhh", HALVES_3(div_fixup(a, b, c))},
};
// clang-format on

} // namespace

std::span<const VOp> half_ops() { return table; }

} // namespace amdsim
