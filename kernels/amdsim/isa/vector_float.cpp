// Single precision
#include "division.hpp"
#include "float_parts.hpp"
#include "min_max.hpp"

namespace amdsim {
namespace {

void div_scale_f32(u32* d, VArgs& g) {
  const DenormalsOn on;
  for (int l = 0; l < 64; l++) {
    float r;
    if (div_scale(asf(g.a[l]), asf(g.b[l]), asf(g.c[l]), r)) g.out |= 1ull << l;
    d[l] = asu(r);
  }
}
// a * b + c, where the mask says so with the scaling undone before the one rounding
float div_fmas(float a, float b, float c, bool scaled) {
  if (!scaled) return std::fma(a, b, c);
  const DenormalsOn on;
  const __float128 r = (__float128)a * b + c;
  return (float)(r * (__float128)(expo(c) > 127 ? 0x1p64 : 0x1p-64));
}
void div_fmas_f32(u32* d, VArgs& g) {
  for (int l = 0; l < 64; l++) d[l] = asu(div_fmas(asf(g.a[l]), asf(g.b[l]), asf(g.c[l]), g.k >> l & 1));
}

// Numbers in order are whole numbers in order once the magnitudes of the negative ones are turned over.
i32 ordered(u32 x) { return (i32)(x ^ (u32)((i32)x >> 31) >> 1); }
void med3_f32(u32* d, VArgs& g) {
  const u32 *pa = g.a, *pb = g.b, *pc = g.c;
  u32 nans = 0;
  LANES { nans |= is_nan(pa[l]) | is_nan(pb[l]) | is_nan(pc[l]); }
  if (nans) {
    for (int l = 0; l < 64; l++) d[l] = med32(pa[l], pb[l], pc[l]);
    return;
  }
  LANES {
    const i32 a = ordered(pa[l]), b = ordered(pb[l]), c = ordered(pc[l]);
    d[l] = (u32)ordered((u32)std::max(std::min(a, b), std::min(std::max(a, b), c)));
  }
}

// clang-format off: it takes a * b for a pointer, and would break rows up
constexpr VOp table[] = {
    {"V_ADD_F32", "f:ff", FLOATS(a + b)},
    {"V_SUB_F32", "f:ff", FLOATS(a - b)},
    {"V_SUBREV_F32", "f:ff", FLOATS(b - a)},
    {"V_MUL_F32", "f:ff", FLOATS(a * b)},
    {"V_MUL_LEGACY_F32", "f:ff", FLOATS(a == 0 || b == 0 ? 0.f : a * b)},
    {"V_FMA_F32", "f:fff", FLOATS(std::fma(a, b, c))},
    {"V_FMAC_F32", "f:ffx", FLOATS(std::fma(a, b, c))},
    {"V_FMAMK_F32", "f:ffK", FLOATS(std::fma(a, c, b))},
    {"V_FMAAK_F32", "f:ffK", FLOATS(std::fma(a, b, c))},
    {"V_MIN_F32", "f:ff", WORDS(fmin32(a, b))},
    {"V_MAX_F32", "f:ff", WORDS(fmax32(a, b))},
    {"V_MIN3_F32", "f:fff", WORDS(fmin32(fmin32(a, b), c))},
    {"V_MAX3_F32", "f:fff", WORDS(fmax32(fmax32(a, b), c))},
    {"V_MED3_F32", "f:fff", med3_f32},
    {"V_TRUNC_F32", "f:f", FLOATS(std::trunc(a))},
    {"V_CEIL_F32", "f:f", FLOATS(std::ceil(a))},
    {"V_FLOOR_F32", "f:f", FLOATS(std::floor(a))},
    {"V_RNDNE_F32", "f:f", FLOATS(std::nearbyint(a))},
    {"V_FRACT_F32", "f:f", FLOATS(fract32(a))},
    {"V_LDEXP_F32", "f:fu", CODE(LANES { d[l] = asu(ldexp32(asf(pa[l]), (i32)pb[l])); })},
    {"V_FREXP_EXP_I32_F32", "u:f", CODE(const DenormalsOn on; LANES { d[l] = (u32)exponent(asf(pa[l])); })},
    {"V_FREXP_MANT_F32", "f:f", CODE(const DenormalsOn on; LANES { d[l] = asu(mantissa(asf(pa[l]))); })},
    {"V_DIV_SCALE_F32", "f+:fff", div_scale_f32},
    {"V_DIV_FMAS_F32", "f:fffv", div_fmas_f32},
    {"V_DIV_FIXUP_F32", "f:fff", FLOATS(div_fixup(a, b, c))},
};
// clang-format on

} // namespace

std::span<const VOp> float_ops() { return table; }

} // namespace amdsim
