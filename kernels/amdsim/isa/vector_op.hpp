// Vector arithmetic as tables: a name, what its operands are, and a function
// over 64 lanes. The macros below write such functions from an expression over
// a, b and c, the operands of a lane `l`, so that a table row is one line.
#pragma once
#include "half.hpp"
#include "isa.hpp"

#include <cmath>
#include <span>

namespace amdsim {

typedef uint32_t u32;
typedef uint64_t u64;
typedef int32_t i32;
typedef int64_t i64;

// a, b, c: registers of 64 words, two of them where the type has 64 bits. k: carry
// or select mask, or an immediate. out: the mask that a comparison or a carry gives.
struct VArgs {
  const u32 *a, *b, *c;
  u64 k = 0, out = 0;
  Wave* w = nullptr;
};
typedef void (*VFn)(u32* d, VArgs& g);

// The signature is "result:operands", a letter each.
//   f h d   float, half, double          P F  two halves in a register, two floats in two
//   u s q   32, 16, 64 bits              p    two 16-bit integers in a register
//   m       float or half, as op_sel_hi says
// As results only: H S, a half of the register, whose other half stays; b, a mask in VCC or
// SGPRs; a + behind the letter means a carry mask besides.
// As operands without a field of their own: x y z Z w, the destination as float, double, half,
// packed, bits; K, the literal; k, the carry or select mask; v, VCC as a mask.
struct VOp {
  const char *name, *sig;
  VFn fn;
  VFn sat = nullptr; // with the clamp modifier, where integers saturate
};

// The tables, one a file
std::span<const VOp> bit_ops();
std::span<const VOp> integer_ops();
std::span<const VOp> float_ops();
std::span<const VOp> double_ops();
std::span<const VOp> half_ops();
std::span<const VOp> conversion_ops();
std::span<const VOp> packed_ops();
std::span<const VOp> transcendental_ops();
const VOp* find_comparison(const std::string& name);

// ---- half precision, 64 lanes at a time: the numbers lie in the low halves of words ---------------------
inline void halves_to_floats(float* o, const u32* x) {
#ifdef __AVX512F__
  for (int i = 0; i < 64; i += 16)
    _mm512_store_ps(o + i, _mm512_cvtph_ps(_mm512_cvtepi32_epi16(_mm512_loadu_si512(x + i))));
#else
  for (int l = 0; l < 64; l++) o[l] = half_to_float(x[l]);
#endif
}
constexpr int NEAREST = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC,
              TO_ZERO = _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC;
template <int ROUNDING = NEAREST> inline void floats_to_halves(u32* o, const float* x) {
#ifdef __AVX512F__
  for (int i = 0; i < 64; i += 16)
    _mm512_storeu_si512(o + i, _mm512_cvtepu16_epi32(_mm512_cvtps_ph(_mm512_load_ps(x + i), ROUNDING)));
#else
  for (int l = 0; l < 64; l++) o[l] = _cvtss_sh(x[l], ROUNDING);
#endif
}
struct alignas(64) Floats64 {
  float x[64];
  Floats64() {}
  explicit Floats64(const u32* halves) { halves_to_floats(x, halves); }
};

// ---- functions from expressions -------------------------------------------------------------------------
#define UNUSED_ABC                                                                                           \
  (void)a;                                                                                                   \
  (void)b;                                                                                                   \
  (void)c;
#define CODE(...)                                                                                            \
  [](u32* d, VArgs& g) {                                                                                     \
    const u32 *pa = g.a, *pb = g.b, *pc = g.c;                                                               \
    (void)pa;                                                                                                \
    (void)pb;                                                                                                \
    (void)pc;                                                                                                \
    __VA_ARGS__                                                                                              \
  }
#define WORDS(E)                                                                                             \
  CODE(LANES {                                                                                               \
    const u32 a = pa[l], b = pb[l], c = pc[l];                                                               \
    UNUSED_ABC d[l] = (u32)(E);                                                                              \
  })
#define FLOATS(E)                                                                                            \
  CODE(LANES {                                                                                               \
    const float a = asf(pa[l]), b = asf(pb[l]), c = asf(pc[l]);                                              \
    UNUSED_ABC d[l] = asu((float)(E));                                                                       \
  })
#define DOUBLES(E)                                                                                           \
  CODE(LANES {                                                                                               \
    const double a = asd(ldq(pa, l)), b = asd(ldq(pb, l)), c = asd(ldq(pc, l));                              \
    UNUSED_ABC stq(d, l, asq(E));                                                                            \
  })
#define QUADS(E)                                                                                             \
  CODE(LANES {                                                                                               \
    const u64 a = ldq(pa, l), b = ldq(pb, l), c = ldq(pc, l);                                                \
    UNUSED_ABC stq(d, l, (u64)(E));                                                                          \
  })
#define WORD_QUADS(E)                                                                                        \
  CODE(LANES {                                                                                               \
    const u32 a = pa[l];                                                                                     \
    const u64 b = ldq(pb, l), c = ldq(pc, l);                                                                \
    UNUSED_ABC stq(d, l, (u64)(E));                                                                          \
  })
#define FROM_FLOAT(E)                                                                                        \
  CODE(LANES {                                                                                               \
    const float a = asf(pa[l]);                                                                              \
    d[l] = (u32)(E);                                                                                         \
  })
#define FROM_DOUBLE(E)                                                                                       \
  CODE(LANES {                                                                                               \
    const double a = asd(ldq(pa, l));                                                                        \
    d[l] = (u32)(E);                                                                                         \
  })
#define TO_DOUBLE(E)                                                                                         \
  CODE(LANES {                                                                                               \
    const u32 a = pa[l];                                                                                     \
    stq(d, l, asq((double)(E)));                                                                             \
  })
#define HALF(E)                                                                                              \
  CODE(                                                                                                      \
      Floats64 A(pa), X; LANES {                                                                             \
        const float a = A.x[l];                                                                              \
        X.x[l] = (float)(E);                                                                                 \
      } floats_to_halves(d, X.x);)
#define HALVES_2(E)                                                                                          \
  CODE(                                                                                                      \
      Floats64 A(pa), B(pb), X; LANES {                                                                      \
        const float a = A.x[l], b = B.x[l];                                                                  \
        X.x[l] = (float)(E);                                                                                 \
      } floats_to_halves(d, X.x);)
#define HALVES_3(E)                                                                                          \
  CODE(                                                                                                      \
      Floats64 A(pa), B(pb), C(pc), X; LANES {                                                               \
        const float a = A.x[l], b = B.x[l], c = C.x[l];                                                      \
        X.x[l] = (float)(E);                                                                                 \
      } floats_to_halves(d, X.x);)
#define FROM_HALF(E)                                                                                         \
  CODE(Floats64 A(pa); LANES {                                                                               \
    const float a = A.x[l];                                                                                  \
    d[l] = (u32)(E);                                                                                         \
  })
#define TO_HALF(E)                                                                                           \
  CODE(Floats64 X; LANES {                                                                                   \
    const u32 a = pa[l], b = pb[l], c = pc[l];                                                               \
    UNUSED_ABC X.x[l] = (float)(E);                                                                          \
  } floats_to_halves(d, X.x);)

// a vector of masks (0 or ~0) becomes the bits of g.out
inline u64 mask_of(const u32* t) {
#ifdef __AVX512F__
  u64 m = 0;
  for (int i = 0; i < 4; i++) {
    const __m512i v = _mm512_load_si512(t + 16 * i);
    m |= (u64)_mm512_test_epi32_mask(v, v) << (16 * i);
  }
  return m;
#else
  u64 m = 0;
  for (int i = 0; i < 8; i++)
    m |= (u64)(u32)_mm256_movemask_ps(_mm256_load_ps((const float*)t + 8 * i)) << (8 * i);
  return m;
#endif
}
#define MASK(E)                                                                                              \
  {                                                                                                          \
    alignas(64) u32 mask_[64];                                                                               \
    LANES { mask_[l] = (E) ? ~0u : 0u; }                                                                     \
    g.out = mask_of(mask_);                                                                                  \
  }

// ---- small functions that several tables need -----------------------------------------------------------
inline u32 low16(u32 x) { return x & 0xffff; }
inline i32 signed16(u32 x) { return (int16_t)x; }
template <class T> inline T min2(T a, T b) { return a < b ? a : b; }
template <class T> inline T max2(T a, T b) { return a > b ? a : b; }
template <class T> inline T median(T a, T b, T c) { return max2(min2(a, b), min2(max2(a, b), c)); }
inline i64 clamp(i64 v, i64 low, i64 high) { return v < low ? low : v > high ? high : v; }
inline u32 sat32(i64 v) { return (u32)clamp(v, INT32_MIN, INT32_MAX); }
inline u32 usat32(i64 v) { return (u32)clamp(v, 0, UINT32_MAX); }
inline u32 sat16(i32 v) { return (u32)(v < -32768 ? -32768 : v > 32767 ? 32767 : v); }
inline u32 usat16(i64 v) { return (u32)clamp(v, 0, 65535); }
template <class T> inline bool finite(T x) { return x - x == 0; }

struct DenormalsOn { // in the host, for as long as this lives
  unsigned old = _mm_getcsr();
  DenormalsOn() { _mm_setcsr(0x1f80); }
  ~DenormalsOn() { _mm_setcsr(old); }
};

} // namespace amdsim
