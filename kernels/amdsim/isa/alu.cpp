// Scalar and vector arithmetic.  A vector instruction is taken apart once (VInst): where its operands come from, what
// is done to them on the way (abs, neg, op_sel, SDWA, DPP), the function that does the arithmetic on 64 lanes, and what
// is done to the result (clamp, omod, SDWA, EXEC).
#include "amdsim.h"

#include <cmath>
#include <immintrin.h>
#include <unordered_map>

namespace amdsim {

typedef uint32_t u32;
typedef uint64_t u64;
typedef int32_t i32;
typedef int64_t i64;
#ifdef __clang__
#define LANES _Pragma("clang loop vectorize(assume_safety)") for (int l = 0; l < 64; l++)
#else
#define LANES _Pragma("GCC ivdep") for (int l = 0; l < 64; l++)
#endif
static inline float asf(u32 u) { return __builtin_bit_cast(float, u); }
static inline u32 asu(float f) { return __builtin_bit_cast(u32, f); }
static inline double asd(u64 u) { return __builtin_bit_cast(double, u); }
static inline u64 asq(double d) { return __builtin_bit_cast(u64, d); }
static inline u64 ldq(const u32* p, int l) { return p[l] | (u64)p[64 + l] << 32; }
static inline void stq(u32* p, int l, u64 v) { p[l] = (u32)v; p[64 + l] = v >> 32; }

// ---- half precision, 64 lanes at a time -------------------------------------------------------------------------
static inline void h2f(float* o, const u32* x) {
#ifdef __AVX512F__
  for (int i = 0; i < 64; i += 16) _mm512_store_ps(o + i, _mm512_cvtph_ps(_mm512_cvtepi32_epi16(_mm512_loadu_si512(x + i))));
#else
  for (int l = 0; l < 64; l++) o[l] = _cvtsh_ss((uint16_t)x[l]);
#endif
}
template <int RND> static inline void f2hr(u32* o, const float* x) {
#ifdef __AVX512F__
  for (int i = 0; i < 64; i += 16) _mm512_storeu_si512(o + i, _mm512_cvtepu16_epi32(_mm512_cvtps_ph(_mm512_load_ps(x + i), RND)));
#else
  for (int l = 0; l < 64; l++) o[l] = _cvtss_sh(x[l], RND);
#endif
}
static inline void f2h(u32* o, const float* x) { f2hr<_MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC>(o, x); }
static float h1f(u32 h) { return _cvtsh_ss((uint16_t)h); }
static u32 f1h(float f) { return _cvtss_sh(f, _MM_FROUND_TO_NEAREST_INT); }
// the double nearest to zero of the two around x, with its last bit set if x is none: rounds once more without harm
static inline float odd32(double s) {
  u64 u = asq(s);
  u64 low = u & 0x1fffffff;
  u = (u & ~0x1fffffffull) | (low && (u << 1) < 0xffe0000000000000ull ? 0x20000000ull : 0) | ((u << 1) >= 0xffe0000000000000ull ? low : 0);
  return (float)asd(u);
}
static inline double sum_odd(double p, double c) {  // p + c rounded to odd
  double s = p + c, bb = s - p, e = (p - (s - bb)) + (c - bb);
  u64 u = asq(s);
  bool fin = (u << 1) < 0xffe0000000000000ull;
  if (fin && e != 0 && !(u & 1)) u += (e > 0) == (s > 0) ? 1 : -1;
  return asd(u);
}

// ---- the arithmetic ---------------------------------------------------------------------------------------------
struct VArgs { const u32 *a, *b, *c; u64 k = 0, out = 0; Wave* w = nullptr; };
typedef void (*VFn)(u32* d, VArgs& g);
// sig: result:operands.  f h d float; u 32 bits; s 16 bits; q 64 bits; P p packed 16-bit float, integer; F two floats;
// m mixed 16 and 32 bits.  H S: a half of the register, the other stays.  Not from an operand field: x y z Z w the
// destination (float, double, half, packed, bits); K the literal; k the carry or select mask; v VCC as a mask.
// Results: b a mask in VCC or SGPRs, and none else; a trailing + means a carry mask besides.
struct VOp { const char *name, *sig; VFn fn; VFn sat = nullptr; };

#define FN(...) [](u32* d, VArgs& g) { const u32 *pa = g.a, *pb = g.b, *pc = g.c; (void)pa; (void)pb; (void)pc; (void)g; __VA_ARGS__ }
#define U(E) FN(LANES { const u32 a = pa[l], b = pb[l], c = pc[l]; (void)a; (void)b; (void)c; d[l] = (u32)(E); })
#define Fl(E) FN(LANES { const float a = asf(pa[l]), b = asf(pb[l]), c = asf(pc[l]); (void)a; (void)b; (void)c; d[l] = asu((float)(E)); })
#define D(E) FN(LANES { const double a = asd(ldq(pa, l)), b = asd(ldq(pb, l)), c = asd(ldq(pc, l)); (void)a; (void)b; (void)c; stq(d, l, asq(E)); })
#define Q(E) FN(LANES { const u64 a = ldq(pa, l), b = ldq(pb, l), c = ldq(pc, l); (void)a; (void)b; (void)c; stq(d, l, (u64)(E)); })
#define UQ(E) FN(LANES { const u32 a = pa[l]; const u64 b = ldq(pb, l), c = ldq(pc, l); (void)a; (void)b; (void)c; stq(d, l, (u64)(E)); })
#define H1(E) FN(alignas(64) float A[64], X[64]; h2f(A, pa); LANES { const float a = A[l]; X[l] = (float)(E); } f2h(d, X);)
#define H2(E) FN(alignas(64) float A[64], B[64], X[64]; h2f(A, pa); h2f(B, pb); LANES { const float a = A[l], b = B[l]; X[l] = (float)(E); } f2h(d, X);)
#define H3(E) FN(alignas(64) float A[64], B[64], C[64], X[64]; h2f(A, pa); h2f(B, pb); h2f(C, pc); LANES { const float a = A[l], b = B[l], c = C[l]; X[l] = (float)(E); } f2h(d, X);)
// both halves of packed operands: the expression on floats, or on 16-bit numbers (unsigned; S: signed)
#define PF(n, E) FN(alignas(64) float A[64], B[64], C[64], X[64]; alignas(64) u32 ta[64], tb[64], tc[64], r0[64], r1[64]; \
  for (int h = 0; h < 2; h++) { LANES { ta[l] = pa[l] >> (16 * h) & 0xffff; tb[l] = pb[l] >> (16 * h) & 0xffff; if (n > 2) tc[l] = pc[l] >> (16 * h) & 0xffff; } \
    h2f(A, ta); h2f(B, tb); if (n > 2) h2f(C, tc); \
    LANES { const float a = A[l], b = B[l], c = n > 2 ? C[l] : 0; (void)c; X[l] = (float)(E); } f2h(h ? r1 : r0, X); } \
  LANES d[l] = r0[l] | r1[l] << 16;)
#define PU(E) FN(LANES { u32 r = 0; { const u32 a = pa[l] & 0xffff, b = pb[l] & 0xffff, c = pc[l] & 0xffff; (void)c; r = (u32)(E) & 0xffff; } { const u32 a = pa[l] >> 16, b = pb[l] >> 16, c = pc[l] >> 16; (void)c; r |= (u32)(E) << 16; } d[l] = r; })
#define PS(E) FN(LANES { u32 r = 0; { const i32 a = (int16_t)pa[l], b = (int16_t)pb[l], c = (int16_t)pc[l]; (void)c; r = (u32)(E) & 0xffff; } { const i32 a = (i32)pa[l] >> 16, b = (i32)pb[l] >> 16, c = (i32)pc[l] >> 16; (void)c; r |= (u32)(E) << 16; } d[l] = r; })
#define P2F(E) FN(LANES { { const float a = asf(pa[l]), b = asf(pb[l]), c = asf(pc[l]); (void)c; d[l] = asu(E); } { const float a = asf(pa[64 + l]), b = asf(pb[64 + l]), c = asf(pc[64 + l]); (void)c; d[64 + l] = asu(E); } })
#define SH(x) ((i32)(int16_t)(x))
#define LO(x) ((x) & 0xffff)

// minimum and maximum on the bits: a signalling NaN comes out quieted, else the number wins over the NaN; -0 < +0
template <class T, T SIGN, T INF, T QUIET, bool MAX> static inline T fmm(T a, T b) {
  const bool na = (T)(a & ~SIGN) > INF, nb = (T)(b & ~SIGN) > INF;
  const T ka = a & SIGN ? (T)~a : (T)(a | SIGN), kb = b & SIGN ? (T)~b : (T)(b | SIGN);
  T r = (MAX ? ka > kb : ka < kb) ? a : b;
  r = nb ? a : r;
  r = na ? b : r;
  r = nb && !(b & QUIET) ? (T)(b | QUIET) : r;
  r = na && (!(a & QUIET) || nb) ? (T)(a | QUIET) : r;
  return r;
}
static inline u32 fmin32(u32 a, u32 b) { return fmm<u32, 0x80000000u, 0x7f800000u, 0x400000u, false>(a, b); }
static inline u32 fmax32(u32 a, u32 b) { return fmm<u32, 0x80000000u, 0x7f800000u, 0x400000u, true>(a, b); }
static inline u32 fmin16(u32 a, u32 b) { return fmm<uint16_t, 0x8000u, 0x7c00u, 0x200u, false>((uint16_t)a, (uint16_t)b); }
static inline u32 fmax16(u32 a, u32 b) { return fmm<uint16_t, 0x8000u, 0x7c00u, 0x200u, true>((uint16_t)a, (uint16_t)b); }
static inline u64 fmin64(u64 a, u64 b) { return fmm<u64, 1ull << 63, 0x7ffull << 52, 1ull << 51, false>(a, b); }
static inline u64 fmax64(u64 a, u64 b) { return fmm<u64, 1ull << 63, 0x7ffull << 52, 1ull << 51, true>(a, b); }
static inline u32 med32(u32 a, u32 b, u32 c) {
  auto nan = [](u32 x) { return (x & 0x7fffffff) > 0x7f800000; };
  const u32 m = fmin32(fmin32(a, b), c), r = fmax32(fmin32(a, b), fmin32(fmax32(a, b), c));
  return (nan(a) | nan(b) | nan(c)) ? m : r;
}
static inline u32 med16(u32 a, u32 b, u32 c) {
  auto nan = [](u32 x) { return (x & 0x7fff) > 0x7c00; };
  const u32 m = fmin16(fmin16(a, b), c), r = fmax16(fmin16(a, b), fmin16(fmax16(a, b), c));
  return (nan(a) | nan(b) | nan(c)) ? m : r;
}
template <class T> static inline T min2(T a, T b) { return a < b ? a : b; }
template <class T> static inline T max2(T a, T b) { return a > b ? a : b; }
template <class T> static inline T med(T a, T b, T c) { return max2(min2(a, b), min2(max2(a, b), c)); }
static inline i64 sat(i64 v, i64 lo, i64 hi) { return v < lo ? lo : v > hi ? hi : v; }
static inline u32 sat32(i64 v) { return (u32)sat(v, INT32_MIN, INT32_MAX); }
static inline u32 usat32(i64 v) { return (u32)sat(v, 0, UINT32_MAX); }
static inline u32 sat16(i32 v) { return (u32)(v < -32768 ? -32768 : v > 32767 ? 32767 : v); }
static inline u32 usat16(i64 v) { return (u32)sat(v, 0, 65535); }
static inline i32 i24(u32 v) { return (i32)(v << 8) >> 8; }
static inline u32 u24(u32 v) { return v & 0xffffff; }

static inline i32 toi32(float a) { return a != a ? 0 : a >= 2147483648.f ? INT32_MAX : a <= -2147483648.f ? INT32_MIN : (i32)a; }
static inline u32 tou32(float a) { return !(a > 0) ? 0 : a >= 4294967296.f ? UINT32_MAX : (u32)a; }
static inline i32 toi32(double a) { return a != a ? 0 : a >= 2147483647.0 ? INT32_MAX : a <= -2147483648.0 ? INT32_MIN : (i32)a; }
static inline u32 tou32(double a) { return !(a > 0) ? 0 : a >= 4294967295.0 ? UINT32_MAX : (u32)(i64)a; }
static inline float ldexp32(float a, i32 n) {
  n = n < -300 ? -300 : n > 300 ? 300 : n;
  return (float)((double)a * asd((u64)(n + 1023) << 52));
}
static inline double ldexp64(double a, i32 n) { return std::ldexp(a, std::min(std::max(n, -4000), 4000)); }
static inline float fract32(float a) { float r = a - std::floor(a); r = r < 0x1.fffffep-1f ? r : 0x1.fffffep-1f; return a - a == 0 ? r : NAN; }
static inline double fract64(double a) { double r = a - std::floor(a); r = r < 0x1.fffffffffffffp-1 ? r : 0x1.fffffffffffffp-1; return a - a == 0 ? r : NAN; }
template <class T> static inline bool fin(T x) { return x - x == 0; }
template <class T> static i32 fexp(T x) { int e = 0; if (fin(x) && x != 0) std::frexp(x, &e); return e; }
template <class T> static T fmant(T x) { int e; return fin(x) ? std::frexp(x, &e) : x; }

