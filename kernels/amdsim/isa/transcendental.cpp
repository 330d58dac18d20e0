// Below 1 ulp; denormals are flushed where the manual says so. All in double, so that the result
// is rounded but once; no library calls, so that the loops over lanes become vector code.
#include "vector_op.hpp"

namespace amdsim {
namespace {

inline float flush(float x) { return (asu(x) & 0x7f800000) ? x : asf(asu(x) & 0x80000000); }
inline float exp2_lane(float x) { // in double: 2^n * e^(f ln 2)
  double v = x < -300.f ? -300.0 : x > 300.f ? 300.0 : (double)x;
  double n = std::nearbyint(v), f = (v - n) * 0.6931471805599453;
  double p = 1.0 / 6227020800.0;
  p = std::fma(p, f, 1.0 / 479001600.0);
  p = std::fma(p, f, 1.0 / 39916800.0);
  p = std::fma(p, f, 1.0 / 3628800.0);
  p = std::fma(p, f, 1.0 / 362880.0);
  p = std::fma(p, f, 1.0 / 40320.0);
  p = std::fma(p, f, 1.0 / 5040.0);
  p = std::fma(p, f, 1.0 / 720.0);
  p = std::fma(p, f, 1.0 / 120.0);
  p = std::fma(p, f, 1.0 / 24.0);
  p = std::fma(p, f, 1.0 / 6.0);
  p = std::fma(p, f, 0.5);
  p = std::fma(p, f, 1.0);
  p = std::fma(p, f, 1.0);
  float r = (float)(p * asd((u64)((i64)n + 1023) << 52));
  return x != x ? x + x : r;
}
inline float log2_lane(float x) { // in double: e + 2 atanh((m-1)/(m+1)) / ln 2
  u64 u = asq((double)x);
  i64 e = (i64)(u >> 52 & 2047) - 1023;
  double m = asd((u & 0xfffffffffffffull) | 0x3ff0000000000000ull);
  const bool big = m > 1.4142135623730951;
  m = big ? m * 0.5 : m;
  double ed = (double)(i32)(e + big), s = (m - 1) / (m + 1), z = s * s;
  double p = 1.0 / 21;
  p = std::fma(p, z, 1.0 / 19);
  p = std::fma(p, z, 1.0 / 17);
  p = std::fma(p, z, 1.0 / 15);
  p = std::fma(p, z, 1.0 / 13);
  p = std::fma(p, z, 1.0 / 11);
  p = std::fma(p, z, 1.0 / 9);
  p = std::fma(p, z, 1.0 / 7);
  p = std::fma(p, z, 1.0 / 5);
  p = std::fma(p, z, 1.0 / 3);
  p = std::fma(p, z, 1.0);
  float r = (float)(ed + 2.0 * s * p * 1.4426950408889634);
  r = x == 0 ? -INFINITY : r;
  r = x == INFINITY ? INFINITY : r;
  return x < 0 ? (float)NAN : x != x ? x + x : r;
}
template <bool COS> inline float sin_lane(float x) { // of x revolutions; 0 outside of +-256
  double v = (double)x, r = v - std::nearbyint(v);   // -0.5 to 0.5
  double q = std::nearbyint(r * 4), t = (r - q * 0.25) * 6.283185307179586, z = t * t;
  double s = -1.0 / 1307674368000.0;
  s = std::fma(s, z, 1.0 / 6227020800.0);
  s = std::fma(s, z, -1.0 / 39916800.0);
  s = std::fma(s, z, 1.0 / 362880.0);
  s = std::fma(s, z, -1.0 / 5040.0);
  s = std::fma(s, z, 1.0 / 120.0);
  s = std::fma(s, z, -1.0 / 6.0);
  s = std::fma(s * z, t, t);
  double c = 1.0 / 87178291200.0 * -1;
  c = std::fma(c, z, 1.0 / 479001600.0);
  c = std::fma(c, z, -1.0 / 3628800.0);
  c = std::fma(c, z, 1.0 / 40320.0);
  c = std::fma(c, z, -1.0 / 720.0);
  c = std::fma(c, z, 1.0 / 24.0);
  c = std::fma(c, z, -0.5);
  c = std::fma(c, z, 1.0);
  i32 k = ((i32)q + COS) & 3;
  double o = k & 1 ? c : s;
  o = k & 2 ? -o : o;
  float f = (float)o;
  f = std::fabs(x) > 256.f ? 0.f : f;
  return finite(x) ? f : NAN;
}

void exp_f32(u32* d, VArgs& g) {
  const DenormalsOn on;
  LANES d[l] = asu(flush(exp2_lane(asf(g.a[l]))));
}
void log_f32(u32* d, VArgs& g) {
  const DenormalsOn on;
  LANES d[l] = asu(log2_lane(flush(asf(g.a[l]))));
}

// clang-format off: it takes a * b for a pointer, and would break rows up
constexpr VOp table[] = {
    {"V_RCP_F32", "f:f", FLOATS(1.0f / a)},
    {"V_RCP_IFLAG_F32", "f:f", FLOATS(1.0f / a)},
    {"V_RSQ_F32", "f:f", FLOATS(1.0 / std::sqrt((double)flush(a)))},
    {"V_SQRT_F32", "f:f", FLOATS(std::sqrt(flush(a)))},
    {"V_EXP_F32", "f:f", exp_f32},
    {"V_EXP_LEGACY_F32", "f:f", exp_f32},
    {"V_LOG_F32", "f:f", log_f32},
    {"V_LOG_LEGACY_F32", "f:f", log_f32},
    {"V_SIN_F32", "f:f", FLOATS(sin_lane<false>(a))},
    {"V_COS_F32", "f:f", FLOATS(sin_lane<true>(a))},
    {"V_RCP_F64", "d:d", DOUBLES(1.0 / a)},
    {"V_RSQ_F64", "d:d", DOUBLES(1.0 / std::sqrt(a))},
    {"V_SQRT_F64", "d:d", DOUBLES(std::sqrt(a))},
    {"V_RCP_F16", "h:h", HALF(1.0f / a)},
    {"V_SQRT_F16", "h:h", HALF(std::sqrt(a))},
    {"V_RSQ_F16", "h:h", HALF(1.0 / std::sqrt((double)a))},
    {"V_LOG_F16", "h:h", HALF(log2_lane(a))},
    {"V_EXP_F16", "h:h", HALF(exp2_lane(a))},
    {"V_SIN_F16", "h:h", HALF(sin_lane<false>(a))},
    {"V_COS_F16", "h:h", HALF(sin_lane<true>(a))},
};
// clang-format on

} // namespace

std::span<const VOp> transcendental_ops() { return table; }

} // namespace amdsim
