// Scalar arithmetic
#include "constants.hpp"
#include "isa.hpp"
#include "vector_op.hpp"

#include <unordered_map>

namespace amdsim {
namespace {

// sig: result, operands; u 32 bits, q 64 bits, i a 64-bit signed
// number, - none; K: a 16-bit immediate and the destination
struct SOp {
  const char *name, *sig;
  NativeFn fn;
};

// ---- how rows are written: operands a and b, then results, which may set SCC to "not zero" --------------
u32 word(Wave& w, const Inst& in, int i) { return in.sc[i] ? (u32)in.sk[i] : w.sgpr[in.sr[i]]; }
u64 quad(Wave& w, const Inst& in, int i) { return in.sc[i] ? in.sk[i] : w.s64(in.sr[i]); }
#define SCALAR(...) [](Wave& w, const Inst& in) { __VA_ARGS__ adv(w, in); }
#define WORD_A const u32 a = word(w, in, 0);
#define WORDS_AB const u32 a = word(w, in, 0), b = word(w, in, 1);
#define QUAD_A const u64 a = quad(w, in, 0);
#define QUADS_AB const u64 a = quad(w, in, 0), b = quad(w, in, 1);
#define QUAD_A_WORD_B                                                                                        \
  const u64 a = quad(w, in, 0);                                                                              \
  const u32 b = word(w, in, 1);
#define IMMEDIATE                                                                                            \
  const i32 k = (int16_t)in.raw[0];                                                                          \
  const u32 x = w.sgpr[in.sd];                                                                               \
  (void)x;                                                                                                   \
  (void)k;
#define SET_SCC(E) w.sgpr[SG_SCC] = (E) ? 1 : 0;
#define RESULT(E)                                                                                            \
  {                                                                                                          \
    const u32 r_ = (u32)(E);                                                                                 \
    w.sgpr[in.sd] = r_;                                                                                      \
  }
#define RESULT_64(E)                                                                                         \
  {                                                                                                          \
    const u64 r_ = (u64)(E);                                                                                 \
    set64(w, in.sd, r_);                                                                                     \
  }
#define RESULT_SCC(E)                                                                                        \
  {                                                                                                          \
    const u32 r_ = (u32)(E);                                                                                 \
    w.sgpr[in.sd] = r_;                                                                                      \
    w.sgpr[SG_SCC] = r_ != 0;                                                                                \
  }
#define RESULT_64_SCC(E)                                                                                     \
  {                                                                                                          \
    const u64 r_ = (u64)(E);                                                                                 \
    set64(w, in.sd, r_);                                                                                     \
    w.sgpr[SG_SCC] = r_ != 0;                                                                                \
  }
#define SAVE_EXEC(E)                                                                                         \
  SCALAR(QUAD_A const u64 e = w.exec(); const u64 r = (E); set64(w, in.sd, e); set64(w, SG_EXEC, r);         \
         SET_SCC(r))
#define WRITE_EXEC(E)                                                                                        \
  SCALAR(QUAD_A const u64 e = w.exec(); const u64 r = (E); set64(w, SG_EXEC, r); set64(w, in.sd, r);         \
         SET_SCC(r))
#define COMPARE(E) SCALAR(WORDS_AB SET_SCC(E))

u64 whole_quads(u64 a, u64 ones) {
  u64 r = 0;
  for (int i = 0; i < 64; i += 4)
    if (a >> i & 15) r |= ones << i;
  return r;
}
u64 rev64(u64 v) {
  u64 r = 0;
  for (int i = 0; i < 64; i++) r |= (v >> i & 1) << (63 - i);
  return r;
}
u32 bad_idx(unsigned r) {
  if (r > 127) fault(Status::Fault, "the SGPR index %u is out of range", r);
  return r;
}
u64 quad_mask(u64 a) { // a bit for each four lanes
  u64 r = 0;
  for (int i = 0; i < 16; i++) r |= (u64)((a >> (4 * i) & 15) != 0) << i;
  return r;
}
u64 replicate_bits(u32 a) {
  u64 r = 0;
  for (int i = 0; i < 32; i++)
    if (a >> i & 1) r |= 3ull << (2 * i);
  return r;
}
// Bit fields: b has the offset in its low bits, the width in bits 22..16
u32 field_width(u32 b) { return b >> 16 & 127; }
u32 field_u32(u32 a, u32 b) {
  const u32 n = field_width(b);
  return n == 0 ? 0 : (a >> (b & 31)) & (n >= 32 ? ~0u : (1u << n) - 1);
}
i32 field_i32(u32 a, u32 b) {
  const u32 n = std::min(field_width(b), 32u), offset = b & 31;
  const i32 x = (i32)a >> offset;
  return n == 0 ? 0 : offset + n >= 32 ? x : (i32)((u32)x << (32 - n)) >> (32 - n);
}
u64 field_u64(u64 a, u32 b) {
  const u32 n = field_width(b);
  return n == 0 ? 0 : (a >> (b & 63)) & (n >= 64 ? ~0ull : (1ull << n) - 1);
}
i64 field_i64(u64 a, u32 b) {
  const u32 n = std::min(field_width(b), 64u), offset = b & 63;
  const i64 x = (i64)a >> offset;
  return n == 0 ? 0 : offset + n >= 64 ? x : (i64)((u64)x << (64 - n)) >> (64 - n);
}

// M0 gets the index, and in its upper bits which operands it applies to
void do_index_on(Wave& w, const Inst& in) {
  const u32 a = word(w, in, 0), operands = in.raw[0] >> 8 & 15;
  w.sgpr[SG_M0] = (w.sgpr[SG_M0] & 0xffff0f00u) | (a & 255) | operands << 12;
  w.idx = w.special = true;
  adv(w, in);
}

// clang-format off: it takes a * b for a pointer, and would break rows up
constexpr SOp table[] = {
    {"S_MOV_B32", "u:u", SCALAR(WORD_A RESULT(a))},
    {"S_MOV_B64", "q:q", SCALAR(QUAD_A RESULT_64(a))},
    {"S_CMOV_B32", "u:u", SCALAR(WORD_A if (w.sgpr[SG_SCC]) RESULT(a))},
    {"S_CMOV_B64", "q:q", SCALAR(QUAD_A if (w.sgpr[SG_SCC]) RESULT_64(a))},
    {"S_NOT_B32", "u:u", SCALAR(WORD_A RESULT_SCC(~a))},
    {"S_NOT_B64", "q:q", SCALAR(QUAD_A RESULT_64_SCC(~a))},
    {"S_WQM_B32", "u:u", SCALAR(WORD_A RESULT_SCC(whole_quads(a, 15)))},
    {"S_WQM_B64", "q:q", SCALAR(QUAD_A RESULT_64_SCC(whole_quads(a, 15)))},
    {"S_BREV_B32", "u:u", SCALAR(WORD_A RESULT(rev64(a) >> 32))},
    {"S_BREV_B64", "q:q", SCALAR(QUAD_A RESULT_64(rev64(a)))},
    {"S_BCNT0_I32_B32", "u:u", SCALAR(WORD_A RESULT_SCC(__builtin_popcount(~a)))},
    {"S_BCNT0_I32_B64", "u:q", SCALAR(QUAD_A RESULT_SCC(__builtin_popcountll(~a)))},
    {"S_BCNT1_I32_B32", "u:u", SCALAR(WORD_A RESULT_SCC(__builtin_popcount(a)))},
    {"S_BCNT1_I32_B64", "u:q", SCALAR(QUAD_A RESULT_SCC(__builtin_popcountll(a)))},
    {"S_FF0_I32_B32", "u:u", SCALAR(WORD_A RESULT(~a ? __builtin_ctz(~a) : -1))},
    {"S_FF0_I32_B64", "u:q", SCALAR(QUAD_A RESULT(~a ? __builtin_ctzll(~a) : -1))},
    {"S_FF1_I32_B32", "u:u", SCALAR(WORD_A RESULT(a ? __builtin_ctz(a) : -1))},
    {"S_FF1_I32_B64", "u:q", SCALAR(QUAD_A RESULT(a ? __builtin_ctzll(a) : -1))},
    {"S_FLBIT_I32_B32", "u:u", SCALAR(WORD_A RESULT(a ? __builtin_clz(a) : -1))},
    {"S_FLBIT_I32_B64", "u:q", SCALAR(QUAD_A RESULT(a ? __builtin_clzll(a) : -1))},
    {"S_FLBIT_I32", "u:u",
     SCALAR(WORD_A const u32 b = a ^ (u32)((i32)a >> 31); RESULT(b ? __builtin_clz(b) : -1))},
    {"S_FLBIT_I32_I64", "u:q",
     SCALAR(QUAD_A const u64 b = a ^ (u64)((i64)a >> 63); RESULT(b ? __builtin_clzll(b) : -1))},
    {"S_SEXT_I32_I8", "u:u", SCALAR(WORD_A RESULT((i32)(int8_t)a))},
    {"S_SEXT_I32_I16", "u:u", SCALAR(WORD_A RESULT((i32)(int16_t)a))},
    {"S_BITSET0_B32", "u:u", SCALAR(WORD_A RESULT(w.sgpr[in.sd] & ~(1u << (a & 31))))},
    {"S_BITSET0_B64", "q:u", SCALAR(WORD_A RESULT_64(w.s64(in.sd) & ~(1ull << (a & 63))))},
    {"S_BITSET1_B32", "u:u", SCALAR(WORD_A RESULT(w.sgpr[in.sd] | 1u << (a & 31)))},
    {"S_BITSET1_B64", "q:u", SCALAR(WORD_A RESULT_64(w.s64(in.sd) | 1ull << (a & 63)))},
    {"S_AND_SAVEEXEC_B64", "q:q", SAVE_EXEC(a & e)},
    {"S_OR_SAVEEXEC_B64", "q:q", SAVE_EXEC(a | e)},
    {"S_XOR_SAVEEXEC_B64", "q:q", SAVE_EXEC(a ^ e)},
    {"S_ANDN2_SAVEEXEC_B64", "q:q", SAVE_EXEC(a & ~e)},
    {"S_ORN2_SAVEEXEC_B64", "q:q", SAVE_EXEC(a | ~e)},
    {"S_NAND_SAVEEXEC_B64", "q:q", SAVE_EXEC(~(a & e))},
    {"S_NOR_SAVEEXEC_B64", "q:q", SAVE_EXEC(~(a | e))},
    {"S_XNOR_SAVEEXEC_B64", "q:q", SAVE_EXEC(~(a ^ e))},
    {"S_ANDN1_SAVEEXEC_B64", "q:q", SAVE_EXEC(~a & e)},
    {"S_ORN1_SAVEEXEC_B64", "q:q", SAVE_EXEC(~a | e)},
    {"S_ANDN1_WREXEC_B64", "q:q", WRITE_EXEC(~a & e)},
    {"S_ANDN2_WREXEC_B64", "q:q", WRITE_EXEC(a & ~e)},
    {"S_QUADMASK_B32", "u:u", SCALAR(WORD_A RESULT_SCC(quad_mask(a)))},
    {"S_QUADMASK_B64", "q:q", SCALAR(QUAD_A RESULT_64_SCC(quad_mask(a)))},
    {"S_MOVRELS_B32", "u:u", SCALAR(RESULT(w.sgpr[bad_idx(in.sr[0] + w.sgpr[SG_M0])]))},
    {"S_MOVRELS_B64", "q:q", SCALAR(RESULT_64(w.s64(bad_idx(in.sr[0] + w.sgpr[SG_M0]))))},
    {"S_MOVRELD_B32", "u:u", SCALAR(WORD_A w.sgpr[bad_idx(in.sd + w.sgpr[SG_M0])] = a;)},
    {"S_MOVRELD_B64", "q:q", SCALAR(QUAD_A set64(w, bad_idx(in.sd + w.sgpr[SG_M0]), a);)},
    {"S_ABS_I32", "u:u", SCALAR(WORD_A RESULT_SCC((i32)a < 0 ? 0u - a : a))},
    {"S_BITREPLICATE_B64_B32", "q:u", SCALAR(WORD_A RESULT_64(replicate_bits(a)))},
    {"S_ADD_U32", "u:uu", SCALAR(WORDS_AB SET_SCC(((u64)a + b) >> 32) RESULT(a + b))},
    {"S_SUB_U32", "u:uu", SCALAR(WORDS_AB SET_SCC(b > a) RESULT(a - b))},
    {"S_ADD_I32", "u:uu", SCALAR(WORDS_AB SET_SCC(((a ^ (a + b)) & (b ^ (a + b))) >> 31) RESULT(a + b))},
    {"S_SUB_I32", "u:uu", SCALAR(WORDS_AB SET_SCC(((a ^ b) & (a ^ (a - b))) >> 31) RESULT(a - b))},
    {"S_ADDC_U32", "u:uu",
     SCALAR(WORDS_AB const u64 r = (u64)a + b + w.sgpr[SG_SCC]; SET_SCC(r >> 32) RESULT(r))},
    {"S_SUBB_U32", "u:uu",
     SCALAR(WORDS_AB const u32 ci = w.sgpr[SG_SCC]; SET_SCC((u64)b + ci > a) RESULT(a - b - ci))},
    {"S_MIN_I32", "u:uu", SCALAR(WORDS_AB SET_SCC((i32)a < (i32)b) RESULT((i32)a < (i32)b ? a : b))},
    {"S_MIN_U32", "u:uu", SCALAR(WORDS_AB SET_SCC(a < b) RESULT(a < b ? a : b))},
    {"S_MAX_I32", "u:uu", SCALAR(WORDS_AB SET_SCC((i32)a > (i32)b) RESULT((i32)a > (i32)b ? a : b))},
    {"S_MAX_U32", "u:uu", SCALAR(WORDS_AB SET_SCC(a > b) RESULT(a > b ? a : b))},
    {"S_CSELECT_B32", "u:uu", SCALAR(WORDS_AB RESULT(w.sgpr[SG_SCC] ? a : b))},
    {"S_CSELECT_B64", "q:qq", SCALAR(QUADS_AB RESULT_64(w.sgpr[SG_SCC] ? a : b))},
    {"S_AND_B32", "u:uu", SCALAR(WORDS_AB RESULT_SCC(a & b))},
    {"S_AND_B64", "q:qq", SCALAR(QUADS_AB RESULT_64_SCC(a & b))},
    {"S_OR_B32", "u:uu", SCALAR(WORDS_AB RESULT_SCC(a | b))},
    {"S_OR_B64", "q:qq", SCALAR(QUADS_AB RESULT_64_SCC(a | b))},
    {"S_XOR_B32", "u:uu", SCALAR(WORDS_AB RESULT_SCC(a ^ b))},
    {"S_XOR_B64", "q:qq", SCALAR(QUADS_AB RESULT_64_SCC(a ^ b))},
    {"S_ANDN2_B32", "u:uu", SCALAR(WORDS_AB RESULT_SCC(a & ~b))},
    {"S_ANDN2_B64", "q:qq", SCALAR(QUADS_AB RESULT_64_SCC(a & ~b))},
    {"S_ORN2_B32", "u:uu", SCALAR(WORDS_AB RESULT_SCC(a | ~b))},
    {"S_ORN2_B64", "q:qq", SCALAR(QUADS_AB RESULT_64_SCC(a | ~b))},
    {"S_NAND_B32", "u:uu", SCALAR(WORDS_AB RESULT_SCC(~(a & b)))},
    {"S_NAND_B64", "q:qq", SCALAR(QUADS_AB RESULT_64_SCC(~(a & b)))},
    {"S_NOR_B32", "u:uu", SCALAR(WORDS_AB RESULT_SCC(~(a | b)))},
    {"S_NOR_B64", "q:qq", SCALAR(QUADS_AB RESULT_64_SCC(~(a | b)))},
    {"S_XNOR_B32", "u:uu", SCALAR(WORDS_AB RESULT_SCC(~(a ^ b)))},
    {"S_XNOR_B64", "q:qq", SCALAR(QUADS_AB RESULT_64_SCC(~(a ^ b)))},
    {"S_LSHL_B32", "u:uu", SCALAR(WORDS_AB RESULT_SCC(a << (b & 31)))},
    {"S_LSHL_B64", "q:qu", SCALAR(QUAD_A_WORD_B RESULT_64_SCC(a << (b & 63)))},
    {"S_LSHR_B32", "u:uu", SCALAR(WORDS_AB RESULT_SCC(a >> (b & 31)))},
    {"S_LSHR_B64", "q:qu", SCALAR(QUAD_A_WORD_B RESULT_64_SCC(a >> (b & 63)))},
    {"S_ASHR_I32", "u:uu", SCALAR(WORDS_AB RESULT_SCC((i32)a >> (b & 31)))},
    {"S_ASHR_I64", "q:iu", SCALAR(QUAD_A_WORD_B RESULT_64_SCC((i64)a >> (b & 63)))},
    {"S_BFM_B32", "u:uu", SCALAR(WORDS_AB RESULT(((1u << (a & 31)) - 1) << (b & 31)))},
    {"S_BFM_B64", "q:uu", SCALAR(WORDS_AB RESULT_64(((1ull << (a & 63)) - 1) << (b & 63)))},
    {"S_MUL_I32", "u:uu", SCALAR(WORDS_AB RESULT(a * b))},
    {"S_BFE_U32", "u:uu", SCALAR(WORDS_AB RESULT_SCC(field_u32(a, b)))},
    {"S_BFE_I32", "u:uu", SCALAR(WORDS_AB RESULT_SCC(field_i32(a, b)))},
    {"S_BFE_U64", "q:qu", SCALAR(QUAD_A_WORD_B RESULT_64_SCC(field_u64(a, b)))},
    {"S_BFE_I64", "q:iu", SCALAR(QUAD_A_WORD_B RESULT_64_SCC(field_i64(a, b)))},
    {"S_ABSDIFF_I32", "u:uu", SCALAR(WORDS_AB const u32 r = a - b; RESULT_SCC((i32)r < 0 ? 0u - r : r))},
    {"S_MUL_HI_U32", "u:uu", SCALAR(WORDS_AB RESULT((u64)a * b >> 32))},
    {"S_MUL_HI_I32", "u:uu", SCALAR(WORDS_AB RESULT((i64)(i32)a * (i32)b >> 32))},
    {"S_LSHL1_ADD_U32", "u:uu", SCALAR(WORDS_AB const u64 r = ((u64)a << 1) + b; SET_SCC(r >> 32) RESULT(r))},
    {"S_LSHL2_ADD_U32", "u:uu", SCALAR(WORDS_AB const u64 r = ((u64)a << 2) + b; SET_SCC(r >> 32) RESULT(r))},
    {"S_LSHL3_ADD_U32", "u:uu", SCALAR(WORDS_AB const u64 r = ((u64)a << 3) + b; SET_SCC(r >> 32) RESULT(r))},
    {"S_LSHL4_ADD_U32", "u:uu", SCALAR(WORDS_AB const u64 r = ((u64)a << 4) + b; SET_SCC(r >> 32) RESULT(r))},
    {"S_PACK_LL_B32_B16", "u:uu", SCALAR(WORDS_AB RESULT(low16(a) | b << 16))},
    {"S_PACK_LH_B32_B16", "u:uu", SCALAR(WORDS_AB RESULT(low16(a) | (b & 0xffff0000)))},
    {"S_PACK_HH_B32_B16", "u:uu", SCALAR(WORDS_AB RESULT(a >> 16 | (b & 0xffff0000)))},
    {"S_MOVK_I32", "K", SCALAR(IMMEDIATE w.sgpr[in.sd] = (u32)k;)},
    {"S_CMOVK_I32", "K", SCALAR(IMMEDIATE if (w.sgpr[SG_SCC]) w.sgpr[in.sd] = (u32)k;)},
    {"S_ADDK_I32", "K",
     SCALAR(IMMEDIATE const u32 r = x + (u32)k; SET_SCC(((x ^ r) & ((u32)k ^ r)) >> 31) w.sgpr[in.sd] = r;)},
    {"S_MULK_I32", "K", SCALAR(IMMEDIATE w.sgpr[in.sd] = x * (u32)k;)},
    {"S_CMPK_EQ_I32", "K", SCALAR(IMMEDIATE SET_SCC((i32)x == k))},
    {"S_CMPK_LG_I32", "K", SCALAR(IMMEDIATE SET_SCC((i32)x != k))},
    {"S_CMPK_GT_I32", "K", SCALAR(IMMEDIATE SET_SCC((i32)x > k))},
    {"S_CMPK_GE_I32", "K", SCALAR(IMMEDIATE SET_SCC((i32)x >= k))},
    {"S_CMPK_LT_I32", "K", SCALAR(IMMEDIATE SET_SCC((i32)x < k))},
    {"S_CMPK_LE_I32", "K", SCALAR(IMMEDIATE SET_SCC((i32)x <= k))},
    {"S_CMPK_EQ_U32", "K", SCALAR(IMMEDIATE SET_SCC(x == low16((u32)k)))},
    {"S_CMPK_LG_U32", "K", SCALAR(IMMEDIATE SET_SCC(x != low16((u32)k)))},
    {"S_CMPK_GT_U32", "K", SCALAR(IMMEDIATE SET_SCC(x > low16((u32)k)))},
    {"S_CMPK_GE_U32", "K", SCALAR(IMMEDIATE SET_SCC(x >= low16((u32)k)))},
    {"S_CMPK_LT_U32", "K", SCALAR(IMMEDIATE SET_SCC(x < low16((u32)k)))},
    {"S_CMPK_LE_U32", "K", SCALAR(IMMEDIATE SET_SCC(x <= low16((u32)k)))},
    {"S_CMP_EQ_I32", "-:uu", COMPARE(a == b)},
    {"S_CMP_LG_I32", "-:uu", COMPARE(a != b)},
    {"S_CMP_GT_I32", "-:uu", COMPARE((i32)a > (i32)b)},
    {"S_CMP_GE_I32", "-:uu", COMPARE((i32)a >= (i32)b)},
    {"S_CMP_LT_I32", "-:uu", COMPARE((i32)a < (i32)b)},
    {"S_CMP_LE_I32", "-:uu", COMPARE((i32)a <= (i32)b)},
    {"S_CMP_EQ_U32", "-:uu", COMPARE(a == b)},
    {"S_CMP_LG_U32", "-:uu", COMPARE(a != b)},
    {"S_CMP_GT_U32", "-:uu", COMPARE(a > b)},
    {"S_CMP_GE_U32", "-:uu", COMPARE(a >= b)},
    {"S_CMP_LT_U32", "-:uu", COMPARE(a < b)},
    {"S_CMP_LE_U32", "-:uu", COMPARE(a <= b)},
    {"S_BITCMP0_B32", "-:uu", COMPARE(!(a >> (b & 31) & 1))},
    {"S_BITCMP1_B32", "-:uu", COMPARE(a >> (b & 31) & 1)},
    {"S_BITCMP0_B64", "-:qu", SCALAR(QUAD_A_WORD_B SET_SCC(!(a >> (b & 63) & 1)))},
    {"S_BITCMP1_B64", "-:qu", SCALAR(QUAD_A_WORD_B SET_SCC(a >> (b & 63) & 1))},
    {"S_CMP_EQ_U64", "-:qq", SCALAR(QUADS_AB SET_SCC(a == b))},
    {"S_CMP_LG_U64", "-:qq", SCALAR(QUADS_AB SET_SCC(a != b))},
    {"S_SET_GPR_IDX_IDX", "-:u", SCALAR(WORD_A w.sgpr[SG_M0] = (w.sgpr[SG_M0] & ~255u) | (a & 255);)},
    {"S_SET_GPR_IDX_ON", "-:u", do_index_on},
};
// clang-format on

const SOp* find_op(const std::string& name) {
  static const auto ops = [] {
    std::unordered_map<std::string, const SOp*> m;
    for (const SOp& op : table) m[op.name] = &op;
    return m;
  }();
  const auto it = ops.find(name);
  return it == ops.end() ? nullptr : it->second;
}
bool set_operand(Inst& in, int i, unsigned code, char type) {
  u64 value;
  if (constant(code, in.raw[1], type, value)) {
    in.sc[i] = 1;
    in.sk[i] = value;
    return true;
  }
  in.sr[i] = code;
  return code < 128 || code == SG_SCC;
}

} // namespace

bool select_salu(Inst& in) {
  const SOp* op = find_op(in.name);
  if (!op) return false;
  in.sd = bits(in, 22, 16);
  in.nat = op->fn;
  if (op->sig[0] == 'K') return true;
  bool ok = true;
  for (int i = 0; op->sig[2 + i]; i++) ok &= set_operand(in, i, bits(in, 8 * i + 7, 8 * i), op->sig[2 + i]);
  const bool relative_constant = in.name.compare(0, 9, "S_MOVRELS") == 0 && in.sc[0];
  if (!ok || relative_constant) in.nat = do_refuse;
  return true;
}

} // namespace amdsim