// ---- transcendental: below 1 ulp; denormals flushed where the manual says so -------------------------------------
static inline float flush(float x) { return (asu(x) & 0x7f800000) ? x : asf(asu(x) & 0x80000000); }
static inline float exp2_(float x) {  // in double: 2^n * e^(f ln 2)
  double v = x < -300.f ? -300.0 : x > 300.f ? 300.0 : (double)x;
  double n = std::nearbyint(v), f = (v - n) * 0.6931471805599453;
  double p = 1.0 / 6227020800.0;
  p = std::fma(p, f, 1.0 / 479001600.0); p = std::fma(p, f, 1.0 / 39916800.0); p = std::fma(p, f, 1.0 / 3628800.0); p = std::fma(p, f, 1.0 / 362880.0);
  p = std::fma(p, f, 1.0 / 40320.0); p = std::fma(p, f, 1.0 / 5040.0); p = std::fma(p, f, 1.0 / 720.0); p = std::fma(p, f, 1.0 / 120.0);
  p = std::fma(p, f, 1.0 / 24.0); p = std::fma(p, f, 1.0 / 6.0); p = std::fma(p, f, 0.5); p = std::fma(p, f, 1.0); p = std::fma(p, f, 1.0);
  float r = (float)(p * asd((u64)((i64)n + 1023) << 52));
  return x != x ? x + x : r;
}
static inline float log2_(float x) {  // in double: e + 2 atanh((m-1)/(m+1)) / ln 2
  u64 u = asq((double)x);
  i64 e = (i64)(u >> 52 & 2047) - 1023;
  double m = asd((u & 0xfffffffffffffull) | 0x3ff0000000000000ull);
  const bool big = m > 1.4142135623730951;
  m = big ? m * 0.5 : m;
  double ed = (double)(i32)(e + big), s = (m - 1) / (m + 1), z = s * s;
  double p = 1.0 / 21;
  p = std::fma(p, z, 1.0 / 19); p = std::fma(p, z, 1.0 / 17); p = std::fma(p, z, 1.0 / 15); p = std::fma(p, z, 1.0 / 13); p = std::fma(p, z, 1.0 / 11);
  p = std::fma(p, z, 1.0 / 9); p = std::fma(p, z, 1.0 / 7); p = std::fma(p, z, 1.0 / 5); p = std::fma(p, z, 1.0 / 3); p = std::fma(p, z, 1.0);
  float r = (float)(ed + 2.0 * s * p * 1.4426950408889634);
  r = x == 0 ? -INFINITY : r;
  r = x == INFINITY ? INFINITY : r;
  return x < 0 ? (float)NAN : x != x ? x + x : r;
}
template <bool COS> static inline float sin_(float x) {  // of x revolutions; 0 outside of +-256
  double v = (double)x, r = v - std::nearbyint(v);  // -0.5 to 0.5
  double q = std::nearbyint(r * 4), t = (r - q * 0.25) * 6.283185307179586, z = t * t;
  double s = -1.0 / 1307674368000.0;
  s = std::fma(s, z, 1.0 / 6227020800.0); s = std::fma(s, z, -1.0 / 39916800.0); s = std::fma(s, z, 1.0 / 362880.0); s = std::fma(s, z, -1.0 / 5040.0);
  s = std::fma(s, z, 1.0 / 120.0); s = std::fma(s, z, -1.0 / 6.0); s = std::fma(s * z, t, t);
  double c = 1.0 / 87178291200.0 * -1;
  c = std::fma(c, z, 1.0 / 479001600.0); c = std::fma(c, z, -1.0 / 3628800.0); c = std::fma(c, z, 1.0 / 40320.0); c = std::fma(c, z, -1.0 / 720.0);
  c = std::fma(c, z, 1.0 / 24.0); c = std::fma(c, z, -0.5); c = std::fma(c, z, 1.0);
  i32 k = ((i32)q + COS) & 3;
  double o = k & 1 ? c : s;
  o = k & 2 ? -o : o;
  float f = (float)o;
  f = std::fabs(x) > 256.f ? 0.f : f;
  return fin(x) ? f : NAN;
}

// ---- division ----------------------------------------------------------------------------------------------------
static int expo(float f) { return asu(f) >> 23 & 255; }
static int expo(double d) { return asq(d) >> 52 & 2047; }
template <class T> static bool denorm(T x) { return x != 0 && expo(x) == 0; }
// brings a quotient's operands to where the Newton steps neither overflow nor lose bits; returns VCC
template <class T> static bool div_scale(T s0, T den, T num, T& d) {
  constexpr bool F = sizeof(T) == 4;
  const int up = F ? 64 : 128, big = F ? 96 : 768, tiny = F ? 23 : 53, bias = F ? 127 : 1023;
  d = s0;
  if (num == 0 || den == 0) { d = NAN; return false; }
  auto same = [](T a, T b) { return memcmp(&a, &b, sizeof a) == 0; };
  const bool rden = !denorm(den) && expo(den) >= 2 * bias - 1 && !std::isinf(den) && !std::isnan(den);
  T q = num / den;
  const bool qden = !std::isnan(q) && !std::isinf(num) && (denorm(q) || q == 0);
  if (expo(num) - expo(den) >= big) { if (same(s0, den)) d = std::ldexp(s0, up); return true; }
  if (denorm(den)) { d = std::ldexp(s0, up); return false; }
  if (rden && qden) { if (same(s0, den)) d = std::ldexp(s0, -up); return true; }  // the manual says +64, which would overflow
  if (rden) { d = std::ldexp(s0, -up); return false; }
  if (qden) { if (same(s0, num)) d = std::ldexp(s0, up); return true; }
  if (expo(num) <= tiny) d = std::ldexp(s0, up);
  return false;
}
template <class T> static T div_fixup(T q, T den, T num) {
  const bool s = std::signbit(den) != std::signbit(num);
  if (std::isnan(num)) return num;
  if (std::isnan(den)) return den;
  if ((den == 0 && num == 0) || (std::isinf(den) && std::isinf(num))) return NAN;
  T r = den == 0 || std::isinf(num) ? (T)INFINITY : std::isinf(den) || num == 0 ? (T)0 : std::isnan(q) ? (T)INFINITY : std::fabs(q);
  return s ? -r : r;
}
struct Csr {  // denormals on for as long as this lives
  unsigned old = _mm_getcsr();
  Csr() { _mm_setcsr(0x1f80); }
  ~Csr() { _mm_setcsr(old); }
};

// ---- 2/pi, for v_trig_preop_f64: 1280 bits, from Machin's formula -------------------------------------------------
struct TwoOverPi {
  static constexpr int N = 44;                      // 32-bit words, the most significant first; word 0 is the integer part
  typedef std::vector<u32> Big;
  static void div_small(Big& a, u32 k) { u64 r = 0; for (u32& w : a) { u64 v = r << 32 | w; w = (u32)(v / k); r = v % k; } }
  static void add(Big& a, const Big& b) { u64 c = 0; for (int i = N; i--;) { c += (u64)a[i] + b[i]; a[i] = (u32)c; c >>= 32; } }
  static void sub(Big& a, const Big& b) { i64 c = 0; for (int i = N; i--;) { c += (i64)a[i] - b[i]; a[i] = (u32)c; c >>= 32; } }
  static Big atan_inv(u32 x, u32 times) {
    Big t(N, 0), s(N, 0);
    t[0] = times;
    div_small(t, x);
    s = t;
    for (u32 k = 3;; k += 2) {
      div_small(t, x); div_small(t, x);
      Big q = t;
      div_small(q, k);
      bool z = true;
      for (u32 w : q) z &= !w;
      if (z) return s;
      if (k & 2) sub(s, q); else add(s, q);
    }
  }
  Big bits;                                         // the fraction's bits
  TwoOverPi() : bits(N, 0) {
    Big pi = atan_inv(5, 16);
    sub(pi, atan_inv(239, 4));
    Big r(N, 0);                                    // remainder of 2 / pi, bit by bit
    r[0] = 2;
    for (int i = 0; i < 32 * (N - 2); i++) {
      add(r, Big(r));                               // 2 < pi: the first bit is of the fraction
      bool ge = true;
      for (int k = 0; k < N; k++) if (r[k] != pi[k]) { ge = r[k] > pi[k]; break; }
      if (ge) { sub(r, pi); bits[i / 32] |= 1u << (31 - i % 32); }
    }
  }
  int bit(int i) const { return i < 0 || i >= 32 * (N - 2) ? 0 : bits[i / 32] >> (31 - i % 32) & 1; }
};
static double trig_preop(double x, u32 seg) {
  static const TwoOverPi t;
  int shift = (int)(seg & 31) * 53, e = expo(x);
  if (e > 1077) shift += e - 1077;
  u64 m = 0;
  for (int i = 0; i < 53; i++) m = m << 1 | (shift + i < 1201 ? t.bit(shift + i) : 0);
  return std::ldexp((double)m, -53 - shift + (e >= 1968 ? 128 : 0));
}

static inline u32 perm(u32 a, u32 b, u32 s) {
  const u64 v = (u64)a << 32 | b;
  u32 r = 0;
  for (int k = 0; k < 4; k++) {
    const u32 q = s >> (8 * k) & 255;
    u32 y = (u32)(v >> (8 * (q & 7))) & 255;
    if (q >= 8) y = q > 12 ? 255 : q == 12 ? 0 : (v >> (16 * (q - 8) + 15) & 1) ? 255 : 0;
    r |= y << (8 * k);
  }
  return r;
}
static inline u32 sad8(u32 a, u32 b) { u32 s = 0; for (int k = 0; k < 32; k += 8) { i32 x = (i32)(a >> k & 255) - (i32)(b >> k & 255); s += (u32)(x < 0 ? -x : x); } return s; }
static inline u32 msad8(u32 a, u32 b) { u32 s = 0; for (int k = 0; k < 32; k += 8) { u32 y = b >> k & 255; i32 x = (i32)(a >> k & 255) - (i32)y; s += y ? (u32)(x < 0 ? -x : x) : 0; } return s; }
static inline i64 dot4i(u32 a, u32 b) { i64 s = 0; for (int k = 0; k < 32; k += 8) s += (int8_t)(a >> k) * (int8_t)(b >> k); return s; }
static inline i64 dot4u(u32 a, u32 b) { i64 s = 0; for (int k = 0; k < 32; k += 8) s += (i64)(uint8_t)(a >> k) * (uint8_t)(b >> k); return s; }
static inline i64 dot8i(u32 a, u32 b) { i64 s = 0; for (int k = 0; k < 32; k += 4) s += ((i32)(a << (28 - k)) >> 28) * ((i32)(b << (28 - k)) >> 28); return s; }
static inline i64 dot8u(u32 a, u32 b) { i64 s = 0; for (int k = 0; k < 32; k += 4) s += (i64)(a >> k & 15) * (b >> k & 15); return s; }
static inline i64 dot2i(u32 a, u32 b) { return (i64)SH(a) * SH(b) + (i64)((i32)a >> 16) * ((i32)b >> 16); }
static inline i64 dot2u(u32 a, u32 b) { return (i64)((u64)LO(a) * LO(b) + (u64)(a >> 16) * (b >> 16)); }
static inline float dot2h(u32 a, u32 b, float c) { return (float)((double)h1f(a) * h1f(b) + (double)h1f(a >> 16) * h1f(b >> 16) + c); }
static inline float fmah(float a, float b, float c) { return odd32(sum_odd((double)a * b, c)); }
static float rh(float x) { return h1f(f1h(x)); }
static inline u32 bfe(u32 a, u32 o, u32 n) { return (a >> (o & 31)) & (u32)((1ull << (n & 31)) - 1); }
static inline u32 sbfe(u32 a, u32 o, u32 n) {  // the field's own bits beyond bit 31 are copies of the sign
  o &= 31; n &= 31;
  if (!n) return 0;
  i32 v = (i32)a >> o;
  return o + n >= 32 ? (u32)v : (u32)((i32)((u32)v << (32 - n)) >> (32 - n));
}
// the class test's answer for a number of so many mantissa and exponent bits
template <class T> static inline bool klass(T x, u32 m, int mant, int ebits) {
  const T e = x >> mant & (((T)1 << ebits) - 1), f = x & (((T)1 << mant) - 1);
  const bool s = x >> (mant + ebits) & 1;
  int k;
  if (e == (((T)1 << ebits) - 1)) k = f ? (f >> (mant - 1) ? 1 : 0) : s ? 2 : 9;
  else if (e) k = s ? 3 : 8;
  else if (f) k = s ? 4 : 7;
  else k = s ? 5 : 6;
  return m >> k & 1;
}
static inline u64 mask_of(const u32* t) {  // of 64 words that are 0 or not
#ifdef __AVX512F__
  u64 m = 0;
  for (int i = 0; i < 4; i++) { __m512i v = _mm512_load_si512(t + 16 * i); m |= (u64)_mm512_test_epi32_mask(v, v) << (16 * i); }
  return m;
#else
  u64 m = 0;
  for (int i = 0; i < 8; i++) m |= (u64)(u32)_mm256_movemask_ps(_mm256_load_ps((const float*)t + 8 * i)) << (8 * i);
  return m;
#endif
}
#define MASK(E) { alignas(64) u32 t_[64]; LANES { t_[l] = (E) ? ~0u : 0u; } g.out = mask_of(t_); }
static inline void select64(u32* d, const u32* a, const u32* b, u64 k) {  // k ? b : a
#ifdef __AVX512F__
  for (int i = 0; i < 4; i++) _mm512_storeu_si512(d + 16 * i, _mm512_mask_blend_epi32((__mmask16)(k >> (16 * i)), _mm512_loadu_si512(a + 16 * i), _mm512_loadu_si512(b + 16 * i)));
#else
  LANES d[l] = k >> l & 1 ? b[l] : a[l];
#endif
}
#define CARRY(SUM, OUT) FN(alignas(64) u32 t_[64]; const u64 k = g.k; LANES { const u32 a = pa[l], b = pb[l], ci = (u32)(k >> l & 1); (void)ci; t_[l] = (OUT) ? ~0u : 0u; d[l] = (SUM); } g.out = mask_of(t_);)

