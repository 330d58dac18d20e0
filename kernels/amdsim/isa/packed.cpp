// Two numbers a register, mixed precision and dot products
#include "fused_half.hpp"
#include "min_max.hpp"

namespace amdsim {
namespace {

// Both halves of packed operands: n operands as floats, or as 16-bit numbers
#define PACKED_HALVES(n, E)                                                                                  \
  CODE(alignas(64) u32 result[2][64]; for (int h = 0; h < 2; h++) {                                          \
    alignas(64) u32 ta[64], tb[64], tc[64];                                                                  \
    LANES {                                                                                                  \
      ta[l] = pa[l] >> (16 * h) & 0xffff;                                                                    \
      tb[l] = pb[l] >> (16 * h) & 0xffff;                                                                    \
      if (n > 2) tc[l] = pc[l] >> (16 * h) & 0xffff;                                                         \
    }                                                                                                        \
    Floats64 A(ta), B(tb), C, X;                                                                             \
    if (n > 2) halves_to_floats(C.x, tc);                                                                    \
    LANES {                                                                                                  \
      const float a = A.x[l], b = B.x[l], c = n > 2 ? C.x[l] : 0;                                            \
      (void)c;                                                                                               \
      X.x[l] = (float)(E);                                                                                   \
    }                                                                                                        \
    floats_to_halves(result[h], X.x);                                                                        \
  } LANES d[l] = result[0][l] | result[1][l] << 16;)
#define PACKED_AS(T, LOW, HIGH, E)                                                                           \
  CODE(LANES {                                                                                               \
    u32 r = 0;                                                                                               \
    {                                                                                                        \
      const T a = LOW(pa[l]), b = LOW(pb[l]), c = LOW(pc[l]);                                                \
      (void)c;                                                                                               \
      r = (u32)(E) & 0xffff;                                                                                 \
    }                                                                                                        \
    {                                                                                                        \
      const T a = HIGH(pa[l]), b = HIGH(pb[l]), c = HIGH(pc[l]);                                             \
      (void)c;                                                                                               \
      r |= (u32)(E) << 16;                                                                                   \
    }                                                                                                        \
    d[l] = r;                                                                                                \
  })
inline u32 high16(u32 x) { return x >> 16; }
inline i32 signed_high16(u32 x) { return (i32)x >> 16; }
#define PACKED_UNSIGNED(E) PACKED_AS(u32, low16, high16, E)
#define PACKED_SIGNED(E) PACKED_AS(i32, signed16, signed_high16, E)
// Two floats in two registers
#define FLOAT_PAIRS(E)                                                                                       \
  CODE(LANES {                                                                       \
    { const float a = asf(pa[l]), b = asf(pb[l]), c = asf(pc[l]); (void)c; d[l] = asu(E);                    \
  }                                                                                                          \
  {                                                                                                          \
    const float a = asf(pa[64 + l]), b = asf(pb[64 + l]), c = asf(pc[64 + l]);                               \
    (void)c;                                                                                                 \
    d[64 + l] = asu(E);                                                                                      \
  }                                                                                                          \
  })

inline i64 dot4i(u32 a, u32 b) {
  i64 s = 0;
  for (int k = 0; k < 32; k += 8) s += (int8_t)(a >> k) * (int8_t)(b >> k);
  return s;
}
inline i64 dot4u(u32 a, u32 b) {
  i64 s = 0;
  for (int k = 0; k < 32; k += 8) s += (i64)(uint8_t)(a >> k) * (uint8_t)(b >> k);
  return s;
}
inline i64 dot8i(u32 a, u32 b) {
  i64 s = 0;
  for (int k = 0; k < 32; k += 4) s += ((i32)(a << (28 - k)) >> 28) * ((i32)(b << (28 - k)) >> 28);
  return s;
}
inline i64 dot8u(u32 a, u32 b) {
  i64 s = 0;
  for (int k = 0; k < 32; k += 4) s += (i64)(a >> k & 15) * (b >> k & 15);
  return s;
}
inline i64 dot2i(u32 a, u32 b) {
  return (i64)signed16(a) * signed16(b) + (i64)((i32)a >> 16) * ((i32)b >> 16);
}
inline i64 dot2u(u32 a, u32 b) { return (i64)((u64)low16(a) * low16(b) + (u64)(a >> 16) * (b >> 16)); }
inline float dot2h(u32 a, u32 b, float c) {
  return (float)((double)half_to_float(a) * half_to_float(b) +
                 (double)half_to_float(a >> 16) * half_to_float(b >> 16) + c);
}

// clang-format off: it takes a * b for a pointer, and would break rows up
constexpr VOp table[] = {
    {"V_PK_MAD_I16", "p:ppp", PACKED_SIGNED((u32)a * (u32)b + (u32)c),
     PACKED_SIGNED(sat16((i32)clamp((i64)a * b + c, -70000, 70000)))},
    {"V_PK_MAD_U16", "p:ppp", PACKED_UNSIGNED(a * b + c), PACKED_UNSIGNED(usat16((i64)((u64)a * b + c)))},
    {"V_PK_MUL_LO_U16", "p:pp", PACKED_UNSIGNED(a * b)},
    {"V_PK_ADD_I16", "p:pp", PACKED_SIGNED(a + b), PACKED_SIGNED(sat16(a + b))},
    {"V_PK_SUB_I16", "p:pp", PACKED_SIGNED(a - b), PACKED_SIGNED(sat16(a - b))},
    {"V_PK_ADD_U16", "p:pp", PACKED_UNSIGNED(a + b), PACKED_UNSIGNED(usat16((i64)a + b))},
    {"V_PK_SUB_U16", "p:pp", PACKED_UNSIGNED(a - b), PACKED_UNSIGNED(usat16((i64)a - b))},
    {"V_PK_LSHLREV_B16", "p:pp", PACKED_UNSIGNED(b << (a & 15))},
    {"V_PK_LSHRREV_B16", "p:pp", PACKED_UNSIGNED(b >> (a & 15))},
    {"V_PK_ASHRREV_I16", "p:pp", PACKED_SIGNED(b >> (a & 15))},
    {"V_PK_MAX_I16", "p:pp", PACKED_SIGNED(max2(a, b))},
    {"V_PK_MIN_I16", "p:pp", PACKED_SIGNED(min2(a, b))},
    {"V_PK_MAX_U16", "p:pp", PACKED_UNSIGNED(max2(a, b))},
    {"V_PK_MIN_U16", "p:pp", PACKED_UNSIGNED(min2(a, b))},
    {"V_PK_FMA_F16", "P:PPP", PACKED_HALVES(3, fmah(a, b, c))},
    {"V_PK_FMAC_F16", "P:PPZ", PACKED_HALVES(3, fmah(a, b, c))},
    {"V_PK_ADD_F16", "P:PP", PACKED_HALVES(2, a + b)},
    {"V_PK_MUL_F16", "P:PP", PACKED_HALVES(2, a * b)},
    {"V_PK_MIN_F16", "P:PP", PACKED_UNSIGNED(fmin16(a, b))},
    {"V_PK_MAX_F16", "P:PP", PACKED_UNSIGNED(fmax16(a, b))},
    {"V_PK_FMA_F32", "F:FFF", FLOAT_PAIRS(std::fma(a, b, c))},
    {"V_PK_MUL_F32", "F:FF", FLOAT_PAIRS(a * b)},
    {"V_PK_ADD_F32", "F:FF", FLOAT_PAIRS(a + b)},
    {"V_PK_MOV_B32", "q:FF",
     CODE(LANES { const u32 a = pa[l]; const u32 b = pb[l]; d[l] = a; d[64 + l] = b; })},
    {"V_FMA_MIX_F32", "f:mmm", FLOATS(std::fma(a, b, c))},
    {"V_FMA_MIXLO_F16", "H:mmm", TO_HALF(std::fma(asf(a), asf(b), asf(c)))},
    {"V_FMA_MIXHI_F16", "H:mmm", TO_HALF(std::fma(asf(a), asf(b), asf(c)))},
    {"V_DOT2_F32_F16", "f:PPf", WORDS(asu(dot2h(a, b, asf(c))))},
    {"V_DOT2C_F32_F16", "f:PPx", WORDS(asu(dot2h(a, b, asf(c))))},
    {"V_DOT2_I32_I16", "u:ppu", WORDS((u64)dot2i(a, b) + c), WORDS(sat32(dot2i(a, b) + (i32)c))},
    {"V_DOT2_U32_U16", "u:ppu", WORDS((u64)dot2u(a, b) + c), WORDS(usat32(dot2u(a, b) + c))},
    {"V_DOT2C_I32_I16", "u:uuw", WORDS((u64)dot2i(a, b) + c), WORDS(sat32(dot2i(a, b) + (i32)c))},
    {"V_DOT4_I32_I8", "u:uuu", WORDS((u64)dot4i(a, b) + c), WORDS(sat32(dot4i(a, b) + (i32)c))},
    {"V_DOT4_U32_U8", "u:uuu", WORDS((u64)dot4u(a, b) + c), WORDS(usat32(dot4u(a, b) + c))},
    {"V_DOT4C_I32_I8", "u:uuw", WORDS((u64)dot4i(a, b) + c), WORDS(sat32(dot4i(a, b) + (i32)c))},
    {"V_DOT8_I32_I4", "u:uuu", WORDS((u64)dot8i(a, b) + c), WORDS(sat32(dot8i(a, b) + (i32)c))},
    {"V_DOT8_U32_U4", "u:uuu", WORDS((u64)dot8u(a, b) + c), WORDS(usat32(dot8u(a, b) + c))},
    {"V_DOT8C_I32_I4", "u:uuw", WORDS((u64)dot8i(a, b) + c), WORDS(sat32(dot8i(a, b) + (i32)c))},
};
// clang-format on

} // namespace

std::span<const VOp> packed_ops() { return table; }

} // namespace amdsim
