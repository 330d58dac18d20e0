// Runs vector instructions: the general way with every modifier, and quick ways for what most of them are.
#include "valu.hpp"

namespace amdsim {
namespace {

static const u32 zero_words[128] __attribute__((aligned(64))) = {0};

inline void bcast(u32* t, u32 v) {
  for (int l = 0; l < 64; l++) t[l] = v;
}
inline const u32* fetch_plain(Wave& w, const VSrc& s, u32* t) {
  switch (s.kind) {
  case K_VGPR: return w.V(s.reg);
  case K_SGPR: bcast(t, w.sgpr[s.reg]); return t;
  case K_SGPR2:
    bcast(t, w.sgpr[s.reg]);
    bcast(t + 64, w.sgpr[s.reg + 1]);
    return t;
  default: return s.k;
  }
}
inline const u32* fetch(Wave& w, const VSrc& s, u32* t) {
  const u32* p = fetch_plain(w, s, t);
  return s.slow ? modify(s, p, t) : p;
}
inline void put(u32* d, const u32* r, u64 ex, bool wide) {
#ifdef __AVX512F__
  for (int i = 0; i < 4; i++) {
    const __mmask16 m = (__mmask16)(ex >> (16 * i));
    _mm512_mask_storeu_epi32(d + 16 * i, m, _mm512_load_si512(r + 16 * i));
    if (wide) _mm512_mask_storeu_epi32(d + 64 + 16 * i, m, _mm512_load_si512(r + 64 + 16 * i));
  }
#else
  for (u64 e = ex; e; e &= e - 1) {
    int l = __builtin_ctzll(e);
    d[l] = r[l];
    if (wide) d[64 + l] = r[64 + l];
  }
#endif
}
void apply_idx(Wave& w, const VInst& v,
               VInst& c) { // s_set_gpr_idx_on: M0[7:0] is added to the chosen registers
  c = v;
  const u32 m0 = w.sgpr[SG_M0], off = m0 & 255;
  for (int i = 0; i < c.n; i++)
    if (c.src[i].kind == K_VGPR && (m0 >> 12 >> c.idx[i] & 1)) c.src[i].reg += off;
  if (m0 >> 15 & 1) c.vd += off;
  for (int i = 0; i < c.n; i++)
    if (c.src[i].reg > 255 && c.src[i].kind == K_VGPR)
      fault(Status::Fault, "the VGPR index %u is out of range", c.src[i].reg);
  if (c.vd > 255) fault(Status::Fault, "the VGPR index %u is out of range", c.vd);
}
void post_float(const VInst& v, u32* r, bool omod_on) { // output modifiers and clamp
  const float om = !omod_on ? 1 : v.omod == 1 ? 2 : v.omod == 2 ? 4 : v.omod == 3 ? 0.5f : 1;
  auto c32 = [&](u32 x) {
    float f = asf(x) * om;
    if (v.clamp) f = f > 0 ? (f < 1 ? f : 1) : 0;
    return asu(f);
  };
  auto c16 = [&](u32 x) {
    float f = half_to_float(x) * om;
    if (v.clamp) f = f > 0 ? (f < 1 ? f : 1) : 0;
    return float_to_half(f);
  };
  switch (v.out) {
  case 'f':
    for (int l = 0; l < 64; l++) r[l] = c32(r[l]);
    break;
  case 'F':
    for (int l = 0; l < 128; l++) r[l] = c32(r[l]);
    break;
  case 'h':
  case 'H':
    for (int l = 0; l < 64; l++) r[l] = c16(r[l]);
    break;
  case 'P':
    for (int l = 0; l < 64; l++) r[l] = c16(r[l]) | c16(r[l] >> 16) << 16;
    break;
  case 'd':
    for (int l = 0; l < 64; l++) {
      double f = asd(ldq(r, l)) * om;
      if (v.clamp) f = f > 0 ? (f < 1 ? f : 1) : 0;
      stq(r, l, asq(f));
    }
    break;
  }
}
inline u64 mask_in(Wave& w, const VInst& v) { return v.k == 3 ? v.kreg : v.k ? w.s64(v.kreg) : 0; }
void execute(Wave& w, const VInst& v) {
  alignas(64) u32 t[3][128], r[128];
  VArgs g;
  g.w = &w;
  u64 ex = w.exec();
  const u32* p[3] = {zero_words, zero_words, zero_words};
  for (int i = 0; i < v.n; i++) {
    if (i == 0 && v.dpp) {
      u64 en = gather_dpp(w, v, t[0], ex);
      ex &= en;
      p[0] = v.src[0].slow ? modify(v.src[0], t[0], t[0]) : t[0];
    } else
      p[i] = fetch(w, v.src[i], t[i]);
  }
  g.a = p[0];
  g.b = p[1];
  g.c = p[2];
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
    bool on = v.omod && !(R.k->rsrc1 >> 23 & 1) &&
              (v.out == 'f' || v.out == 'F' ? (w.mode >> 4 & 3) == 0 : (w.mode >> 6 & 3) == 0);
    post_float(v, r, on);
  }
  u32* d = w.V(v.vd);
  if (v.sdwa && v.dsel < 6) {
    const int sh = v.dsel < 4 ? 8 * v.dsel : 16 * (v.dsel - 4), n = v.dsel < 4 ? 8 : 16;
    const u32 m = ((1u << n) - 1) << sh;
    for (int l = 0; l < 64; l++) {
      u32 x = (r[l] << sh) & m;
      if (v.unused == 2)
        x |= d[l] & ~m;
      else if (v.unused == 1 && (x >> (sh + n - 1) & 1))
        x |= sh + n < 32 ? ~0u << (sh + n) : 0;
      r[l] = x;
    }
  } else if (v.out == 'H' || v.out == 'S') {
    if (v.half)
      LANES r[l] = (d[l] & 0xffff) | r[l] << 16;
    else
      LANES r[l] = (d[l] & 0xffff0000u) | (r[l] & 0xffff);
  }
  put(d, r, ex, v.wide);
  if (v.carry) set64(w, v.sd, g.out & ex);
}
} // namespace