static inline u32 bitop3(u32 a, u32 b, u32 c, u32 t) {
  u32 r = 0;
  for (int i = 0; i < 8; i++) r |= (t >> i & 1 ? ~0u : 0) & (i & 4 ? a : ~a) & (i & 2 ? b : ~b) & (i & 1 ? c : ~c);
  return r;
}
static inline u32 bf16(float f) { const u32 u = asu(f); return (u & 0x7fffffff) > 0x7f800000 ? u >> 16 | 0x40 : (u + 0x7fff + (u >> 16 & 1)) >> 16; }
static const VOp ops[] = {
  // gfx950's
  {"V_BITOP3_B32", "u:uuu", U(bitop3(a, b, c, (u32)g.k))}, {"V_BITOP3_B16", "S:sss", U(LO(bitop3(a, b, c, (u32)g.k)))}, {"V_CVT_PK_BF16_F32", "u:ff", FN(LANES { d[l] = bf16(asf(pa[l])) | bf16(asf(pb[l])) << 16; })},
  // moves and bits
  {"V_MOV_B32", "u:u", FN(memcpy(d, pa, 256);)}, {"V_MOV_B64", "q:q", FN(memcpy(d, pa, 512);)}, {"V_NOT_B32", "u:u", U(~a)}, {"V_BFREV_B32", "u:u", FN(LANES { u32 v = pa[l]; v = (v >> 1 & 0x55555555) | (v & 0x55555555) << 1; v = (v >> 2 & 0x33333333) | (v & 0x33333333) << 2; v = (v >> 4 & 0x0f0f0f0f) | (v & 0x0f0f0f0f) << 4; v = (v >> 8 & 0xff00ff) | (v & 0xff00ff) << 8; d[l] = v >> 16 | v << 16; })},
  {"V_FFBH_U32", "u:u", U(a ? (u32)__builtin_clz(a) : ~0u)}, {"V_FFBL_B32", "u:u", U(a ? (u32)__builtin_ctz(a) : ~0u)}, {"V_FFBH_I32", "u:u", U((a ^ (u32)((i32)a >> 31)) ? (u32)__builtin_clz(a ^ (u32)((i32)a >> 31)) : ~0u)},
  {"V_CNDMASK_B32", "u:ffk", FN(select64(d, pa, pb, g.k);)},
  {"V_AND_B32", "u:uu", U(a & b)}, {"V_OR_B32", "u:uu", U(a | b)}, {"V_XOR_B32", "u:uu", U(a ^ b)}, {"V_XNOR_B32", "u:uu", U(~(a ^ b))},
  {"V_LSHLREV_B32", "u:uu", U(b << (a & 31))}, {"V_LSHRREV_B32", "u:uu", U(b >> (a & 31))}, {"V_ASHRREV_I32", "u:uu", U((i32)b >> (a & 31))},
  {"V_LSHLREV_B64", "q:uq", UQ(b << (a & 63))}, {"V_LSHRREV_B64", "q:uq", UQ(b >> (a & 63))}, {"V_ASHRREV_I64", "q:uq", UQ((i64)b >> (a & 63))},
  {"V_LSHLREV_B16", "s:ss", U(LO(b << (a & 15)))}, {"V_LSHRREV_B16", "s:ss", U(LO(b) >> (a & 15))}, {"V_ASHRREV_I16", "s:ss", U(LO(SH(b) >> (a & 15)))},
  {"V_BFE_U32", "u:uuu", U(bfe(a, b, c))}, {"V_BFE_I32", "u:uuu", U(sbfe(a, b, c))}, {"V_BFI_B32", "u:uuu", U((a & b) | (~a & c))}, {"V_BFM_B32", "u:uu", U(((1u << (a & 31)) - 1) << (b & 31))},
  {"V_ALIGNBIT_B32", "u:uuu", U(((u64)a << 32 | b) >> (c & 31))}, {"V_ALIGNBYTE_B32", "u:uuu", U(((u64)a << 32 | b) >> (8 * (c & 3)))}, {"V_PERM_B32", "u:uuu", U(perm(a, b, c))},
  {"V_BCNT_U32_B32", "u:uu", U((u32)__builtin_popcount(a) + b)},
  {"V_MBCNT_LO_U32_B32", "u:uu", U((u32)__builtin_popcount(l >= 32 ? a : a & ((1u << (l & 31)) - 1)) + b)}, {"V_MBCNT_HI_U32_B32", "u:uu", U((l < 32 ? 0u : (u32)__builtin_popcount(a & ((1u << (l & 31)) - 1))) + b)},
  {"V_XAD_U32", "u:uuu", U((a ^ b) + c)}, {"V_LSHL_ADD_U32", "u:uuu", U((a << (b & 31)) + c)}, {"V_ADD_LSHL_U32", "u:uuu", U((a + b) << (c & 31))}, {"V_ADD3_U32", "u:uuu", U(a + b + c)},
  {"V_LSHL_OR_B32", "u:uuu", U((a << (b & 31)) | c)}, {"V_AND_OR_B32", "u:uuu", U((a & b) | c)}, {"V_OR3_B32", "u:uuu", U(a | b | c)},
  {"V_LSHL_ADD_U64", "q:quq", FN(LANES { stq(d, l, (ldq(pa, l) << (pb[l] & 7)) + ldq(pc, l)); })},
  {"V_PACK_B32_F16", "u:hh", U(LO(a) | b << 16)},
  // 32-bit integers
  {"V_ADD_U32", "u:uu", U(a + b), U(usat32((i64)a + b))}, {"V_SUB_U32", "u:uu", U(a - b), U(usat32((i64)a - b))}, {"V_SUBREV_U32", "u:uu", U(b - a), U(usat32((i64)b - a))},
  {"V_ADD_I32", "u:uu", U(a + b), U(sat32((i64)(i32)a + (i32)b))}, {"V_SUB_I32", "u:uu", U(a - b), U(sat32((i64)(i32)a - (i32)b))},
  {"V_ADD_CO_U32", "u+:uu", CARRY(a + b, a + b < a)}, {"V_SUB_CO_U32", "u+:uu", CARRY(a - b, a < b)}, {"V_SUBREV_CO_U32", "u+:uu", CARRY(b - a, b < a)},
  {"V_ADDC_CO_U32", "u+:uuk", CARRY(a + b + ci, ((u64)a + b + ci) >> 32)}, {"V_SUBB_CO_U32", "u+:uuk", CARRY(a - b - ci, (u64)b + ci > a)}, {"V_SUBBREV_CO_U32", "u+:uuk", CARRY(b - a - ci, (u64)a + ci > b)},
  {"V_MUL_LO_U32", "u:uu", U(a * b)}, {"V_MUL_HI_U32", "u:uu", U((u64)a * b >> 32)}, {"V_MUL_HI_I32", "u:uu", U((i64)(i32)a * (i32)b >> 32)},
  {"V_MUL_U32_U24", "u:uu", U(u24(a) * u24(b))}, {"V_MUL_I32_I24", "u:uu", U((u32)i24(a) * (u32)i24(b))}, {"V_MUL_HI_U32_U24", "u:uu", U((u64)u24(a) * u24(b) >> 32)}, {"V_MUL_HI_I32_I24", "u:uu", U((i64)i24(a) * i24(b) >> 32)},
  {"V_MAD_U32_U24", "u:uuu", U(u24(a) * u24(b) + c), U(usat32((i64)((u64)u24(a) * u24(b) + c)))}, {"V_MAD_I32_I24", "u:uuu", U((u32)i24(a) * (u32)i24(b) + c), U(sat32((i64)i24(a) * i24(b) + (i32)c))},
  {"V_MAD_U64_U32", "q+:uuq", FN(alignas(64) u32 t_[64]; LANES { const u64 c = ldq(pc, l), r = (u64)pa[l] * pb[l] + c; t_[l] = r < c ? ~0u : 0u; stq(d, l, r); } g.out = mask_of(t_);)},
  {"V_MAD_I64_I32", "q+:uuq", FN(alignas(64) u32 t_[64]; LANES { const i64 p = (i64)(i32)pa[l] * (i32)pb[l], c = (i64)ldq(pc, l), r = (i64)((u64)p + (u64)c); t_[l] = ((p ^ r) & (c ^ r)) < 0 ? ~0u : 0u; stq(d, l, (u64)r); } g.out = mask_of(t_);)},
  {"V_MIN_I32", "u:uu", U(min2((i32)a, (i32)b))}, {"V_MAX_I32", "u:uu", U(max2((i32)a, (i32)b))}, {"V_MIN_U32", "u:uu", U(min2(a, b))}, {"V_MAX_U32", "u:uu", U(max2(a, b))},
  {"V_MIN3_I32", "u:uuu", U(min2(min2((i32)a, (i32)b), (i32)c))}, {"V_MAX3_I32", "u:uuu", U(max2(max2((i32)a, (i32)b), (i32)c))}, {"V_MED3_I32", "u:uuu", U(med((i32)a, (i32)b, (i32)c))},
  {"V_MIN3_U32", "u:uuu", U(min2(min2(a, b), c))}, {"V_MAX3_U32", "u:uuu", U(max2(max2(a, b), c))}, {"V_MED3_U32", "u:uuu", U(med(a, b, c))},
  {"V_SAD_U8", "u:uuu", U(sad8(a, b) + c)}, {"V_SAD_HI_U8", "u:uuu", U((sad8(a, b) << 16) + c)}, {"V_MSAD_U8", "u:uuu", U(msad8(a, b) + c)}, {"V_SAD_U32", "u:uuu", U((a > b ? a - b : b - a) + c)},
  {"V_SAD_U16", "u:uuu", U((LO(a) > LO(b) ? LO(a) - LO(b) : LO(b) - LO(a)) + (a >> 16 > b >> 16 ? (a >> 16) - (b >> 16) : (b >> 16) - (a >> 16)) + c)},
  {"V_LERP_U8", "u:uuu", FN(LANES { u32 r = 0; for (int k = 0; k < 32; k += 8) r |= (((pa[l] >> k & 255) + (pb[l] >> k & 255) + (pc[l] >> k & 1)) >> 1 & 255) << k; d[l] = r; })},
  {"V_QSAD_PK_U16_U8", "q:quq", FN(LANES { u64 a = ldq(pa, l), c = ldq(pc, l), r = 0; for (int k = 0; k < 4; k++) r |= (u64)(uint16_t)(sad8((u32)(a >> (8 * k)), pb[l]) + (u32)(c >> (16 * k))) << (16 * k); stq(d, l, r); })},
  // 16-bit integers
  {"V_ADD_U16", "s:ss", U(LO(a + b)), U(usat16((i64)LO(a) + LO(b)))}, {"V_SUB_U16", "s:ss", U(LO(a - b)), U(usat16((i64)LO(a) - LO(b)))}, {"V_SUBREV_U16", "s:ss", U(LO(b - a)), U(usat16((i64)LO(b) - LO(a)))}, {"V_MUL_LO_U16", "s:ss", U(LO(LO(a) * LO(b)))},
  {"V_MIN_I16", "s:ss", U(LO(min2(SH(a), SH(b))))}, {"V_MAX_I16", "s:ss", U(LO(max2(SH(a), SH(b))))}, {"V_MIN_U16", "s:ss", U(min2(LO(a), LO(b)))}, {"V_MAX_U16", "s:ss", U(max2(LO(a), LO(b)))},
  {"V_ADD_I16", "S:ss", U(LO(a + b)), U(LO(sat16(SH(a) + SH(b))))}, {"V_SUB_I16", "S:ss", U(LO(a - b)), U(LO(sat16(SH(a) - SH(b))))},
  {"V_MAD_U16", "S:sss", U(LO(LO(a) * LO(b) + c)), U(usat16((i64)LO(a) * LO(b) + LO(c)))}, {"V_MAD_I16", "S:sss", U(LO(LO(a) * LO(b) + c)), U(LO(sat16(sat((i64)SH(a) * SH(b) + SH(c), -70000, 70000))))}, {"V_MAD_LEGACY_U16", "s:sss", U(LO(LO(a) * LO(b) + c))}, {"V_MAD_LEGACY_I16", "s:sss", U(LO(LO(a) * LO(b) + c))},
  {"V_MIN3_I16", "S:sss", U(LO(min2(min2(SH(a), SH(b)), SH(c))))}, {"V_MAX3_I16", "S:sss", U(LO(max2(max2(SH(a), SH(b)), SH(c))))}, {"V_MED3_I16", "S:sss", U(LO(med(SH(a), SH(b), SH(c))))},
  {"V_MIN3_U16", "S:sss", U(min2(min2(LO(a), LO(b)), LO(c)))}, {"V_MAX3_U16", "S:sss", U(max2(max2(LO(a), LO(b)), LO(c)))}, {"V_MED3_U16", "S:sss", U(med(LO(a), LO(b), LO(c)))},
  {"V_MAD_U32_U16", "u:ssu", U(LO(a) * LO(b) + c), U(usat32((i64)((u64)LO(a) * LO(b) + c)))}, {"V_MAD_I32_I16", "u:ssu", U((u32)(SH(a) * SH(b)) + c), U(sat32((i64)SH(a) * SH(b) + (i32)c))},
  {"V_SAT_PK_U8_I16", "u:u", U((u32)sat(SH(a), 0, 255) | (u32)sat((i32)a >> 16, 0, 255) << 8)},
  // 32-bit floating point
  {"V_ADD_F32", "f:ff", Fl(a + b)}, {"V_SUB_F32", "f:ff", Fl(a - b)}, {"V_SUBREV_F32", "f:ff", Fl(b - a)}, {"V_MUL_F32", "f:ff", Fl(a * b)}, {"V_MUL_LEGACY_F32", "f:ff", Fl(a == 0 || b == 0 ? 0.f : a * b)},
  {"V_FMA_F32", "f:fff", Fl(std::fma(a, b, c))}, {"V_FMAC_F32", "f:ffx", Fl(std::fma(a, b, c))}, {"V_FMAMK_F32", "f:ffK", Fl(std::fma(a, c, b))}, {"V_FMAAK_F32", "f:ffK", Fl(std::fma(a, b, c))},
  {"V_MIN_F32", "f:ff", U(fmin32(a, b))}, {"V_MAX_F32", "f:ff", U(fmax32(a, b))}, {"V_MIN3_F32", "f:fff", U(fmin32(fmin32(a, b), c))}, {"V_MAX3_F32", "f:fff", U(fmax32(fmax32(a, b), c))}, {"V_MED3_F32", "f:fff", U(med32(a, b, c))},
  {"V_TRUNC_F32", "f:f", Fl(std::trunc(a))}, {"V_CEIL_F32", "f:f", Fl(std::ceil(a))}, {"V_FLOOR_F32", "f:f", Fl(std::floor(a))}, {"V_RNDNE_F32", "f:f", Fl(std::nearbyint(a))}, {"V_FRACT_F32", "f:f", Fl(fract32(a))},
  {"V_LDEXP_F32", "f:fu", FN(LANES { d[l] = asu(ldexp32(asf(pa[l]), (i32)pb[l])); })},
  {"V_FREXP_EXP_I32_F32", "u:f", FN(Csr s; for (int l = 0; l < 64; l++) d[l] = (u32)fexp(asf(pa[l]));)}, {"V_FREXP_MANT_F32", "f:f", FN(Csr s; for (int l = 0; l < 64; l++) d[l] = asu(fmant(asf(pa[l])));)},
  {"V_RCP_F32", "f:f", Fl(1.0f / a)}, {"V_RCP_IFLAG_F32", "f:f", Fl(1.0f / a)}, {"V_RSQ_F32", "f:f", FN(LANES { const float a = flush(asf(pa[l])); float r = (float)(1.0 / std::sqrt((double)a)); d[l] = asu(r); })}, {"V_SQRT_F32", "f:f", Fl(std::sqrt(flush(a)))},
  {"V_EXP_F32", "f:f", FN(Csr s; LANES { d[l] = asu(flush(exp2_(asf(pa[l])))); })}, {"V_EXP_LEGACY_F32", "f:f", FN(Csr s; LANES { d[l] = asu(flush(exp2_(asf(pa[l])))); })}, {"V_LOG_F32", "f:f", FN(Csr s; LANES { d[l] = asu(log2_(flush(asf(pa[l])))); })}, {"V_LOG_LEGACY_F32", "f:f", FN(Csr s; LANES { d[l] = asu(log2_(flush(asf(pa[l])))); })},
  {"V_SIN_F32", "f:f", Fl(sin_<false>(a))}, {"V_COS_F32", "f:f", Fl(sin_<true>(a))},
  {"V_DIV_SCALE_F32", "f+:fff", FN(Csr s; for (int l = 0; l < 64; l++) { float r; if (div_scale(asf(pa[l]), asf(pb[l]), asf(pc[l]), r)) g.out |= 1ull << l; d[l] = asu(r); })},
  {"V_DIV_FMAS_F32", "f:fffv", FN(const u64 k = g.k; for (int l = 0; l < 64; l++) {  // the scaling is undone before the one rounding
      const float a = asf(pa[l]); const float b = asf(pb[l]); const float c = asf(pc[l]);
      if (!(k >> l & 1)) { d[l] = asu(std::fma(a, b, c)); continue; }
      Csr s; __float128 r = (__float128)a * b + c; d[l] = asu((float)(r * (__float128)(expo(c) > 127 ? 0x1p64 : 0x1p-64))); })},
  {"V_DIV_FIXUP_F32", "f:fff", FN(for (int l = 0; l < 64; l++) d[l] = asu(div_fixup(asf(pa[l]), asf(pb[l]), asf(pc[l])));)},
  // 64-bit floating point
  {"V_ADD_F64", "d:dd", D(a + b)}, {"V_MUL_F64", "d:dd", D(a * b)}, {"V_FMA_F64", "d:ddd", D(std::fma(a, b, c))}, {"V_FMAC_F64", "d:ddy", D(std::fma(a, b, c))}, {"V_MIN_F64", "d:dd", Q(fmin64(a, b))}, {"V_MAX_F64", "d:dd", Q(fmax64(a, b))},
  {"V_TRUNC_F64", "d:d", D(std::trunc(a))}, {"V_CEIL_F64", "d:d", D(std::ceil(a))}, {"V_FLOOR_F64", "d:d", D(std::floor(a))}, {"V_RNDNE_F64", "d:d", D(std::nearbyint(a))}, {"V_FRACT_F64", "d:d", D(fract64(a))},
  {"V_RCP_F64", "d:d", D(1.0 / a)}, {"V_RSQ_F64", "d:d", D(1.0 / std::sqrt(a))}, {"V_SQRT_F64", "d:d", D(std::sqrt(a))},
  {"V_LDEXP_F64", "d:du", FN(for (int l = 0; l < 64; l++) stq(d, l, asq(ldexp64(asd(ldq(pa, l)), (i32)pb[l])));)},
  {"V_FREXP_EXP_I32_F64", "u:d", FN(for (int l = 0; l < 64; l++) d[l] = (u32)fexp(asd(ldq(pa, l)));)}, {"V_FREXP_MANT_F64", "d:d", FN(for (int l = 0; l < 64; l++) stq(d, l, asq(fmant(asd(ldq(pa, l)))));)},
  {"V_TRIG_PREOP_F64", "d:du", FN(for (int l = 0; l < 64; l++) stq(d, l, asq(trig_preop(asd(ldq(pa, l)), pb[l])));)},
  {"V_DIV_SCALE_F64", "d+:ddd", FN(Csr s; for (int l = 0; l < 64; l++) { double r; if (div_scale(asd(ldq(pa, l)), asd(ldq(pb, l)), asd(ldq(pc, l)), r)) g.out |= 1ull << l; stq(d, l, asq(r)); })},
  {"V_DIV_FMAS_F64", "d:dddv", FN(const u64 k = g.k; for (int l = 0; l < 64; l++) {
      const double a = asd(ldq(pa, l)); const double b = asd(ldq(pb, l)); const double c = asd(ldq(pc, l));
      if (!(k >> l & 1)) { stq(d, l, asq(std::fma(a, b, c))); continue; }
      __float128 r = (__float128)a * b + c; stq(d, l, asq((double)(r * (__float128)(expo(c) > 1023 ? 0x1p128 : 0x1p-128)))); })},
  {"V_DIV_FIXUP_F64", "d:ddd", FN(for (int l = 0; l < 64; l++) stq(d, l, asq(div_fixup(asd(ldq(pa, l)), asd(ldq(pb, l)), asd(ldq(pc, l)))));)},
  // 16-bit floating point
  {"V_ADD_F16", "h:hh", H2(a + b)}, {"V_SUB_F16", "h:hh", H2(a - b)}, {"V_SUBREV_F16", "h:hh", H2(b - a)}, {"V_MUL_F16", "h:hh", H2(a * b)}, {"V_FMA_F16", "H:hhh", H3(fmah(a, b, c))}, {"V_FMA_LEGACY_F16", "h:hhh", H3(fmah(a, b, c))},
  {"V_MAC_F16", "h:hhz", H3(rh(a * b) + c)}, {"V_MADMK_F16", "h:hhK", H3(rh(a * c) + b)}, {"V_MADAK_F16", "h:hhK", H3(rh(a * b) + c)}, {"V_MAD_F16", "H:hhh", H3(rh(a * b) + c)}, {"V_MAD_LEGACY_F16", "h:hhh", H3(rh(a * b) + c)},
  {"V_MIN_F16", "h:hh", U(fmin16(a, b))}, {"V_MAX_F16", "h:hh", U(fmax16(a, b))}, {"V_MIN3_F16", "H:hhh", U(fmin16(fmin16(a, b), c))}, {"V_MAX3_F16", "H:hhh", U(fmax16(fmax16(a, b), c))}, {"V_MED3_F16", "H:hhh", U(med16(a, b, c))},
  {"V_FLOOR_F16", "h:h", H1(std::floor(a))}, {"V_CEIL_F16", "h:h", H1(std::ceil(a))}, {"V_TRUNC_F16", "h:h", H1(std::trunc(a))}, {"V_RNDNE_F16", "h:h", H1(std::nearbyint(a))},
  {"V_FRACT_F16", "h:h", H1(!fin(a) ? NAN : min2(a - std::floor(a), 0x1.ffcp-1f))},
  {"V_RCP_F16", "h:h", H1(1.0f / a)}, {"V_SQRT_F16", "h:h", H1(std::sqrt(a))}, {"V_RSQ_F16", "h:h", H1(1.0 / std::sqrt((double)a))}, {"V_LOG_F16", "h:h", H1(log2_(a))}, {"V_EXP_F16", "h:h", H1(exp2_(a))}, {"V_SIN_F16", "h:h", H1(sin_<false>(a))}, {"V_COS_F16", "h:h", H1(sin_<true>(a))},
  {"V_LDEXP_F16", "h:hs", FN(alignas(64) float A[64]; alignas(64) float X[64]; h2f(A, pa); LANES { X[l] = ldexp32(A[l], SH(pb[l]) < -60 ? -60 : SH(pb[l]) > 60 ? 60 : SH(pb[l])); } f2h(d, X);)},
  {"V_FREXP_MANT_F16", "h:h", H1(fmant(a))}, {"V_FREXP_EXP_I16_F16", "s:h", FN(for (int l = 0; l < 64; l++) d[l] = LO((u32)fexp(h1f(pa[l])));)},
  {"V_DIV_FIXUP_F16", "H:hhh", H3(div_fixup(a, b, c))}, {"V_DIV_FIXUP_LEGACY_F16", "h:hhh", H3(div_fixup(a, b, c))},
  // conversions
  {"V_CVT_F32_I32", "f:u", FN(LANES { d[l] = asu((float)(i32)pa[l]); })}, {"V_CVT_F32_U32", "f:u", FN(LANES { d[l] = asu((float)pa[l]); })}, {"V_CVT_I32_F32", "u:f", FN(LANES { d[l] = (u32)toi32(asf(pa[l])); })}, {"V_CVT_U32_F32", "u:f", FN(LANES { d[l] = tou32(asf(pa[l])); })},
  {"V_CVT_RPI_I32_F32", "u:f", FN(LANES { d[l] = (u32)toi32(std::floor((double)asf(pa[l]) + 0.5)); })}, {"V_CVT_FLR_I32_F32", "u:f", FN(LANES { d[l] = (u32)toi32(std::floor(asf(pa[l]))); })}, {"V_CVT_OFF_F32_I4", "f:u", FN(LANES { d[l] = asu((float)((i32)(pa[l] << 28) >> 28) * 0.0625f); })},
  {"V_CVT_F16_F32", "h:f", FN(alignas(64) float A[64]; memcpy(A, pa, 256); f2h(d, A);)}, {"V_CVT_F32_F16", "f:h", FN(alignas(64) float A[64]; h2f(A, pa); memcpy(d, A, 256);)},
  {"V_CVT_F32_F64", "f:d", FN(LANES { d[l] = asu((float)asd(ldq(pa, l))); })}, {"V_CVT_F64_F32", "d:f", FN(LANES { stq(d, l, asq((double)asf(pa[l]))); })},
  {"V_CVT_I32_F64", "u:d", FN(LANES { d[l] = (u32)toi32(asd(ldq(pa, l))); })}, {"V_CVT_U32_F64", "u:d", FN(LANES { d[l] = tou32(asd(ldq(pa, l))); })}, {"V_CVT_F64_I32", "d:u", FN(LANES { stq(d, l, asq((double)(i32)pa[l])); })}, {"V_CVT_F64_U32", "d:u", FN(LANES { stq(d, l, asq((double)pa[l])); })},
  {"V_CVT_F32_UBYTE0", "f:u", FN(LANES { d[l] = asu((float)(i32)(pa[l] & 255)); })}, {"V_CVT_F32_UBYTE1", "f:u", FN(LANES { d[l] = asu((float)(i32)(pa[l] >> 8 & 255)); })}, {"V_CVT_F32_UBYTE2", "f:u", FN(LANES { d[l] = asu((float)(i32)(pa[l] >> 16 & 255)); })}, {"V_CVT_F32_UBYTE3", "f:u", FN(LANES { d[l] = asu((float)(i32)(pa[l] >> 24)); })},
  {"V_CVT_F16_U16", "h:s", FN(alignas(64) float X[64]; LANES { X[l] = (float)(i32)LO(pa[l]); } f2h(d, X);)}, {"V_CVT_F16_I16", "h:s", FN(alignas(64) float X[64]; LANES { X[l] = (float)SH(pa[l]); } f2h(d, X);)},
  {"V_CVT_U16_F16", "s:h", FN(alignas(64) float A[64]; h2f(A, pa); LANES { const float a = A[l]; d[l] = !(a > 0) ? 0u : a >= 65535.f ? 65535u : (u32)(i32)a; })}, {"V_CVT_I16_F16", "s:h", FN(alignas(64) float A[64]; h2f(A, pa); LANES { const float a = A[l]; d[l] = LO((u32)(a != a ? 0 : a >= 32767.f ? 32767 : a <= -32768.f ? -32768 : (i32)a)); })},
  {"V_CVT_PKRTZ_F16_F32", "u:ff", FN(alignas(64) float A[64]; alignas(64) float B[64]; alignas(64) u32 y[64]; memcpy(A, pa, 256); memcpy(B, pb, 256); f2hr<_MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC>(y, B); f2hr<_MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC>(d, A); LANES d[l] |= y[l] << 16;)},
  {"V_CVT_PK_U16_U32", "u:uu", U(min2(a, 65535u) | min2(b, 65535u) << 16)}, {"V_CVT_PK_I16_I32", "u:uu", U(LO(sat((i32)a, -32768, 32767)) | (u32)sat((i32)b, -32768, 32767) << 16)},
  // packed
  {"V_PK_MAD_I16", "p:ppp", PS((u32)a * (u32)b + (u32)c), PS(sat16((i32)sat((i64)a * b + c, -70000, 70000)))}, {"V_PK_MAD_U16", "p:ppp", PU(a * b + c), PU(usat16((i64)((u64)a * b + c)))}, {"V_PK_MUL_LO_U16", "p:pp", PU(a * b)},
  {"V_PK_ADD_I16", "p:pp", PS(a + b), PS(sat16(a + b))}, {"V_PK_SUB_I16", "p:pp", PS(a - b), PS(sat16(a - b))}, {"V_PK_ADD_U16", "p:pp", PU(a + b), PU(usat16((i64)a + b))}, {"V_PK_SUB_U16", "p:pp", PU(a - b), PU(usat16((i64)a - b))},
  {"V_PK_LSHLREV_B16", "p:pp", PU(b << (a & 15))}, {"V_PK_LSHRREV_B16", "p:pp", PU(b >> (a & 15))}, {"V_PK_ASHRREV_I16", "p:pp", PS(b >> (a & 15))},
  {"V_PK_MAX_I16", "p:pp", PS(max2(a, b))}, {"V_PK_MIN_I16", "p:pp", PS(min2(a, b))}, {"V_PK_MAX_U16", "p:pp", PU(max2(a, b))}, {"V_PK_MIN_U16", "p:pp", PU(min2(a, b))},
  {"V_PK_FMA_F16", "P:PPP", PF(3, fmah(a, b, c))}, {"V_PK_FMAC_F16", "P:PPZ", PF(3, fmah(a, b, c))}, {"V_PK_ADD_F16", "P:PP", PF(2, a + b)}, {"V_PK_MUL_F16", "P:PP", PF(2, a * b)}, {"V_PK_MIN_F16", "P:PP", PU(fmin16(a, b))}, {"V_PK_MAX_F16", "P:PP", PU(fmax16(a, b))},
  {"V_PK_FMA_F32", "F:FFF", P2F(std::fma(a, b, c))}, {"V_PK_MUL_F32", "F:FF", P2F(a * b)}, {"V_PK_ADD_F32", "F:FF", P2F(a + b)}, {"V_PK_MOV_B32", "q:FF", FN(LANES { const u32 a = pa[l]; const u32 b = pb[l]; d[l] = a; d[64 + l] = b; })},
  {"V_FMA_MIX_F32", "f:mmm", Fl(std::fma(a, b, c))},
  {"V_FMA_MIXLO_F16", "H:mmm", FN(alignas(64) float X[64]; LANES { X[l] = std::fma(asf(pa[l]), asf(pb[l]), asf(pc[l])); } f2h(d, X);)}, {"V_FMA_MIXHI_F16", "H:mmm", FN(alignas(64) float X[64]; LANES { X[l] = std::fma(asf(pa[l]), asf(pb[l]), asf(pc[l])); } f2h(d, X);)},
  {"V_DOT2_F32_F16", "f:PPf", FN(for (int l = 0; l < 64; l++) d[l] = asu(dot2h(pa[l], pb[l], asf(pc[l])));)}, {"V_DOT2C_F32_F16", "f:PPx", FN(for (int l = 0; l < 64; l++) d[l] = asu(dot2h(pa[l], pb[l], asf(pc[l])));)},
  {"V_DOT2_I32_I16", "u:ppu", U((u64)dot2i(a, b) + c), U(sat32(dot2i(a, b) + (i32)c))}, {"V_DOT2_U32_U16", "u:ppu", U((u64)dot2u(a, b) + c), U(usat32(dot2u(a, b) + c))}, {"V_DOT2C_I32_I16", "u:uuw", U((u64)dot2i(a, b) + c), U(sat32(dot2i(a, b) + (i32)c))},
  {"V_DOT4_I32_I8", "u:uuu", U((u64)dot4i(a, b) + c), U(sat32(dot4i(a, b) + (i32)c))}, {"V_DOT4_U32_U8", "u:uuu", U((u64)dot4u(a, b) + c), U(usat32(dot4u(a, b) + c))}, {"V_DOT4C_I32_I8", "u:uuw", U((u64)dot4i(a, b) + c), U(sat32(dot4i(a, b) + (i32)c))},
  {"V_DOT8_I32_I4", "u:uuu", U((u64)dot8i(a, b) + c), U(sat32(dot8i(a, b) + (i32)c))}, {"V_DOT8_U32_U4", "u:uuu", U((u64)dot8u(a, b) + c), U(usat32(dot8u(a, b) + c))}, {"V_DOT8C_I32_I4", "u:uuw", U((u64)dot8i(a, b) + c), U(sat32(dot8i(a, b) + (i32)c))},
};

