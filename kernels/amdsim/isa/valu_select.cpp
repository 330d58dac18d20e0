// Takes a vector instruction apart, once: the encoding's fields,
// then each operand as the signature in the table wants it.
#include "constants.hpp"
#include "valu.hpp"

#include <unordered_map>

namespace amdsim {
namespace {

const VOp* find_op(const std::string& name) {
  static const auto ops = [] {
    std::unordered_map<std::string, const VOp*> m;
    for (auto table : {bit_ops(), integer_ops(), float_ops(), double_ops(), half_ops(), conversion_ops(),
                       packed_ops(), transcendental_ops()})
      for (const VOp& op : table) m[op.name] = &op;
    return m;
  }();
  const auto it = ops.find(name);
  return it == ops.end() ? find_comparison(name) : it->second;
}

bool starts(const std::string& s, const char* with) { return s.compare(0, strlen(with), with) == 0; }

// ---- fields of the encoding -----------------------------------------------------------------------------
struct Encoding {
  bool short_form, vopc, vop3, vop3p, sdwa, dpp;
  explicit Encoding(const std::string& c)
      : short_form(starts(c, "VOP1") || starts(c, "VOP2") || starts(c, "VOPC")), vopc(starts(c, "VOPC")),
        vop3(c == "VOP3"), vop3p(c == "VOP3P"), sdwa(c.find("_SDWA") != c.npos),
        dpp(c.find("_DPP") != c.npos) {}
};
// A bit for each operand: abs, neg, op_sel, op_sel_hi, neg_hi
struct Fields {
  unsigned code[3] = {0, 0, 0}, abs = 0, neg = 0, sel = 0, sel_hi = 7, neg_hi = 0;
};

void read_sdwa(const Inst& in, bool vopc, VInst& v, Fields& f) {
  f.code[0] = bits(in, 39, 32) + (bits(in, 55, 55) ? 0 : 256);
  f.code[1] = bits(in, 16, 9) + (bits(in, 63, 63) ? 0 : 256);
  f.neg = bits(in, 52, 52) | bits(in, 60, 60) << 1;
  f.abs = bits(in, 53, 53) | bits(in, 61, 61) << 1;
  v.src[0].sel = bits(in, 50, 48);
  v.src[0].sext = bits(in, 51, 51);
  v.src[1].sel = bits(in, 58, 56);
  v.src[1].sext = bits(in, 59, 59);
  v.sdwa = true;
  if (vopc) {
    if (bits(in, 47, 47)) v.sd = bits(in, 46, 40);
    return;
  }
  v.dsel = bits(in, 42, 40);
  v.unused = bits(in, 44, 43);
  v.clamp = bits(in, 45, 45);
  v.omod = bits(in, 47, 46);
}
void read_dpp(const Inst& in, VInst& v, Fields& f) {
  f.code[0] = 256 + bits(in, 39, 32);
  f.neg = bits(in, 52, 52) | bits(in, 54, 54) << 1;
  f.abs = bits(in, 53, 53) | bits(in, 55, 55) << 1;
  v.dpp = true;
  v.ctl = bits(in, 48, 40);
  v.bc = bits(in, 51, 51);
  v.bm = bits(in, 59, 56);
  v.rm = bits(in, 63, 60);
}
void read_short_form(const Inst& in, const Encoding& e, VInst& v, Fields& f) {
  f.code[0] = bits(in, 8, 0);
  f.code[1] = 256 + bits(in, 16, 9);
  v.vd = bits(in, 24, 17);
  if (e.sdwa) read_sdwa(in, e.vopc, v, f);
  if (e.dpp) read_dpp(in, v, f);
}
void read_long_form(const Inst& in, const Encoding& e, VInst& v, Fields& f) {
  f.code[0] = bits(in, 40, 32);
  f.code[1] = bits(in, 49, 41);
  f.code[2] = bits(in, 58, 50);
  f.neg = bits(in, 63, 61);
  v.vd = bits(in, 7, 0);
  v.clamp = bits(in, 15, 15);
  if (e.vop3p) {
    f.sel = bits(in, 13, 11);
    f.sel_hi = bits(in, 60, 59) | bits(in, 14, 14) << 2;
    f.neg_hi = bits(in, 10, 8);
    return;
  }
  v.omod = bits(in, 60, 59);
  if (v.carry)
    v.sd = bits(in, 14, 8); // VOP3B: no abs, no op_sel
  else {
    f.abs = bits(in, 10, 8);
    f.sel = bits(in, 14, 11);
    v.half = f.sel & 8;
  }
  if (v.out == 'b') {
    v.sd = bits(in, 7, 0);
    v.clamp = false; // of a comparison: exceptions only
  }
}
// v_bitop3 keeps its truth table in the modifiers' places
void read_truth_table(VInst& v, Fields& f) {
  v.k = 3;
  v.kreg = v.omod << 6 | f.abs << 3 | f.neg;
  v.omod = 0;
  f.abs = f.neg = 0;
}

// ---- operands -------------------------------------------------------------------------------------------
const u32* broadcast(u32 low, u32 high) { // as two registers; lives as long as the instruction
  u32* k = (u32*)aligned_alloc(64, 512);
  std::fill_n(k, 64, low);
  std::fill_n(k + 64, 64, high);
  return k;
}
bool set_source(VSrc& s, unsigned code, u32 literal, char type, bool half_of_mixed = false) {
  s.type = type;
  if (code >= 256) {
    s.kind = K_VGPR;
    s.reg = code - 256;
    return true;
  }
  u64 value;
  if (constant(code, literal, type == 'm' && half_of_mixed ? 'h' : type, value)) {
    s.kind = K_CONST;
    s.k = broadcast((u32)value, type == 'F' ? 0 : (u32)(value >> 32));
    return !(type == 'F' && value && s.hi_hi); // which value the upper half of a constant has is not known
  }
  const bool pair = type == 'd' || type == 'q' || type == 'F';
  s.kind = pair ? K_SGPR2 : K_SGPR;
  s.reg = code;
  return code < 128 || code == SG_SCC;
}
bool is_one_of(char c, const char* set) { return strchr(set, c); }

// The destination as an operand: x y z Z w
void set_destination_source(VSrc& s, char type, unsigned vd) {
  s.kind = K_VGPR;
  s.reg = vd;
  s.type = type == 'x' ? 'f' : type == 'y' ? 'd' : type == 'z' ? 'h' : type == 'Z' ? 'P' : 'u';
  s.hi_hi = true;
  s.slow = type == 'z';
}
void set_literal(VSrc& s, u32 literal, bool half) {
  set_source(s, 255, literal, 'f');
  if (half) s.type = 'h', s.slow = true;
}
bool set_field(VSrc& s, char type, int field, const Fields& f, bool vop3p, u32 literal) {
  const unsigned bit = 1u << field;
  s.abs = f.abs & bit;
  s.neg = f.neg & bit;
  s.hi = f.sel & bit;
  s.hi_hi = vop3p ? f.sel_hi & bit : true;
  s.neg_hi = vop3p && (f.neg_hi & bit);
  if (vop3p && type == 'm') s.abs = f.neg_hi & bit;
  bool ok = set_source(s, f.code[field], literal, type, f.sel_hi & bit);
  const bool signs = s.abs || s.neg || s.neg_hi;
  if (signs && !is_one_of(type, "fdhPFm")) ok = false;
  if (s.hi && !vop3p && is_one_of(type, "fduq")) ok = false;
  const bool other_half = is_one_of(type, "hsPpF") && (s.hi || !s.hi_hi);
  s.slow = signs || s.sel < 6 || type == 'm' || other_half;
  return ok;
}
bool set_operands(const Inst& in, const char* types, const Encoding& e, const Fields& f, VInst& v) {
  bool ok = true;
  int field = 0;
  for (; *types; types++) {
    const char t = *types;
    if (t == 'k' || t == 'v') {
      v.k = 1;
      v.kreg = SG_VCC;
      if (t == 'k' && e.vop3) v.kreg = f.code[2], ok &= f.code[2] < 128;
      continue;
    }
    VSrc& s = v.src[v.n];
    v.idx[v.n++] = field;
    if (is_one_of(t, "xyzZw"))
      set_destination_source(s, t, v.vd);
    else if (t == 'K')
      set_literal(s, in.raw[1], v.out == 'h');
    else
      ok &= set_field(s, t, field++, f, e.vop3p, in.raw[1]);
  }
  return ok;
}
// Returns the operands' part of the signature
const char* read_result(const VOp& op, VInst& v) {
  const char* s = op.sig;
  v.out = *s++;
  v.carry = *s == '+';
  v.wide = is_one_of(v.out, "dqF");
  // v_cvt_f32_f64 rounds to single precision, with its denormals
  v.f64 = v.out != 'f' && strpbrk(op.sig, "dy");
  return s + v.carry + 1;
}
bool set_function(const VOp& op, VInst& v) {
  v.fn = op.fn;
  const bool integer = is_one_of(v.out, "usSpq");
  if (v.omod && (integer || v.out == 'b')) return false;
  if (!v.clamp || !integer) return true;
  v.fn = op.sat;
  v.clamp = false;
  return op.sat;
}

} // namespace

bool select_valu(Inst& in) {
  const VOp* op = find_op(in.name);
  const Encoding e(in.cls);
  if (!op || !(e.short_form || e.vop3 || e.vop3p)) return false;
  auto* v = new VInst;
  Fields f;
  const char* types = read_result(*op, *v);
  e.short_form ? read_short_form(in, e, *v, f) : read_long_form(in, e, *v, f);
  if (in.name == "V_FMA_MIXHI_F16") v->half = true;
  if (starts(in.name, "V_BITOP3_")) read_truth_table(*v, f);
  v->cmpx = starts(in.name, "V_CMPX");
  const bool operands_ok = set_operands(in, types, e, f, *v), function_ok = set_function(*op, *v);
  if (!operands_ok || !function_ok) {
    delete v;
    in.nat = do_refuse;
    return true;
  }
  in.v = v;
  in.nat = quick_valu(*v);
  return true;
}

} // namespace amdsim
