// Double precision
#include "division.hpp"
#include "float_parts.hpp"
#include "min_max.hpp"
#include "trig_preop.hpp"

namespace amdsim {
namespace {

void div_scale_f64(u32* d, VArgs& g) {
  const DenormalsOn on;
  for (int l = 0; l < 64; l++) {
    double r;
    if (div_scale(asd(ldq(g.a, l)), asd(ldq(g.b, l)), asd(ldq(g.c, l)), r)) g.out |= 1ull << l;
    stq(d, l, asq(r));
  }
}
// a * b + c, where the mask says so with the scaling undone before the one rounding
double div_fmas(double a, double b, double c, bool scaled) {
  if (!scaled) return std::fma(a, b, c);
  const __float128 r = (__float128)a * b + c;
  return (double)(r * (__float128)(expo(c) > 1023 ? 0x1p128 : 0x1p-128));
}
void div_fmas_f64(u32* d, VArgs& g) {
  for (int l = 0; l < 64; l++)
    stq(d, l, asq(div_fmas(asd(ldq(g.a, l)), asd(ldq(g.b, l)), asd(ldq(g.c, l)), g.k >> l & 1)));
}

// clang-format off: it takes a * b for a pointer, and would break rows up
constexpr VOp table[] = {
    {"V_ADD_F64", "d:dd", DOUBLES(a + b)},
    {"V_MUL_F64", "d:dd", DOUBLES(a * b)},
    {"V_FMA_F64", "d:ddd", DOUBLES(std::fma(a, b, c))},
    {"V_FMAC_F64", "d:ddy", DOUBLES(std::fma(a, b, c))},
    {"V_MIN_F64", "d:dd", QUADS(fmin64(a, b))},
    {"V_MAX_F64", "d:dd", QUADS(fmax64(a, b))},
    {"V_TRUNC_F64", "d:d", DOUBLES(std::trunc(a))},
    {"V_CEIL_F64", "d:d", DOUBLES(std::ceil(a))},
    {"V_FLOOR_F64", "d:d", DOUBLES(std::floor(a))},
    {"V_RNDNE_F64", "d:d", DOUBLES(std::nearbyint(a))},
    {"V_FRACT_F64", "d:d", DOUBLES(fract64(a))},
    {"V_LDEXP_F64", "d:du", CODE(LANES { stq(d, l, asq(ldexp64(asd(ldq(pa, l)), (i32)pb[l]))); })},
    {"V_FREXP_EXP_I32_F64", "u:d", FROM_DOUBLE(exponent(a))},
    {"V_FREXP_MANT_F64", "d:d", DOUBLES(mantissa(a))},
    {"V_TRIG_PREOP_F64", "d:du", CODE(LANES { stq(d, l, asq(trig_preop(asd(ldq(pa, l)), pb[l]))); })},
    {"V_DIV_SCALE_F64", "d+:ddd", div_scale_f64},
    {"V_DIV_FMAS_F64", "d:dddv", div_fmas_f64},
    {"V_DIV_FIXUP_F64", "d:ddd", DOUBLES(div_fixup(a, b, c))},
};
// clang-format on

} // namespace

std::span<const VOp> double_ops() { return table; }

} // namespace amdsim