// ---- comparisons: one function for each type and relation --------------------------------------------------------
template <int R, class T> static inline bool frel(T a, T b) {
  switch (R & 15) {
    case 0: return false; case 1: return a < b; case 2: return a == b; case 3: return a <= b; case 4: return a > b; case 5: return a < b || a > b; case 6: return a >= b; case 7: return a == a && b == b;
    case 8: return a != a || b != b; case 9: return !(a >= b); case 10: return !(a < b || a > b); case 11: return !(a > b); case 12: return !(a <= b); case 13: return !(a == b); case 14: return !(a < b); default: return true;
  }
}
template <int R, class T> static inline bool irel(T a, T b) {
  switch (R & 7) { case 0: return false; case 1: return a < b; case 2: return a == b; case 3: return a <= b; case 4: return a > b; case 5: return a != b; case 6: return a >= b; default: return true; }
}
template <int R> static void cf32(u32*, VArgs& g) { const u32 *pa = g.a, *pb = g.b; MASK((frel<R, float>(asf(pa[l]), asf(pb[l])))) }
template <int R> static void cf64(u32*, VArgs& g) { const u32 *pa = g.a, *pb = g.b; MASK((frel<R, double>(asd(ldq(pa, l)), asd(ldq(pb, l))))) }
template <int R> static void cf16(u32*, VArgs& g) { alignas(64) float A[64], B[64]; h2f(A, g.a); h2f(B, g.b); MASK((frel<R, float>(A[l], B[l]))) }
template <int R> static void ci32(u32*, VArgs& g) { const u32 *pa = g.a, *pb = g.b; MASK((irel<R, i32>((i32)pa[l], (i32)pb[l]))) }
template <int R> static void cu32(u32*, VArgs& g) { const u32 *pa = g.a, *pb = g.b; MASK((irel<R, u32>(pa[l], pb[l]))) }
template <int R> static void ci16(u32*, VArgs& g) { const u32 *pa = g.a, *pb = g.b; MASK((irel<R, i32>(SH(pa[l]), SH(pb[l])))) }
template <int R> static void cu16(u32*, VArgs& g) { const u32 *pa = g.a, *pb = g.b; MASK((irel<R, u32>(LO(pa[l]), LO(pb[l])))) }
template <int R> static void ci64(u32*, VArgs& g) { const u32 *pa = g.a, *pb = g.b; MASK((irel<R, i64>((i64)ldq(pa, l), (i64)ldq(pb, l)))) }
template <int R> static void cu64(u32*, VArgs& g) { const u32 *pa = g.a, *pb = g.b; MASK((irel<R, u64>(ldq(pa, l), ldq(pb, l)))) }
static void class32(u32*, VArgs& g) { for (int l = 0; l < 64; l++) g.out |= (u64)klass<u32>(g.a[l], g.b[l], 23, 8) << l; }
static void class64(u32*, VArgs& g) { for (int l = 0; l < 64; l++) g.out |= (u64)klass<u64>(ldq(g.a, l), g.b[l], 52, 11) << l; }
static void class16(u32*, VArgs& g) { for (int l = 0; l < 64; l++) g.out |= (u64)klass<u32>(g.a[l] & 0xffff, g.b[l], 10, 5) << l; }

