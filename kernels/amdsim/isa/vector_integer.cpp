// Integers of 16, 32 and 64 bits; the second function of a row saturates
#include "vector_op.hpp"

namespace amdsim {
namespace {

inline i32 i24(u32 v) { return (i32)(v << 8) >> 8; }
inline u32 u24(u32 v) { return v & 0xffffff; }

inline u32 sad8(u32 a, u32 b) {
  u32 s = 0;
  for (int k = 0; k < 32; k += 8) {
    i32 x = (i32)(a >> k & 255) - (i32)(b >> k & 255);
    s += (u32)(x < 0 ? -x : x);
  }
  return s;
}
inline u32 msad8(u32 a, u32 b) {
  u32 s = 0;
  for (int k = 0; k < 32; k += 8) {
    u32 y = b >> k & 255;
    i32 x = (i32)(a >> k & 255) - (i32)y;
    s += y ? (u32)(x < 0 ? -x : x) : 0;
  }
  return s;
}
inline u32 distance(u32 a, u32 b) { return a > b ? a - b : b - a; }
inline u32 lerp8(u32 a, u32 b, u32 c) {
  u32 r = 0;
  for (int k = 0; k < 32; k += 8) r |= (((a >> k & 255) + (b >> k & 255) + (c >> k & 1)) >> 1 & 255) << k;
  return r;
}
// four sums of differences, of the bytes of `a` from each of its first four on
inline u64 qsad(u64 a, u32 b, u64 c) {
  u64 r = 0;
  for (int k = 0; k < 4; k++)
    r |= (u64)(uint16_t)(sad8((u32)(a >> (8 * k)), b) + (u32)(c >> (16 * k))) << (16 * k);
  return r;
}
void mad_u64_u32(u32* d, VArgs& g) {
  alignas(64) u32 carry[64];
  LANES {
    const u64 c = ldq(g.c, l), r = (u64)g.a[l] * g.b[l] + c;
    carry[l] = r < c ? ~0u : 0u;
    stq(d, l, r);
  }
  g.out = mask_of(carry);
}
void mad_i64_i32(u32* d, VArgs& g) {
  alignas(64) u32 carry[64];
  LANES {
    const i64 p = (i64)(i32)g.a[l] * (i32)g.b[l], c = (i64)ldq(g.c, l), r = (i64)((u64)p + (u64)c);
    carry[l] = ((p ^ r) & (c ^ r)) < 0 ? ~0u : 0u;
    stq(d, l, (u64)r);
  }
  g.out = mask_of(carry);
}

// Sum and the carry out of it; ci: the carry in
#define CARRY(SUM, OUT)                                                                                      \
  CODE(alignas(64) u32 carry[64]; const u64 k = g.k; LANES {                                                 \
    const u32 a = pa[l], b = pb[l], ci = (u32)(k >> l & 1);                                                  \
    (void)ci;                                                                                                \
    carry[l] = (OUT) ? ~0u : 0u;                                                                             \
    d[l] = (SUM);                                                                                            \
  } g.out = mask_of(carry);)

// clang-format off: it takes a * b for a pointer, and would break rows up
constexpr VOp table[] = {
    {"V_ADD_U32", "u:uu", WORDS(a + b), WORDS(usat32((i64)a + b))},
    {"V_SUB_U32", "u:uu", WORDS(a - b), WORDS(usat32((i64)a - b))},
    {"V_SUBREV_U32", "u:uu", WORDS(b - a), WORDS(usat32((i64)b - a))},
    {"V_ADD_I32", "u:uu", WORDS(a + b), WORDS(sat32((i64)(i32)a + (i32)b))},
    {"V_SUB_I32", "u:uu", WORDS(a - b), WORDS(sat32((i64)(i32)a - (i32)b))},
    {"V_ADD_CO_U32", "u+:uu", CARRY(a + b, a + b < a)},
    {"V_SUB_CO_U32", "u+:uu", CARRY(a - b, a < b)},
    {"V_SUBREV_CO_U32", "u+:uu", CARRY(b - a, b < a)},
    {"V_ADDC_CO_U32", "u+:uuk", CARRY(a + b + ci, ((u64)a + b + ci) >> 32)},
    {"V_SUBB_CO_U32", "u+:uuk", CARRY(a - b - ci, (u64)b + ci > a)},
    {"V_SUBBREV_CO_U32", "u+:uuk", CARRY(b - a - ci, (u64)a + ci > b)},
    {"V_MUL_LO_U32", "u:uu", WORDS(a * b)},
    {"V_MUL_HI_U32", "u:uu", WORDS((u64)a * b >> 32)},
    {"V_MUL_HI_I32", "u:uu", WORDS((i64)(i32)a * (i32)b >> 32)},
    {"V_MUL_U32_U24", "u:uu", WORDS(u24(a) * u24(b))},
    {"V_MUL_I32_I24", "u:uu", WORDS(i24(a) * (u32)i24(b))},
    {"V_MUL_HI_U32_U24", "u:uu", WORDS((u64)u24(a) * u24(b) >> 32)},
    {"V_MUL_HI_I32_I24", "u:uu", WORDS((i64)i24(a) * i24(b) >> 32)},
    {"V_MAD_U32_U24", "u:uuu", WORDS(u24(a) * u24(b) + c), WORDS(usat32((i64)((u64)u24(a) * u24(b) + c)))},
    {"V_MAD_I32_I24", "u:uuu", WORDS(i24(a) * (u32)i24(b) + c), WORDS(sat32((i64)i24(a) * i24(b) + (i32)c))},
    {"V_MAD_U64_U32", "q+:uuq", mad_u64_u32},
    {"V_MAD_I64_I32", "q+:uuq", mad_i64_i32},
    {"V_MIN_I32", "u:uu", WORDS(min2((i32)a, (i32)b))},
    {"V_MAX_I32", "u:uu", WORDS(max2((i32)a, (i32)b))},
    {"V_MIN_U32", "u:uu", WORDS(min2(a, b))},
    {"V_MAX_U32", "u:uu", WORDS(max2(a, b))},
    {"V_MIN3_I32", "u:uuu", WORDS(min2(min2((i32)a, (i32)b), (i32)c))},
    {"V_MAX3_I32", "u:uuu", WORDS(max2(max2((i32)a, (i32)b), (i32)c))},
    {"V_MED3_I32", "u:uuu", WORDS(median((i32)a, (i32)b, (i32)c))},
    {"V_MIN3_U32", "u:uuu", WORDS(min2(min2(a, b), c))},
    {"V_MAX3_U32", "u:uuu", WORDS(max2(max2(a, b), c))},
    {"V_MED3_U32", "u:uuu", WORDS(median(a, b, c))},
    {"V_SAD_U8", "u:uuu", WORDS(sad8(a, b) + c)},
    {"V_SAD_HI_U8", "u:uuu", WORDS((sad8(a, b) << 16) + c)},
    {"V_MSAD_U8", "u:uuu", WORDS(msad8(a, b) + c)},
    {"V_SAD_U32", "u:uuu", WORDS(distance(a, b) + c)},
    {"V_SAD_U16", "u:uuu", WORDS(distance(low16(a), low16(b)) + distance(a >> 16, b >> 16) + c)},
    {"V_LERP_U8", "u:uuu", WORDS(lerp8(a, b, c))},
    {"V_QSAD_PK_U16_U8", "q:quq", CODE(LANES { stq(d, l, qsad(ldq(pa, l), pb[l], ldq(pc, l))); })},
    {"V_ADD_U16", "s:ss", WORDS(low16(a + b)), WORDS(usat16((i64)low16(a) + low16(b)))},
    {"V_SUB_U16", "s:ss", WORDS(low16(a - b)), WORDS(usat16((i64)low16(a) - low16(b)))},
    {"V_SUBREV_U16", "s:ss", WORDS(low16(b - a)), WORDS(usat16((i64)low16(b) - low16(a)))},
    {"V_MUL_LO_U16", "s:ss", WORDS(low16(low16(a) * low16(b)))},
    {"V_MIN_I16", "s:ss", WORDS(low16(min2(signed16(a), signed16(b))))},
    {"V_MAX_I16", "s:ss", WORDS(low16(max2(signed16(a), signed16(b))))},
    {"V_MIN_U16", "s:ss", WORDS(min2(low16(a), low16(b)))},
    {"V_MAX_U16", "s:ss", WORDS(max2(low16(a), low16(b)))},
    {"V_ADD_I16", "S:ss", WORDS(low16(a + b)), WORDS(low16(sat16(signed16(a) + signed16(b))))},
    {"V_SUB_I16", "S:ss", WORDS(low16(a - b)), WORDS(low16(sat16(signed16(a) - signed16(b))))},
    {"V_MAD_U16", "S:sss", WORDS(low16(low16(a) * low16(b) + c)),
     WORDS(usat16((i64)low16(a) * low16(b) + low16(c)))},
    {"V_MAD_I16", "S:sss", WORDS(low16(low16(a) * low16(b) + c)),
     WORDS(low16(sat16(clamp((i64)signed16(a) * signed16(b) + signed16(c), -70000, 70000))))},
    {"V_MAD_LEGACY_U16", "s:sss", WORDS(low16(low16(a) * low16(b) + c))},
    {"V_MAD_LEGACY_I16", "s:sss", WORDS(low16(low16(a) * low16(b) + c))},
    {"V_MIN3_I16", "S:sss", WORDS(low16(min2(min2(signed16(a), signed16(b)), signed16(c))))},
    {"V_MAX3_I16", "S:sss", WORDS(low16(max2(max2(signed16(a), signed16(b)), signed16(c))))},
    {"V_MED3_I16", "S:sss", WORDS(low16(median(signed16(a), signed16(b), signed16(c))))},
    {"V_MIN3_U16", "S:sss", WORDS(min2(min2(low16(a), low16(b)), low16(c)))},
    {"V_MAX3_U16", "S:sss", WORDS(max2(max2(low16(a), low16(b)), low16(c)))},
    {"V_MED3_U16", "S:sss", WORDS(median(low16(a), low16(b), low16(c)))},
    {"V_MAD_U32_U16", "u:ssu", WORDS(low16(a) * low16(b) + c),
     WORDS(usat32((i64)((u64)low16(a) * low16(b) + c)))},
    {"V_MAD_I32_I16", "u:ssu", WORDS((u32)(signed16(a) * signed16(b)) + c),
     WORDS(sat32((i64)signed16(a) * signed16(b) + (i32)c))},
    {"V_SAT_PK_U8_I16", "u:u", WORDS(clamp(signed16(a), 0, 255) | (u32)clamp((i32)a >> 16, 0, 255) << 8)},
};
// clang-format on

} // namespace

std::span<const VOp> integer_ops() { return table; }

} // namespace amdsim