void do_valu(Wave& w, const Inst& in) {
  const VInst& v = *in.v;
  if (__builtin_expect(w.idx, 0)) {
    VInst c;
    apply_idx(w, v, c);
    execute(w, c);
  } else
    execute(w, v);
  adv(w, in);
}
namespace {

// the common case: one 32-bit or 64-bit result, nothing done to it
template <int N, bool WIDE> void do_valu_fast(Wave& w, const Inst& in) {
  const VInst& v = *in.v;
  if (__builtin_expect(w.special, 0)) {
    do_valu(w, in);
    return;
  }
  alignas(64) u32 t[3][128], r[128];
  VArgs g;
  g.a = fetch(w, v.src[0], t[0]);
  g.b = N > 1 ? fetch(w, v.src[1], t[1]) : zero_words;
  g.c = N > 2 ? fetch(w, v.src[2], t[2]) : zero_words;
  g.k = mask_in(w, v);
  const u64 ex = w.exec();
  if (!WIDE && ex == ~0ull)
    v.fn(w.V(v.vd), g);
  else {
    v.fn(r, g);
    put(w.V(v.vd), r, ex, WIDE);
  }
  adv(w, in);
}
void do_cmp_fast(Wave& w, const Inst& in) {
  const VInst& v = *in.v;
  if (__builtin_expect(w.special, 0)) {
    do_valu(w, in);
    return;
  }
  alignas(64) u32 t[2][128];
  VArgs g;
  g.a = fetch(w, v.src[0], t[0]);
  g.b = fetch(w, v.src[1], t[1]);
  v.fn(nullptr, g);
  set64(w, v.sd, g.out & w.exec());
  adv(w, in);
}

} // namespace

NativeFn quick_valu(const VInst& v) {
  const bool modified = v.sdwa || v.dpp || v.clamp || v.omod || v.carry || v.cmpx,
             keeps_half = v.out == 'H' || v.out == 'S';
  if (modified || keeps_half) return do_valu;
  if (v.out == 'b') return do_cmp_fast;
  static const NativeFn by_operands[2][4] = {
      {do_valu, do_valu_fast<1, false>, do_valu_fast<2, false>, do_valu_fast<3, false>},
      {do_valu, do_valu_fast<1, true>, do_valu_fast<2, true>, do_valu_fast<3, true>}};
  return by_operands[v.wide][v.n];
}

} // namespace amdsim