typedef std::unordered_map<std::string, VOp> OpMap;
template <int R> static void add_cmp(OpMap& m) {
  static const char* fr[16] = {"F", "LT", "EQ", "LE", "GT", "LG", "GE", "O", "U", "NGE", "NLG", "NGT", "NLE", "NEQ", "NLT", "TRU"};
  static const char* ir[8] = {"F", "LT", "EQ", "LE", "GT", "NE", "GE", "T"};
  for (const char* x : {"V_CMP_", "V_CMPX_"}) {
    auto put = [&](const std::string& rel, const char* ty, const char* sig, VFn f) { m[x + rel + "_" + ty] = {"", sig, f}; };
    put(fr[R], "F32", "b:ff", cf32<R>); put(fr[R], "F64", "b:dd", cf64<R>); put(fr[R], "F16", "b:hh", cf16<R>);
    if (R < 8) {
      put(ir[R & 7], "I32", "b:uu", ci32<R>); put(ir[R & 7], "U32", "b:uu", cu32<R>); put(ir[R & 7], "I16", "b:ss", ci16<R>); put(ir[R & 7], "U16", "b:ss", cu16<R>);
      put(ir[R & 7], "I64", "b:qq", ci64<R>); put(ir[R & 7], "U64", "b:qq", cu64<R>);
    }
    if (R == 0) { put("CLASS", "F32", "b:fu", class32); put("CLASS", "F64", "b:du", class64); put("CLASS", "F16", "b:hu", class16); }
  }
  if constexpr (R < 15) add_cmp<R + 1>(m);
}
static const OpMap& op_map() {
  static const OpMap m = [] { OpMap m; for (auto& o : ops) m[o.name] = o; add_cmp<0>(m); return m; }();
  return m;
}

// ---- operands ----------------------------------------------------------------------------------------------------
enum { K_VGPR, K_SGPR, K_SGPR2, K_CONST };
struct VSrc {
  uint8_t kind = K_CONST;
  bool slow = false, abs = false, neg = false, neg_hi = false, hi = false, hi_hi = false, sext = false;
  char type = 'u';
  uint8_t sel = 6;                                  // SDWA
  uint16_t reg = 0;
  const u32* k = nullptr;                           // 128 words
};
struct VInst {
  VFn fn = nullptr;
  VSrc src[3];
  int n = 0;
  char out = 'u';
  bool carry = false, clamp = false, cmpx = false, f64 = false, slow = false, wide = false;
  uint8_t omod = 0, k = 0;                          // k: 0 none, 1 the SGPR pair kreg, 3 kreg itself
  uint16_t vd = 0, sd = SG_VCC, kreg = 0;
  bool half = false;                                // the result goes to the high half
  bool sdwa = false, dpp = false, bc = false;
  uint8_t dsel = 6, unused = 0, rm = 15, bm = 15;
  uint16_t ctl = 0;
  uint8_t idx[3] = {0, 0, 0};                       // operand field of src[i], for the VGPR index mode
};
static const u32 zero_words[128] __attribute__((aligned(64))) = {0};

