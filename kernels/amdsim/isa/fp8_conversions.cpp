// FP8 to and from single precision. in.b: E5M2; in.d: FNUZ
#include "fp8.hpp"
#include "handlers.hpp"

namespace amdsim {
namespace {

Fp8Format format(const Inst& in) { return {(bool)in.b, (bool)in.d}; }
uint32_t operand(Wave& w, const Inst& in, unsigned o, int l) {
  return o >= 256 ? w.V(o - 256)[l] : o == 255 ? in.raw[1] : scalar(w, o);
}

// ---- decoding -------------------------------------------------------------------------------------------
enum Form { VOP1, SDWA, VOP3 }; // in.c
struct Source {
  unsigned operand, vd, byte;
};
// Which byte, or which word of two: SDWA says 0 to 3, or 4 and 5;
// VOP3 has op_sel, whose bits are the other way round for bytes
template <bool PAIR> Source source(const Inst& in) {
  if (in.c == VOP1) return {bits(in, 8, 0), bits(in, 24, 17), 0};
  if (in.c == SDWA) {
    const unsigned sel = bits(in, 50, 48), byte = sel < 4 ? sel : 0, word = sel == 5;
    return {bits(in, 39, 32) + (bits(in, 55, 55) ? 0 : 256), bits(in, 24, 17), PAIR ? 2 * word : byte};
  }
  const unsigned low = bits(in, 11, 11), high = bits(in, 12, 12);
  return {bits(in, 40, 32), bits(in, 7, 0), PAIR ? 2 * low : low << 1 | high};
}
template <bool PAIR> void do_decode(Wave& w, const Inst& in) {
  const Source s = source<PAIR>(in);
  const float* values = fp8_values(format(in));
  uint32_t *d = w.V(s.vd), *d2 = w.V(s.vd + 1);
  FOR_LANES(w) {
    const uint32_t v = operand(w, in, s.operand, l) >> (8 * s.byte);
    d[l] = asu(values[v & 255]);
    if (PAIR) d2[l] = asu(values[v >> 8 & 255]);
  }
  adv(w, in);
}

// ---- encoding -------------------------------------------------------------------------------------------
float modified(uint32_t v, bool abs, bool neg) {
  return asf((abs ? v & 0x7fffffff : v) ^ (neg ? 0x80000000 : 0));
}

// The parts of a VOP3 instruction; op_sel's upper bits choose the place in the destination
struct Encoding {
  unsigned a, b, abs, neg;
  uint32_t* d;
  bool saturate;
  Encoding(Wave& w, const Inst& in)
      : a(bits(in, 40, 32)), b(bits(in, 49, 41)), abs(bits(in, 10, 8)), neg(bits(in, 63, 61)),
        d(w.V(bits(in, 7, 0))), saturate(w.mode >> 23 & 1) {}
};
void do_encode_pair(Wave& w, const Inst& in) {
  const Encoding e(w, in);
  const Fp8Format f = format(in);
  const bool to_high = bits(in, 14, 14);
  FOR_LANES(w) {
    const float x = modified(operand(w, in, e.a, l), e.abs & 1, e.neg & 1),
                y = modified(operand(w, in, e.b, l), e.abs & 2, e.neg & 2);
    const uint32_t v = fp8_encode(x, f, {e.saturate}) | fp8_encode(y, f, {e.saturate}) << 8;
    e.d[l] = to_high ? (e.d[l] & 0xffff) | v << 16 : (e.d[l] & 0xffff0000) | v;
  }
  adv(w, in);
}
void do_encode_stochastic(Wave& w, const Inst& in) {
  const Encoding e(w, in);
  const int shift = 8 * (bits(in, 13, 13) | bits(in, 14, 14) << 1);
  FOR_LANES(w) {
    const float x = modified(operand(w, in, e.a, l), e.abs & 1, e.neg & 1);
    const uint32_t v = fp8_encode(x, format(in), {e.saturate, true, operand(w, in, e.b, l)});
    e.d[l] = (e.d[l] & ~(255u << shift)) | v << shift;
  }
  adv(w, in);
}

bool starts(const Inst& in, const char* with) { return in.name.compare(0, strlen(with), with) == 0; }
bool set_form(Inst& in) {
  in.c = in.cls == "VOP1_SDWA" ? SDWA : in.cls == "VOP3" ? VOP3 : VOP1;
  return in.c != VOP1 || in.cls == "VOP1" || in.cls == "VOP1_LIT";
}

} // namespace

bool select_fp8_conversion(Inst& in, bool fnuz) {
  in.b = in.name.find("BF8") != in.name.npos;
  in.d = fnuz;
  const bool one = starts(in, "V_CVT_F32_FP8") || starts(in, "V_CVT_F32_BF8");
  const bool pair = starts(in, "V_CVT_PK_F32_FP8") || starts(in, "V_CVT_PK_F32_BF8");
  if (one || pair) {
    in.nat = pair ? do_decode<true> : do_decode<false>;
    return set_form(in);
  }
  if (in.name == "V_CVT_PK_FP8_F32" || in.name == "V_CVT_PK_BF8_F32") return in.nat = do_encode_pair, true;
  if (in.name == "V_CVT_SR_FP8_F32" || in.name == "V_CVT_SR_BF8_F32")
    return in.nat = do_encode_stochastic, true;
  return false;
}

} // namespace amdsim
