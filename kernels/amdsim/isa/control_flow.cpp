// Branches, the program counter, the end, and what is no operation here
#include "handlers.hpp"

namespace amdsim {

void do_nop(Wave& w, const Inst& in) { adv(w, in); }
void do_refuse(Wave&, const Inst&) {
  fault(Status::Unimplemented, "this instruction, or a modifier that it uses, is not implemented");
}

namespace {

uint64_t after(const Wave& w) { return w.pc() + 4; }
int64_t distance(const Inst& in) { return (int64_t)(int16_t)(in.raw[0] & 0xffff) * 4; }

void branch_if(Wave& w, const Inst& in, bool taken) { w.set_pc(after(w) + (taken ? distance(in) : 0)); }
bool scc(const Wave& w) { return w.sgpr[SG_SCC]; }
bool vcc(const Wave& w) { return w.sgpr[SG_VCC] | w.sgpr[SG_VCC + 1]; }
void do_branch(Wave& w, const Inst& in) { branch_if(w, in, true); }
void do_branch_scc0(Wave& w, const Inst& in) { branch_if(w, in, !scc(w)); }
void do_branch_scc1(Wave& w, const Inst& in) { branch_if(w, in, scc(w)); }
void do_branch_vccz(Wave& w, const Inst& in) { branch_if(w, in, !vcc(w)); }
void do_branch_vccnz(Wave& w, const Inst& in) { branch_if(w, in, vcc(w)); }
void do_branch_execz(Wave& w, const Inst& in) { branch_if(w, in, !w.exec()); }
void do_branch_execnz(Wave& w, const Inst& in) { branch_if(w, in, w.exec()); }

void jump(Wave& w, const Inst& in, uint64_t to, bool link) {
  if (link) set64(w, bits(in, 22, 16), after(w));
  w.set_pc(to);
}
void do_getpc(Wave& w, const Inst& in) { jump(w, in, after(w), true); }
void do_setpc(Wave& w, const Inst& in) { jump(w, in, w.s64(bits(in, 7, 0)), false); }
void do_swappc(Wave& w, const Inst& in) { jump(w, in, w.s64(bits(in, 7, 0)), true); }
void do_call(Wave& w, const Inst& in) { jump(w, in, after(w) + distance(in), true); }

void do_end(Wave& w, const Inst&) { w.set_pc(~0ull); }
void do_trap(Wave&, const Inst& in) {
  fault(Status::Trap, "s_trap %u (abort, or a compiler's unreachable code)", in.raw[0] & 255);
}
void do_index_off(Wave& w, const Inst& in) {
  w.idx = false;
  apply_mode(w);
  adv(w, in);
}
void do_vskip(Wave& w, const Inst& in) {
  const auto value = [&](unsigned o) { return o == 255 ? in.raw[1] : scalar(w, o); };
  w.vskip = value(bits(in, 7, 0)) >> (value(bits(in, 15, 8)) & 31) & 1;
  adv(w, in);
}

// ---- hardware registers: number, offset and width are in the immediate ----------------------------------
struct HardwareField {
  unsigned id, offset, width;
  explicit HardwareField(const Inst& in)
      : id(bits(in, 5, 0)), offset(bits(in, 10, 6)), width(bits(in, 15, 11) + 1) {}
  uint32_t mask() const { return width == 32 ? ~0u : (1u << width) - 1; }
};
enum HardwareRegister {
  HW_MODE = 1,
  HW_STATUS = 2,
  HW_ID = 4,
  HW_GPR_ALLOC = 5,
  HW_LDS_ALLOC = 6,
  HW_XCC_ID = 20
};

uint32_t hardware_register(const Wave& w, unsigned id) {
  switch (id) {
  case HW_MODE: return w.mode;
  case HW_ID: return (w.id & 15) | (w.id & 3) << 4;
  case HW_LDS_ALLOC: return (R.lds_size + 511) / 512 << 12;
  case HW_STATUS:
  case HW_GPR_ALLOC:
  case HW_XCC_ID: return 0;
  }
  fault(Status::Unimplemented, "hardware register %u is not implemented", id);
}
void do_getreg(Wave& w, const Inst& in) {
  const HardwareField f(in);
  w.sgpr[bits(in, 22, 16)] = hardware_register(w, f.id) >> f.offset & f.mask();
  adv(w, in);
}
void do_setreg(Wave& w, const Inst& in) {
  const HardwareField f(in);
  const bool literal = in.size == 8;
  const uint32_t v = literal ? in.raw[1] : w.sgpr[bits(in, 22, 16)], mask = f.mask() << f.offset;
  if (f.id != HW_MODE) fault(Status::Unimplemented, "writing hardware register %u is not implemented", f.id);
  w.mode = (w.mode & ~mask) | (v << f.offset & mask);
  if (w.mode & 15) fault(Status::Unimplemented, "rounding modes other than to nearest are not implemented");
  apply_mode(w);
  adv(w, in);
}

struct Named {
  const char* name;
  NativeFn handler;
};
constexpr Named table[] = {
    {"S_BRANCH", do_branch},
    {"S_CBRANCH_SCC0", do_branch_scc0},
    {"S_CBRANCH_SCC1", do_branch_scc1},
    {"S_CBRANCH_VCCZ", do_branch_vccz},
    {"S_CBRANCH_VCCNZ", do_branch_vccnz},
    {"S_CBRANCH_EXECZ", do_branch_execz},
    {"S_CBRANCH_EXECNZ", do_branch_execnz},
    {"S_GETPC_B64", do_getpc},
    {"S_SETPC_B64", do_setpc},
    {"S_SWAPPC_B64", do_swappc},
    {"S_CALL_B64", do_call},
    {"S_ENDPGM", do_end},
    {"S_TRAP", do_trap},
    {"S_SET_GPR_IDX_OFF", do_index_off},
    {"S_SETVSKIP", do_vskip},
    {"S_GETREG_B32", do_getreg},
    {"S_SETREG_B32", do_setreg},
    {"S_SETREG_IMM32_B32", do_setreg},
    // memory is sequentially consistent, and time does not count
    {"S_NOP", do_nop},
    {"S_WAITCNT", do_nop},
    {"S_SLEEP", do_nop},
    {"S_SETPRIO", do_nop},
    {"S_ICACHE_INV", do_nop},
    {"S_INCPERFLEVEL", do_nop},
    {"S_DECPERFLEVEL", do_nop},
    {"S_TTRACEDATA", do_nop},
    {"S_WAKEUP", do_nop},
    {"V_NOP", do_nop},
    {"V_CLREXCP", do_nop},
    {"S_BARRIER", do_nop},
};

} // namespace

bool select_control(Inst& in) {
  in.barrier = in.name == "S_BARRIER";
  const bool host_call_interrupt = in.name == "S_SENDMSG" && (in.raw[0] & 15) == 1;
  if (host_call_interrupt) return in.nat = do_nop, true;
  for (const Named& n : table)
    if (in.name == n.name) return in.nat = n.handler, true;
  return false;
}

} // namespace amdsim