static inline void bcast(u32* t, u32 v) { for (int l = 0; l < 64; l++) t[l] = v; }
static const u32* fetch_plain(Wave& w, const VSrc& s, u32* t) {
  switch (s.kind) {
    case K_VGPR: return w.V(s.reg);
    case K_SGPR: bcast(t, w.sgpr[s.reg]); return t;
    case K_SGPR2: bcast(t, w.sgpr[s.reg]); bcast(t + 64, w.sgpr[s.reg + 1]); return t;
    default: return s.k;
  }
}
static const u32* modify(const VSrc& s, const u32* p, u32* t) {  // the operand's modifiers; t may be p
  if (s.sel < 4) { const int sh = 8 * s.sel; if (s.sext) LANES t[l] = (u32)(i32)(int8_t)(p[l] >> sh); else LANES t[l] = p[l] >> sh & 255; p = t; }
  else if (s.sel < 6) { const int sh = 16 * (s.sel - 4); if (s.sext) LANES t[l] = (u32)(i32)(int16_t)(p[l] >> sh); else LANES t[l] = p[l] >> sh & 0xffff; p = t; }
  switch (s.type) {
    case 'h': case 's': {
      const int sh = s.hi ? 16 : 0;
      const u32 m = s.abs ? 0x7fff : 0xffff, x = s.neg ? 0x8000 : 0;
      LANES t[l] = (p[l] >> sh & m) ^ x;
      return t;
    }
    case 'P': case 'p': {
      const int a = s.hi ? 16 : 0, b = s.hi_hi ? 0 : 16;
      const u32 x = (s.neg ? 0x8000u : 0) | (s.neg_hi ? 0x80000000u : 0);
      LANES { const u32 v = p[l]; t[l] = ((v >> a & 0xffff) | (v << b & 0xffff0000u)) ^ x; }
      return t;
    }
    case 'F': {
      const u32 x = s.neg ? 0x80000000u : 0, y = s.neg_hi ? 0x80000000u : 0;
      const u32 *lo = p + (s.hi ? 64 : 0), *hi = p + (s.hi_hi ? 64 : 0);
      LANES { const u32 a = lo[l], b = hi[l]; t[l] = a ^ x; t[64 + l] = b ^ y; }
      return t;
    }
    case 'm': {
      alignas(64) float f[64];
      if (s.hi_hi) { const int sh = s.hi ? 16 : 0; alignas(64) u32 h[64]; LANES h[l] = p[l] >> sh & 0xffff; h2f(f, h); } else memcpy(f, p, 256);
      const u32 m = s.abs ? 0x7fffffffu : ~0u, x = s.neg ? 0x80000000u : 0;
      LANES t[l] = (asu(f[l]) & m) ^ x;
      return t;
    }
    case 'd': {
      const u32 m = s.abs ? 0x7fffffffu : ~0u, x = s.neg ? 0x80000000u : 0;
      LANES { const u32 a = p[l], b = p[64 + l]; t[l] = a; t[64 + l] = (b & m) ^ x; }
      return t;
    }
    case 'f': {
      const u32 m = s.abs ? 0x7fffffffu : ~0u, x = s.neg ? 0x80000000u : 0;
      LANES t[l] = (p[l] & m) ^ x;
      return t;
    }
  }
  return p;
}
static const u32* fetch(Wave& w, const VSrc& s, u32* t) {
  const u32* p = fetch_plain(w, s, t);
  return s.slow ? modify(s, p, t) : p;
}
static inline void put(u32* d, const u32* r, u64 ex, bool wide) {
#ifdef __AVX512F__
  for (int i = 0; i < 4; i++) {
    const __mmask16 m = (__mmask16)(ex >> (16 * i));
    _mm512_mask_storeu_epi32(d + 16 * i, m, _mm512_load_si512(r + 16 * i));
    if (wide) _mm512_mask_storeu_epi32(d + 64 + 16 * i, m, _mm512_load_si512(r + 64 + 16 * i));
  }
#else
  for (u64 e = ex; e; e &= e - 1) { int l = __builtin_ctzll(e); d[l] = r[l]; if (wide) d[64 + l] = r[64 + l]; }
#endif
}
static void apply_idx(Wave& w, const VInst& v, VInst& c) {  // s_set_gpr_idx_on: M0[7:0] is added to the chosen registers
  c = v;
  const u32 m0 = w.sgpr[SG_M0], off = m0 & 255;
  for (int i = 0; i < c.n; i++) if (c.src[i].kind == K_VGPR && (m0 >> 12 >> c.idx[i] & 1)) c.src[i].reg += off;
  if (m0 >> 15 & 1) c.vd += off;
  for (int i = 0; i < c.n; i++) if (c.src[i].reg > 255 && c.src[i].kind == K_VGPR) fault(Status::Fault, "the VGPR index %u is out of range", c.src[i].reg);
  if (c.vd > 255) fault(Status::Fault, "the VGPR index %u is out of range", c.vd);
}
static u64 dpp_src(Wave& w, const VInst& v, u32* t, u64 ex) {  // gathers the first operand; returns the lanes to be written
  const VSrc& s = v.src[0];
  const u32* p = w.V(s.reg);
  const bool two = s.type == 'd' || s.type == 'q';
  const unsigned ctl = v.ctl;
  u64 en = 0;
  for (int l = 0; l < 64; l++) {
    int s = l, r = l & ~15, i = l & 15;
    bool ok = true;
    if (ctl < 0x100) s = (l & ~3) | (ctl >> (2 * (l & 3)) & 3);
    else if (ctl >= 0x101 && ctl <= 0x10f) { s = l + (int)(ctl & 15); ok = i + (int)(ctl & 15) < 16; }
    else if (ctl >= 0x111 && ctl <= 0x11f) { s = l - (int)(ctl & 15); ok = i >= (int)(ctl & 15); }
    else if (ctl >= 0x121 && ctl <= 0x12f) s = r | ((i - (ctl & 15)) & 15);
    else if (ctl == 0x130) { s = l + 1; ok = s < 64; }
    else if (ctl == 0x134) s = (l + 1) & 63;
    else if (ctl == 0x138) { s = l - 1; ok = s >= 0; }
    else if (ctl == 0x13c) s = (l - 1) & 63;
    else if (ctl == 0x140) s = r | (15 - i);
    else if (ctl == 0x141) s = (l & ~7) | (7 - (l & 7));
    else if (ctl == 0x142) { s = r - 1; ok = l >= 16; }
    else if (ctl == 0x143) { s = 31; ok = l >= 32; }
    else if (ctl >= 0x150 && ctl <= 0x15f) s = r | (ctl & 15);
    else fault(Status::Unimplemented, "DPP control %#x is not implemented", ctl);
    const bool mask = (v.rm >> (l >> 4) & 1) && (v.bm >> (i >> 2) & 1);
    ok = ok && (ex >> (s & 63) & 1);
    if (mask && (ok || v.bc)) en |= 1ull << l;
    t[l] = ok ? p[s & 63] : 0;
    if (two) t[64 + l] = ok ? p[64 + (s & 63)] : 0;
  }
  return en;
}
static void post_float(const VInst& v, u32* r, bool omod_on) {  // output modifiers and clamp
  const float om = !omod_on ? 1 : v.omod == 1 ? 2 : v.omod == 2 ? 4 : v.omod == 3 ? 0.5f : 1;
  auto c32 = [&](u32 x) { float f = asf(x) * om; if (v.clamp) f = f > 0 ? (f < 1 ? f : 1) : 0; return asu(f); };
  auto c16 = [&](u32 x) { float f = h1f(x) * om; if (v.clamp) f = f > 0 ? (f < 1 ? f : 1) : 0; return f1h(f); };
  switch (v.out) {
    case 'f': for (int l = 0; l < 64; l++) r[l] = c32(r[l]); break;
    case 'F': for (int l = 0; l < 128; l++) r[l] = c32(r[l]); break;
    case 'h': case 'H': for (int l = 0; l < 64; l++) r[l] = c16(r[l]); break;
    case 'P': for (int l = 0; l < 64; l++) r[l] = c16(r[l]) | c16(r[l] >> 16) << 16; break;
    case 'd': for (int l = 0; l < 64; l++) { double f = asd(ldq(r, l)) * om; if (v.clamp) f = f > 0 ? (f < 1 ? f : 1) : 0; stq(r, l, asq(f)); } break;
  }
}
static inline u64 mask_in(Wave& w, const VInst& v) { return v.k == 3 ? v.kreg : v.k ? w.s64(v.kreg) : 0; }
static inline void set64(Wave& w, unsigned r, u64 x) { memcpy(w.sgpr + r, &x, 8); }
static inline void adv(Wave& w, const Inst& in) { w.set_pc(w.pc() + in.size); }

static void valu_general(Wave& w, const Inst& in, const VInst& v) {
  alignas(64) u32 t[3][128], r[128];
  VArgs g;
  g.w = &w;
  u64 ex = w.exec();
  const u32* p[3] = {zero_words, zero_words, zero_words};
  for (int i = 0; i < v.n; i++) {
    if (i == 0 && v.dpp) { u64 en = dpp_src(w, v, t[0], ex); ex &= en; p[0] = v.src[0].slow ? modify(v.src[0], t[0], t[0]) : t[0]; }
    else p[i] = fetch(w, v.src[i], t[i]);
  }
  g.a = p[0]; g.b = p[1]; g.c = p[2];
  g.k = mask_in(w, v);
  const unsigned csr = _mm_getcsr();
  if (v.f64) _mm_setcsr(0x1f80);
  v.fn(r, g);
  if (v.f64) _mm_setcsr(csr);
  if (v.out == 'b') {
    const u64 m = g.out & ex;
    set64(w, v.sd, m);
    if (v.cmpx) set64(w, SG_EXEC, m);
    return;
  }
  if (v.clamp || v.omod) {
    // output modifiers are ignored with IEEE mode, or with denormals
    bool on = v.omod && !(R.k->rsrc1 >> 23 & 1) && (v.out == 'f' || v.out == 'F' ? (w.mode >> 4 & 3) == 0 : (w.mode >> 6 & 3) == 0);
    post_float(v, r, on);
  }
  u32* d = w.V(v.vd);
  if (v.sdwa && v.dsel < 6) {
    const int sh = v.dsel < 4 ? 8 * v.dsel : 16 * (v.dsel - 4), n = v.dsel < 4 ? 8 : 16;
    const u32 m = ((1u << n) - 1) << sh;
    for (int l = 0; l < 64; l++) {
      u32 x = (r[l] << sh) & m;
      if (v.unused == 2) x |= d[l] & ~m;
      else if (v.unused == 1 && (x >> (sh + n - 1) & 1)) x |= sh + n < 32 ? ~0u << (sh + n) : 0;
      r[l] = x;
    }
  } else if (v.out == 'H' || v.out == 'S') {
    if (v.half) LANES r[l] = (d[l] & 0xffff) | r[l] << 16;
    else LANES r[l] = (d[l] & 0xffff0000u) | (r[l] & 0xffff);
  }
  put(d, r, ex, v.wide);
  if (v.carry) set64(w, v.sd, g.out & ex);
}
static void do_valu(Wave& w, const Inst& in) {
  const VInst& v = *in.v;
  if (__builtin_expect(w.idx, 0)) { VInst c; apply_idx(w, v, c); valu_general(w, in, c); }
  else valu_general(w, in, v);
  adv(w, in);
}
// the common case: one 32-bit or 64-bit result, nothing done to it
template <int N, bool WIDE> static void do_valu_fast(Wave& w, const Inst& in) {
  const VInst& v = *in.v;
  if (__builtin_expect(w.special, 0)) { do_valu(w, in); return; }
  alignas(64) u32 t[3][128], r[128];
  VArgs g;
  g.a = fetch(w, v.src[0], t[0]);
  g.b = N > 1 ? fetch(w, v.src[1], t[1]) : zero_words;
  g.c = N > 2 ? fetch(w, v.src[2], t[2]) : zero_words;
  g.k = mask_in(w, v);
  const u64 ex = w.exec();
  if (!WIDE && ex == ~0ull) v.fn(w.V(v.vd), g);
  else { v.fn(r, g); put(w.V(v.vd), r, ex, WIDE); }
  adv(w, in);
}
static void do_cmp_fast(Wave& w, const Inst& in) {
  const VInst& v = *in.v;
  if (__builtin_expect(w.special, 0)) { do_valu(w, in); return; }
  alignas(64) u32 t[2][128];
  VArgs g;
  g.a = fetch(w, v.src[0], t[0]);
  g.b = fetch(w, v.src[1], t[1]);
  v.fn(nullptr, g);
  set64(w, v.sd, g.out & w.exec());
  adv(w, in);
}

