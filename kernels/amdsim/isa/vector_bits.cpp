// Moves, shifts, bit fields and selections
#include "vector_op.hpp"

namespace amdsim {
namespace {

inline u32 perm(u32 a, u32 b, u32 s) {
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
inline u32 bfe(u32 a, u32 o, u32 n) { return (a >> (o & 31)) & (u32)((1ull << (n & 31)) - 1); }
inline u32 sbfe(u32 a, u32 o, u32 n) { // the field's own bits beyond bit 31 are copies of the sign
  o &= 31;
  n &= 31;
  if (!n) return 0;
  i32 v = (i32)a >> o;
  return o + n >= 32 ? (u32)v : (u32)((i32)((u32)v << (32 - n)) >> (32 - n));
}
inline void select64(u32* d, const u32* a, const u32* b, u64 k) { // k ? b : a
#ifdef __AVX512F__
  for (int i = 0; i < 4; i++)
    _mm512_storeu_si512(d + 16 * i,
                        _mm512_mask_blend_epi32((__mmask16)(k >> (16 * i)), _mm512_loadu_si512(a + 16 * i),
                                                _mm512_loadu_si512(b + 16 * i)));
#else
  LANES d[l] = k >> l & 1 ? b[l] : a[l];
#endif
}
inline u32 bitop3(u32 a, u32 b, u32 c, u32 t) {
  u32 r = 0;
  for (int i = 0; i < 8; i++)
    r |= (t >> i & 1 ? ~0u : 0) & (i & 4 ? a : ~a) & (i & 2 ? b : ~b) & (i & 1 ? c : ~c);
  return r;
}
inline u32 leading_zeros(u32 a) { return a ? (u32)__builtin_clz(a) : ~0u; }
inline u32 reverse(u32 v) {
  v = (v >> 1 & 0x55555555) | (v & 0x55555555) << 1;
  v = (v >> 2 & 0x33333333) | (v & 0x33333333) << 2;
  v = (v >> 4 & 0x0f0f0f0f) | (v & 0x0f0f0f0f) << 4;
  v = (v >> 8 & 0xff00ff) | (v & 0xff00ff) << 8;
  return v >> 16 | v << 16;
}

// clang-format off: it takes a * b for a pointer, and would break rows up
constexpr VOp table[] = {
    {"V_BITOP3_B32", "u:uuu", WORDS(bitop3(a, b, c, (u32)g.k))},
    {"V_BITOP3_B16", "S:sss", WORDS(low16(bitop3(a, b, c, (u32)g.k)))},
    {"V_MOV_B32", "u:u", CODE(memcpy(d, pa, 256);)},
    {"V_MOV_B64", "q:q", CODE(memcpy(d, pa, 512);)},
    {"V_NOT_B32", "u:u", WORDS(~a)},
    {"V_BFREV_B32", "u:u", WORDS(reverse(a))},
    {"V_FFBH_U32", "u:u", WORDS(leading_zeros(a))},
    {"V_FFBL_B32", "u:u", WORDS(a ? (u32)__builtin_ctz(a) : ~0u)},
    {"V_FFBH_I32", "u:u", WORDS(leading_zeros(a ^ (u32)((i32)a >> 31)))},
    {"V_CNDMASK_B32", "u:ffk", CODE(select64(d, pa, pb, g.k);)},
    {"V_AND_B32", "u:uu", WORDS(a & b)},
    {"V_OR_B32", "u:uu", WORDS(a | b)},
    {"V_XOR_B32", "u:uu", WORDS(a ^ b)},
    {"V_XNOR_B32", "u:uu", WORDS(~(a ^ b))},
    {"V_LSHLREV_B32", "u:uu", WORDS(b << (a & 31))},
    {"V_LSHRREV_B32", "u:uu", WORDS(b >> (a & 31))},
    {"V_ASHRREV_I32", "u:uu", WORDS((i32)b >> (a & 31))},
    {"V_LSHLREV_B64", "q:uq", WORD_QUADS(b << (a & 63))},
    {"V_LSHRREV_B64", "q:uq", WORD_QUADS(b >> (a & 63))},
    {"V_ASHRREV_I64", "q:uq", WORD_QUADS((i64)b >> (a & 63))},
    {"V_LSHLREV_B16", "s:ss", WORDS(low16(b << (a & 15)))},
    {"V_LSHRREV_B16", "s:ss", WORDS(low16(b) >> (a & 15))},
    {"V_ASHRREV_I16", "s:ss", WORDS(low16(signed16(b) >> (a & 15)))},
    {"V_BFE_U32", "u:uuu", WORDS(bfe(a, b, c))},
    {"V_BFE_I32", "u:uuu", WORDS(sbfe(a, b, c))},
    {"V_BFI_B32", "u:uuu", WORDS((a & b) | (~a & c))},
    {"V_BFM_B32", "u:uu", WORDS(((1u << (a & 31)) - 1) << (b & 31))},
    {"V_ALIGNBIT_B32", "u:uuu", WORDS(((u64)a << 32 | b) >> (c & 31))},
    {"V_ALIGNBYTE_B32", "u:uuu", WORDS(((u64)a << 32 | b) >> (8 * (c & 3)))},
    {"V_PERM_B32", "u:uuu", WORDS(perm(a, b, c))},
    {"V_BCNT_U32_B32", "u:uu", WORDS(__builtin_popcount(a) + b)},
    {"V_MBCNT_LO_U32_B32", "u:uu", WORDS(__builtin_popcount(l >= 32 ? a : a & ((1u << (l & 31)) - 1)) + b)},
    {"V_MBCNT_HI_U32_B32", "u:uu",
     WORDS((l < 32 ? 0u : (u32)__builtin_popcount(a & ((1u << (l & 31)) - 1))) + b)},
    {"V_XAD_U32", "u:uuu", WORDS((a ^ b) + c)},
    {"V_LSHL_ADD_U32", "u:uuu", WORDS((a << (b & 31)) + c)},
    {"V_ADD_LSHL_U32", "u:uuu", WORDS((a + b) << (c & 31))},
    {"V_ADD3_U32", "u:uuu", WORDS(a + b + c)},
    {"V_LSHL_OR_B32", "u:uuu", WORDS((a << (b & 31)) | c)},
    {"V_AND_OR_B32", "u:uuu", WORDS((a & b) | c)},
    {"V_OR3_B32", "u:uuu", WORDS(a | b | c)},
    {"V_LSHL_ADD_U64", "q:quq", CODE(LANES { stq(d, l, (ldq(pa, l) << (pb[l] & 7)) + ldq(pc, l)); })},
    {"V_PACK_B32_F16", "u:hh", WORDS(low16(a) | b << 16)},
};
// clang-format on

} // namespace

std::span<const VOp> bit_ops() { return table; }

} // namespace amdsim
