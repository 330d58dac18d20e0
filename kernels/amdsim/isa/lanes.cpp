// Moves to and from accumulation registers, between registers, and between lanes and scalar registers
#include "handlers.hpp"

namespace amdsim {
namespace {

// An operand of nine bits as a lane sees it
uint32_t operand(Wave& w, unsigned o, int l) { return o >= 256 ? w.V(o - 256)[l] : scalar(w, o); }

// ---- accumulation registers -----------------------------------------------------------------------------
void copy_active(Wave& w, uint32_t* d, const uint32_t* s) { FOR_LANES(w) d[l] = s[l]; }
void do_acc_read(Wave& w, const Inst& in) {
  copy_active(w, w.V(bits(in, 7, 0)), w.A(bits(in, 40, 32)));
  adv(w, in);
}
void do_acc_write(Wave& w, const Inst& in) {
  uint32_t* d = w.A(bits(in, 7, 0));
  const unsigned o = bits(in, 40, 32);
  FOR_LANES(w) d[l] = operand(w, o, l);
  adv(w, in);
}
void do_acc_mov(Wave& w, const Inst& in) {
  copy_active(w, w.A(bits(in, 24, 17)), w.A(bits(in, 8, 0) - 256));
  adv(w, in);
}

// ---- swaps ----------------------------------------------------------------------------------------------
void do_swap(Wave& w, const Inst& in) {
  if (w.idx) fault(Status::Unimplemented, "v_swap_b32 with a VGPR index is not implemented");
  uint32_t *d = w.V(bits(in, 24, 17)), *s = w.V(bits(in, 8, 0) - 256);
  FOR_LANES(w) std::swap(d[l], s[l]);
  adv(w, in);
}
template <int ROW> // gfx950: odd rows (of so many lanes) of the one, even rows of the other
void do_permlane_swap(Wave& w, const Inst& in) {
  uint32_t *d = w.V(bits(in, 24, 17)), *s = w.V(bits(in, 8, 0) - 256);
  for (int l = 0; l < 64; l++)
    if (l & ROW) std::swap(d[l], s[l - ROW]);
  adv(w, in);
}

// ---- lanes and scalar registers -------------------------------------------------------------------------
void do_readlane(Wave& w, const Inst& in) {
  const int l = operand(w, bits(in, 49, 41), 0) & 63;
  w.sgpr[bits(in, 7, 0)] = operand(w, bits(in, 40, 32), l);
  adv(w, in);
}
void do_writelane(Wave& w, const Inst& in) {
  w.V(bits(in, 7, 0))[scalar(w, bits(in, 49, 41)) & 63] = scalar(w, bits(in, 40, 32));
  adv(w, in);
}
void do_readfirstlane(Wave& w, const Inst& in) {
  const bool long_form = in.e;
  const unsigned o = long_form ? bits(in, 40, 32) : bits(in, 8, 0),
                 d = long_form ? bits(in, 7, 0) : bits(in, 24, 17);
  const uint64_t exec = w.exec();
  w.sgpr[d] = operand(w, o, exec ? __builtin_ctzll(exec) : 0);
  adv(w, in);
}

struct Named {
  const char* name;
  NativeFn handler;
};
constexpr Named table[] = {
    {"V_ACCVGPR_READ_B32", do_acc_read},
    {"V_ACCVGPR_WRITE_B32", do_acc_write},
    {"V_READLANE_B32", do_readlane},
    {"V_WRITELANE_B32", do_writelane},
};
constexpr Named vop1_table[] = {
    {"V_SWAP_B32", do_swap},
    {"V_ACCVGPR_MOV_B32", do_acc_mov},
};

} // namespace

bool select_lanes(Inst& in) {
  for (const Named& n : table)
    if (in.name == n.name) return in.nat = n.handler, true;
  for (const Named& n : vop1_table)
    if (in.cls == "VOP1" && in.name == n.name) return in.nat = n.handler, true;
  if (in.name.compare(0, 19, "V_READFIRSTLANE_B32") == 0) {
    in.e = in.cls == "VOP3" || in.cls == "VOP3_SDST";
    return in.nat = do_readfirstlane, true;
  }
  if (bits(in, 8, 0) < 256) return false;
  if (in.name == "V_PERMLANE16_SWAP_B32") return in.nat = do_permlane_swap<16>, true;
  if (in.name == "V_PERMLANE32_SWAP_B32") return in.nat = do_permlane_swap<32>, true;
  return false;
}

} // namespace amdsim