static inline u32 bits(const Inst& in, int hi, int lo) {
  u32 x = in.raw[lo / 32] >> (lo % 32);
  int n = hi - lo + 1;
  return n == 32 ? x : x & ((1u << n) - 1);
}
static const double fconst[9] = {0.5, -0.5, 1, -1, 2, -2, 4, -4, 0.15915494309189532};
// an inline constant or literal, as an operand of this type
static bool constant(unsigned code, u32 lit, char type, u64& v) {
  const bool wide = type == 'd' || type == 'q' || type == 'i';
  if (code == 255) { v = type == 'd' ? (u64)lit << 32 : type == 'i' ? (u64)(i64)(i32)lit : lit; return true; }
  if (code >= 128 && code <= 208) {
    i64 n = code <= 192 ? (i64)code - 128 : 192 - (i64)code;
    v = wide ? (u64)n : (u32)n;
    return true;
  }
  if (code >= 240 && code <= 248) {
    const double f = fconst[code - 240];
    v = wide ? asq(f) : type == 'h' || type == 's' || type == 'P' || type == 'p' ? f1h((float)f) : asu((float)f);
    return true;
  }
  if (code >= 235 && code <= 238) {
    const u64 ap = code < 237 ? 0x0001000000000000ull : 0x0002000000000000ull;
    v = code & 1 ? ap : ap | 0xffffffff;
    if (!wide) v >>= 32;
    return true;
  }
  return false;
}
static bool set_src(VSrc& s, unsigned code, u32 lit, char type, bool mix16 = false) {
  s.type = type;
  const bool two = type == 'd' || type == 'q' || type == 'F';
  if (code >= 256) { s.kind = K_VGPR; s.reg = code - 256; return true; }
  u64 v;
  if (constant(code, lit, type == 'm' && mix16 ? 'h' : type, v)) {
    s.kind = K_CONST;
    u32* k = (u32*)aligned_alloc(64, 512);
    bcast(k, (u32)v);
    bcast(k + 64, type == 'F' ? 0 : (u32)(v >> 32));
    if (type == 'F' && v && s.hi_hi) return false;    // which value the upper half of a constant has is not known
    s.k = k;
    return true;
  }
  if (code < 128 || code == 253) { s.kind = two ? K_SGPR2 : K_SGPR; s.reg = code; return true; }
  return false;
}
static bool select_valu(Inst& in) {
  auto it = op_map().find(in.name);
  if (it == op_map().end()) return false;
  const VOp& op = it->second;
  const std::string& c = in.cls;
  const bool vop1 = c.compare(0, 4, "VOP1") == 0, vop2 = c.compare(0, 4, "VOP2") == 0, vopc = c.compare(0, 4, "VOPC") == 0, vop3 = c == "VOP3", vop3p = c == "VOP3P";
  const bool sdwa = c.find("_SDWA") != std::string::npos, dpp = c.find("_DPP") != std::string::npos;
  auto* v = new VInst;
  const char* s = op.sig;
  v->out = *s++;
  if (*s == '+') { v->carry = true; s++; }
  s++;
  const bool sd_form = vop3 && v->carry;            // VOP3B: no abs, no op_sel
  unsigned code[3] = {0, 0, 0}, ab = 0, ne = 0, os = 0, osh = 7, nh = 0;
  if (vop1 || vop2 || vopc) {
    code[0] = bits(in, 8, 0); code[1] = 256 + bits(in, 16, 9); v->vd = bits(in, 24, 17);
    if (sdwa) {
      code[0] = bits(in, 39, 32) + (bits(in, 55, 55) ? 0 : 256);
      code[1] = bits(in, 16, 9) + (bits(in, 63, 63) ? 0 : 256);
      ne = bits(in, 52, 52) | bits(in, 60, 60) << 1; ab = bits(in, 53, 53) | bits(in, 61, 61) << 1;
      v->src[0].sel = bits(in, 50, 48); v->src[0].sext = bits(in, 51, 51);
      v->src[1].sel = bits(in, 58, 56); v->src[1].sext = bits(in, 59, 59);
      v->sdwa = true;
      if (vopc) { if (bits(in, 47, 47)) v->sd = bits(in, 46, 40); }
      else { v->dsel = bits(in, 42, 40); v->unused = bits(in, 44, 43); v->clamp = bits(in, 45, 45); v->omod = bits(in, 47, 46); }
    }
    if (dpp) {
      code[0] = 256 + bits(in, 39, 32);
      ne = bits(in, 52, 52) | bits(in, 54, 54) << 1; ab = bits(in, 53, 53) | bits(in, 55, 55) << 1;
      v->dpp = true; v->ctl = bits(in, 48, 40); v->bc = bits(in, 51, 51); v->bm = bits(in, 59, 56); v->rm = bits(in, 63, 60);
    }
  } else if (vop3 || vop3p) {
    code[0] = bits(in, 40, 32); code[1] = bits(in, 49, 41); code[2] = bits(in, 58, 50);
    v->vd = bits(in, 7, 0); ne = bits(in, 63, 61); v->clamp = bits(in, 15, 15);
    if (vop3p) { os = bits(in, 13, 11); osh = bits(in, 60, 59) | bits(in, 14, 14) << 2; nh = bits(in, 10, 8); }
    else {
      v->omod = bits(in, 60, 59);
      if (sd_form) v->sd = bits(in, 14, 8);
      else { ab = bits(in, 10, 8); os = bits(in, 14, 11); v->half = os & 8; }
      if (v->out == 'b') { v->sd = bits(in, 7, 0); v->clamp = false; }  // clamp of a comparison: exceptions only
    }
  } else { delete v; return false; }
  if (in.name == "V_FMA_MIXHI_F16") v->half = true;
  if (in.name.compare(0, 9, "V_BITOP3_") == 0) { v->k = 3; v->kreg = v->omod << 6 | ab << 3 | ne; v->omod = 0; ab = ne = 0; }  // the truth table
  v->cmpx = in.name.compare(0, 6, "V_CMPX") == 0;
  bool ok = true;
  int field = 0;
  for (; *s; s++) {
    const char t = *s;
    if (t == 'k' || t == 'v') {
      v->k = 1; v->kreg = SG_VCC;
      if (t == 'k' && vop3) { v->kreg = code[2]; ok &= code[2] < 128; }
      continue;
    }
    VSrc& x = v->src[v->n];
    v->idx[v->n++] = field;
    if (t == 'x' || t == 'y' || t == 'z' || t == 'Z' || t == 'w') { x.kind = K_VGPR; x.reg = v->vd; x.type = t == 'x' ? 'f' : t == 'y' ? 'd' : t == 'z' ? 'h' : t == 'Z' ? 'P' : 'u'; x.hi_hi = true; x.slow = t == 'z'; continue; }
    if (t == 'K') { set_src(x, 255, in.raw[1], 'f'); if (v->out == 'h') { x.type = 'h'; x.slow = true; } continue; }
    const unsigned bit = 1u << field;
    x.abs = ab & bit; x.neg = ne & bit; x.hi = os & bit; x.hi_hi = true;
    if (vop3p) { x.hi_hi = osh & bit; x.neg_hi = nh & bit; if (t == 'm') x.abs = nh & bit; }
    ok &= set_src(x, code[field], in.raw[1], t, osh & bit);
    const bool flt = t == 'f' || t == 'd' || t == 'h' || t == 'P' || t == 'F' || t == 'm';
    if (!flt && (x.abs || x.neg || x.neg_hi)) ok = false;
    if ((t == 'f' || t == 'd' || t == 'u' || t == 'q') && x.hi && !vop3p) ok = false;
    x.slow = x.abs || x.neg || x.neg_hi || x.sel < 6 || t == 'm' || ((t == 'h' || t == 's' || t == 'P' || t == 'p' || t == 'F') && (x.hi || !x.hi_hi));
    if (t == 'h' && x.abs) x.slow = true;
    field++;
  }
  v->wide = v->out == 'd' || v->out == 'q' || v->out == 'F';
  v->f64 = false;
  for (const char* q = op.sig; *q; q++) if (*q == 'd' || *q == 'y') v->f64 = true;
  if (v->out == 'f') v->f64 = false;                // v_cvt_f32_f64 rounds to single precision
  v->fn = op.fn;
  const bool intout = v->out == 'u' || v->out == 's' || v->out == 'S' || v->out == 'p' || v->out == 'q';
  if (v->clamp && intout) { if (op.sat) { v->fn = op.sat; v->clamp = false; } else ok = false; }
  if (v->omod && (intout || v->out == 'b')) ok = false;
  if (!ok) { delete v; in.nat = do_refuse; return true; }
  in.v = v;
  in.nat = do_valu;
  const bool plain = !v->sdwa && !v->dpp && !v->clamp && !v->omod && v->out != 'H' && v->out != 'S' && !v->carry && !v->cmpx;
  if (plain && v->out == 'b') in.nat = do_cmp_fast;
  else if (plain) {
    static const NativeFn f[2][4] = {{do_valu, do_valu_fast<1, false>, do_valu_fast<2, false>, do_valu_fast<3, false>}, {do_valu, do_valu_fast<1, true>, do_valu_fast<2, true>, do_valu_fast<3, true>}};
    in.nat = f[v->wide][v->n];
  }
  return true;
}

// ---- scalar ------------------------------------------------------------------------------------------------------
typedef NativeFn SFn;
struct SOp { const char *name, *sig; SFn fn; };     // sig: result, operands; u 32 bits, q 64 bits, i a 64-bit signed number, - none
static inline u32 s32(Wave& w, const Inst& in, int i) { return in.sc[i] ? (u32)in.sk[i] : w.sgpr[in.sr[i]]; }
static inline u64 s64(Wave& w, const Inst& in, int i) { return in.sc[i] ? in.sk[i] : w.s64(in.sr[i]); }
#define SFN(...) [](Wave& w, const Inst& in) { (void)in; __VA_ARGS__ adv(w, in); }
#define A32 const u32 a = s32(w, in, 0);
#define AB32 const u32 a = s32(w, in, 0), b = s32(w, in, 1);
#define A64 const u64 a = s64(w, in, 0);
#define AB64 const u64 a = s64(w, in, 0), b = s64(w, in, 1);
#define AB6432 const u64 a = s64(w, in, 0); const u32 b = s32(w, in, 1);
#define D32(E) { const u32 r_ = (u32)(E); w.sgpr[in.sd] = r_; }
#define D64(E) { const u64 r_ = (u64)(E); set64(w, in.sd, r_); }
#define D32S(E) { const u32 r_ = (u32)(E); w.sgpr[in.sd] = r_; w.sgpr[SG_SCC] = r_ != 0; }
#define D64S(E) { const u64 r_ = (u64)(E); set64(w, in.sd, r_); w.sgpr[SG_SCC] = r_ != 0; }
#define SCC(E) w.sgpr[SG_SCC] = (E) ? 1 : 0;
#define SAVEEXEC(E) SFN(A64 const u64 e = w.exec(); const u64 r = (E); set64(w, in.sd, e); set64(w, SG_EXEC, r); SCC(r))
#define WREXEC(E) SFN(A64 const u64 e = w.exec(); const u64 r = (E); set64(w, SG_EXEC, r); set64(w, in.sd, r); SCC(r))
#define CMP(E) SFN(AB32 SCC(E))
#define K16 const i32 k = (int16_t)in.raw[0]; const u32 x = w.sgpr[in.sd]; (void)x; (void)k;
static inline u64 quad(u64 a, u64 ones) { u64 r = 0; for (int i = 0; i < 64; i += 4) if (a >> i & 15) r |= ones << i; return r; }
static inline u64 rev64(u64 v) { u64 r = 0; for (int i = 0; i < 64; i++) r |= (v >> i & 1) << (63 - i); return r; }
static inline u32 bad_idx(unsigned r) { if (r > 127) fault(Status::Fault, "the SGPR index %u is out of range", r); return r; }
static const SOp sops[] = {
  {"S_MOV_B32", "u:u", SFN(A32 D32(a))}, {"S_MOV_B64", "q:q", SFN(A64 D64(a))}, {"S_CMOV_B32", "u:u", SFN(A32 if (w.sgpr[SG_SCC]) D32(a))}, {"S_CMOV_B64", "q:q", SFN(A64 if (w.sgpr[SG_SCC]) D64(a))},
  {"S_NOT_B32", "u:u", SFN(A32 D32S(~a))}, {"S_NOT_B64", "q:q", SFN(A64 D64S(~a))}, {"S_WQM_B32", "u:u", SFN(A32 D32S(quad(a, 15)))}, {"S_WQM_B64", "q:q", SFN(A64 D64S(quad(a, 15)))},
  {"S_BREV_B32", "u:u", SFN(A32 D32(rev64(a) >> 32))}, {"S_BREV_B64", "q:q", SFN(A64 D64(rev64(a)))},
  {"S_BCNT0_I32_B32", "u:u", SFN(A32 D32S(__builtin_popcount(~a)))}, {"S_BCNT0_I32_B64", "u:q", SFN(A64 D32S(__builtin_popcountll(~a)))}, {"S_BCNT1_I32_B32", "u:u", SFN(A32 D32S(__builtin_popcount(a)))}, {"S_BCNT1_I32_B64", "u:q", SFN(A64 D32S(__builtin_popcountll(a)))},
  {"S_FF0_I32_B32", "u:u", SFN(A32 D32(~a ? __builtin_ctz(~a) : -1))}, {"S_FF0_I32_B64", "u:q", SFN(A64 D32(~a ? __builtin_ctzll(~a) : -1))}, {"S_FF1_I32_B32", "u:u", SFN(A32 D32(a ? __builtin_ctz(a) : -1))}, {"S_FF1_I32_B64", "u:q", SFN(A64 D32(a ? __builtin_ctzll(a) : -1))},
  {"S_FLBIT_I32_B32", "u:u", SFN(A32 D32(a ? __builtin_clz(a) : -1))}, {"S_FLBIT_I32_B64", "u:q", SFN(A64 D32(a ? __builtin_clzll(a) : -1))}, {"S_FLBIT_I32", "u:u", SFN(A32 const u32 b = a ^ (u32)((i32)a >> 31); D32(b ? __builtin_clz(b) : -1))}, {"S_FLBIT_I32_I64", "u:q", SFN(A64 const u64 b = a ^ (u64)((i64)a >> 63); D32(b ? __builtin_clzll(b) : -1))},
  {"S_SEXT_I32_I8", "u:u", SFN(A32 D32((i32)(int8_t)a))}, {"S_SEXT_I32_I16", "u:u", SFN(A32 D32((i32)(int16_t)a))}, {"S_BITSET0_B32", "u:u", SFN(A32 D32(w.sgpr[in.sd] & ~(1u << (a & 31))))}, {"S_BITSET0_B64", "q:u", SFN(A32 D64(w.s64(in.sd) & ~(1ull << (a & 63))))}, {"S_BITSET1_B32", "u:u", SFN(A32 D32(w.sgpr[in.sd] | 1u << (a & 31)))}, {"S_BITSET1_B64", "q:u", SFN(A32 D64(w.s64(in.sd) | 1ull << (a & 63)))},
  {"S_AND_SAVEEXEC_B64", "q:q", SAVEEXEC(a & e)}, {"S_OR_SAVEEXEC_B64", "q:q", SAVEEXEC(a | e)}, {"S_XOR_SAVEEXEC_B64", "q:q", SAVEEXEC(a ^ e)}, {"S_ANDN2_SAVEEXEC_B64", "q:q", SAVEEXEC(a & ~e)}, {"S_ORN2_SAVEEXEC_B64", "q:q", SAVEEXEC(a | ~e)}, {"S_NAND_SAVEEXEC_B64", "q:q", SAVEEXEC(~(a & e))},
  {"S_NOR_SAVEEXEC_B64", "q:q", SAVEEXEC(~(a | e))}, {"S_XNOR_SAVEEXEC_B64", "q:q", SAVEEXEC(~(a ^ e))}, {"S_ANDN1_SAVEEXEC_B64", "q:q", SAVEEXEC(~a & e)}, {"S_ORN1_SAVEEXEC_B64", "q:q", SAVEEXEC(~a | e)}, {"S_ANDN1_WREXEC_B64", "q:q", WREXEC(~a & e)}, {"S_ANDN2_WREXEC_B64", "q:q", WREXEC(a & ~e)},
  {"S_QUADMASK_B32", "u:u", SFN(A32 u32 q = 0; for (int i = 0; i < 8; i++) q |= (u32)((a >> (4 * i) & 15) != 0) << i; D32S(q))}, {"S_QUADMASK_B64", "q:q", SFN(A64 u64 q = 0; for (int i = 0; i < 16; i++) q |= (u64)((a >> (4 * i) & 15) != 0) << i; D64S(q))},
  {"S_MOVRELS_B32", "u:u", SFN(D32(w.sgpr[bad_idx(in.sr[0] + w.sgpr[SG_M0])]))}, {"S_MOVRELS_B64", "q:q", SFN(D64(w.s64(bad_idx(in.sr[0] + w.sgpr[SG_M0]))))}, {"S_MOVRELD_B32", "u:u", SFN(A32 w.sgpr[bad_idx(in.sd + w.sgpr[SG_M0])] = a;)}, {"S_MOVRELD_B64", "q:q", SFN(A64 set64(w, bad_idx(in.sd + w.sgpr[SG_M0]), a);)},
  {"S_ABS_I32", "u:u", SFN(A32 D32S((i32)a < 0 ? 0u - a : a))}, {"S_BITREPLICATE_B64_B32", "q:u", SFN(A32 u64 q = 0; for (int i = 0; i < 32; i++) if (a >> i & 1) q |= 3ull << (2 * i); D64(q))},
  {"S_ADD_U32", "u:uu", SFN(AB32 SCC(((u64)a + b) >> 32) D32(a + b))}, {"S_SUB_U32", "u:uu", SFN(AB32 SCC(b > a) D32(a - b))}, {"S_ADD_I32", "u:uu", SFN(AB32 SCC(((a ^ (a + b)) & (b ^ (a + b))) >> 31) D32(a + b))}, {"S_SUB_I32", "u:uu", SFN(AB32 SCC(((a ^ b) & (a ^ (a - b))) >> 31) D32(a - b))},
  {"S_ADDC_U32", "u:uu", SFN(AB32 const u64 r = (u64)a + b + w.sgpr[SG_SCC]; SCC(r >> 32) D32(r))}, {"S_SUBB_U32", "u:uu", SFN(AB32 const u32 ci = w.sgpr[SG_SCC]; SCC((u64)b + ci > a) D32(a - b - ci))},
  {"S_MIN_I32", "u:uu", SFN(AB32 SCC((i32)a < (i32)b) D32((i32)a < (i32)b ? a : b))}, {"S_MIN_U32", "u:uu", SFN(AB32 SCC(a < b) D32(a < b ? a : b))}, {"S_MAX_I32", "u:uu", SFN(AB32 SCC((i32)a > (i32)b) D32((i32)a > (i32)b ? a : b))}, {"S_MAX_U32", "u:uu", SFN(AB32 SCC(a > b) D32(a > b ? a : b))},
  {"S_CSELECT_B32", "u:uu", SFN(AB32 D32(w.sgpr[SG_SCC] ? a : b))}, {"S_CSELECT_B64", "q:qq", SFN(AB64 D64(w.sgpr[SG_SCC] ? a : b))},
  {"S_AND_B32", "u:uu", SFN(AB32 D32S(a & b))}, {"S_AND_B64", "q:qq", SFN(AB64 D64S(a & b))}, {"S_OR_B32", "u:uu", SFN(AB32 D32S(a | b))}, {"S_OR_B64", "q:qq", SFN(AB64 D64S(a | b))}, {"S_XOR_B32", "u:uu", SFN(AB32 D32S(a ^ b))}, {"S_XOR_B64", "q:qq", SFN(AB64 D64S(a ^ b))},
  {"S_ANDN2_B32", "u:uu", SFN(AB32 D32S(a & ~b))}, {"S_ANDN2_B64", "q:qq", SFN(AB64 D64S(a & ~b))}, {"S_ORN2_B32", "u:uu", SFN(AB32 D32S(a | ~b))}, {"S_ORN2_B64", "q:qq", SFN(AB64 D64S(a | ~b))}, {"S_NAND_B32", "u:uu", SFN(AB32 D32S(~(a & b)))}, {"S_NAND_B64", "q:qq", SFN(AB64 D64S(~(a & b)))},
  {"S_NOR_B32", "u:uu", SFN(AB32 D32S(~(a | b)))}, {"S_NOR_B64", "q:qq", SFN(AB64 D64S(~(a | b)))}, {"S_XNOR_B32", "u:uu", SFN(AB32 D32S(~(a ^ b)))}, {"S_XNOR_B64", "q:qq", SFN(AB64 D64S(~(a ^ b)))},
  {"S_LSHL_B32", "u:uu", SFN(AB32 D32S(a << (b & 31)))}, {"S_LSHL_B64", "q:qu", SFN(AB6432 D64S(a << (b & 63)))}, {"S_LSHR_B32", "u:uu", SFN(AB32 D32S(a >> (b & 31)))}, {"S_LSHR_B64", "q:qu", SFN(AB6432 D64S(a >> (b & 63)))}, {"S_ASHR_I32", "u:uu", SFN(AB32 D32S((i32)a >> (b & 31)))}, {"S_ASHR_I64", "q:iu", SFN(AB6432 D64S((i64)a >> (b & 63)))},
  {"S_BFM_B32", "u:uu", SFN(AB32 D32(((1u << (a & 31)) - 1) << (b & 31)))}, {"S_BFM_B64", "q:uu", SFN(AB32 D64(((1ull << (a & 63)) - 1) << (b & 63)))}, {"S_MUL_I32", "u:uu", SFN(AB32 D32(a * b))},
  {"S_BFE_U32", "u:uu", SFN(AB32 const u32 n = b >> 16 & 127; const u32 o = b & 31; D32S(n == 0 ? 0 : (a >> o) & (n >= 32 ? ~0u : (1u << n) - 1)))}, {"S_BFE_I32", "u:uu", SFN(AB32 const u32 n = std::min(b >> 16 & 127, 32u); const u32 o = b & 31; const i32 x = (i32)a >> o; D32S(n == 0 ? 0 : o + n >= 32 ? x : (i32)((u32)x << (32 - n)) >> (32 - n)))},
  {"S_BFE_U64", "q:qu", SFN(AB6432 const u32 n = b >> 16 & 127; const u32 o = b & 63; D64S(n == 0 ? 0 : (a >> o) & (n >= 64 ? ~0ull : (1ull << n) - 1)))}, {"S_BFE_I64", "q:iu", SFN(AB6432 const u32 n = std::min(b >> 16 & 127, 64u); const u32 o = b & 63; const i64 x = (i64)a >> o; D64S(n == 0 ? 0 : o + n >= 64 ? x : (i64)((u64)x << (64 - n)) >> (64 - n)))},
  {"S_ABSDIFF_I32", "u:uu", SFN(AB32 const u32 r = a - b; D32S((i32)r < 0 ? 0u - r : r))}, {"S_MUL_HI_U32", "u:uu", SFN(AB32 D32((u64)a * b >> 32))}, {"S_MUL_HI_I32", "u:uu", SFN(AB32 D32((i64)(i32)a * (i32)b >> 32))},
  {"S_LSHL1_ADD_U32", "u:uu", SFN(AB32 const u64 r = ((u64)a << 1) + b; SCC(r >> 32) D32(r))}, {"S_LSHL2_ADD_U32", "u:uu", SFN(AB32 const u64 r = ((u64)a << 2) + b; SCC(r >> 32) D32(r))}, {"S_LSHL3_ADD_U32", "u:uu", SFN(AB32 const u64 r = ((u64)a << 3) + b; SCC(r >> 32) D32(r))}, {"S_LSHL4_ADD_U32", "u:uu", SFN(AB32 const u64 r = ((u64)a << 4) + b; SCC(r >> 32) D32(r))},
  {"S_PACK_LL_B32_B16", "u:uu", SFN(AB32 D32(LO(a) | b << 16))}, {"S_PACK_LH_B32_B16", "u:uu", SFN(AB32 D32(LO(a) | (b & 0xffff0000)))}, {"S_PACK_HH_B32_B16", "u:uu", SFN(AB32 D32(a >> 16 | (b & 0xffff0000)))},
  {"S_MOVK_I32", "K", SFN(K16 w.sgpr[in.sd] = (u32)k;)}, {"S_CMOVK_I32", "K", SFN(K16 if (w.sgpr[SG_SCC]) w.sgpr[in.sd] = (u32)k;)}, {"S_ADDK_I32", "K", SFN(K16 const u32 r = x + (u32)k; SCC(((x ^ r) & ((u32)k ^ r)) >> 31) w.sgpr[in.sd] = r;)}, {"S_MULK_I32", "K", SFN(K16 w.sgpr[in.sd] = x * (u32)k;)},
  {"S_CMPK_EQ_I32", "K", SFN(K16 SCC((i32)x == k))}, {"S_CMPK_LG_I32", "K", SFN(K16 SCC((i32)x != k))}, {"S_CMPK_GT_I32", "K", SFN(K16 SCC((i32)x > k))}, {"S_CMPK_GE_I32", "K", SFN(K16 SCC((i32)x >= k))}, {"S_CMPK_LT_I32", "K", SFN(K16 SCC((i32)x < k))}, {"S_CMPK_LE_I32", "K", SFN(K16 SCC((i32)x <= k))},
  {"S_CMPK_EQ_U32", "K", SFN(K16 SCC(x == LO((u32)k)))}, {"S_CMPK_LG_U32", "K", SFN(K16 SCC(x != LO((u32)k)))}, {"S_CMPK_GT_U32", "K", SFN(K16 SCC(x > LO((u32)k)))}, {"S_CMPK_GE_U32", "K", SFN(K16 SCC(x >= LO((u32)k)))}, {"S_CMPK_LT_U32", "K", SFN(K16 SCC(x < LO((u32)k)))}, {"S_CMPK_LE_U32", "K", SFN(K16 SCC(x <= LO((u32)k)))},
  {"S_CMP_EQ_I32", "-:uu", CMP(a == b)}, {"S_CMP_LG_I32", "-:uu", CMP(a != b)}, {"S_CMP_GT_I32", "-:uu", CMP((i32)a > (i32)b)}, {"S_CMP_GE_I32", "-:uu", CMP((i32)a >= (i32)b)}, {"S_CMP_LT_I32", "-:uu", CMP((i32)a < (i32)b)}, {"S_CMP_LE_I32", "-:uu", CMP((i32)a <= (i32)b)},
  {"S_CMP_EQ_U32", "-:uu", CMP(a == b)}, {"S_CMP_LG_U32", "-:uu", CMP(a != b)}, {"S_CMP_GT_U32", "-:uu", CMP(a > b)}, {"S_CMP_GE_U32", "-:uu", CMP(a >= b)}, {"S_CMP_LT_U32", "-:uu", CMP(a < b)}, {"S_CMP_LE_U32", "-:uu", CMP(a <= b)},
  {"S_BITCMP0_B32", "-:uu", CMP(!(a >> (b & 31) & 1))}, {"S_BITCMP1_B32", "-:uu", CMP(a >> (b & 31) & 1)}, {"S_BITCMP0_B64", "-:qu", SFN(AB6432 SCC(!(a >> (b & 63) & 1)))}, {"S_BITCMP1_B64", "-:qu", SFN(AB6432 SCC(a >> (b & 63) & 1))}, {"S_CMP_EQ_U64", "-:qq", SFN(AB64 SCC(a == b))}, {"S_CMP_LG_U64", "-:qq", SFN(AB64 SCC(a != b))},
  {"S_SET_GPR_IDX_IDX", "-:u", SFN(A32 w.sgpr[SG_M0] = (w.sgpr[SG_M0] & ~255u) | (a & 255);)},
  {"S_SET_GPR_IDX_ON", "-:u", SFN(A32 w.sgpr[SG_M0] = (w.sgpr[SG_M0] & 0xffff0f00u) | (a & 255) | (in.raw[0] >> 8 & 15) << 12; w.idx = w.special = true;)},
};
static bool select_salu(Inst& in) {
  static const auto* m = [] { auto* m = new std::unordered_map<std::string, const SOp*>; for (auto& o : sops) (*m)[o.name] = &o; return m; }();
  auto it = m->find(in.name);
  if (it == m->end()) return false;
  const SOp& op = *it->second;
  in.sd = bits(in, 22, 16);
  if (op.sig[0] != 'K') {
    const unsigned code[2] = {bits(in, 7, 0), bits(in, 15, 8)};
    for (int i = 0; op.sig[2 + i]; i++) {
      const char t = op.sig[2 + i];
      u64 v;
      if (constant(code[i], in.raw[1], t, v)) { in.sc[i] = 1; in.sk[i] = v; }
      else if (code[i] < 128 || code[i] == 253) in.sr[i] = code[i];
      else { in.nat = do_refuse; return true; }
    }
    if (in.name.compare(0, 9, "S_MOVRELS") == 0 && in.sc[0]) { in.nat = do_refuse; return true; }
  }
  in.nat = op.fn;
  return true;
}

bool select_alu(Inst& in) {
  const char c = in.cls[0];
  if (c == 'S') return select_salu(in);
  if (c == 'V') return select_valu(in);
  return false;
}

}  // namespace amdsim
