// Flat, global and scratch instructions
#include "constants.hpp"
#include "handlers.hpp"
#include "memory_access.hpp"

namespace amdsim {
namespace {

enum Segment { FLAT, SCRATCH, GLOBAL };
constexpr unsigned NO_SADDR = 0x7f;

// The encoding's fields; `base` is the scalar part of the address
struct Fields {
  uint32_t *dst, *src;
  const uint32_t *address_low, *address_high;
  bool scalar_base, returns, vector_offset;
  int64_t offset;
  uint64_t base;
};
template <Segment SEGMENT> Fields fields(Wave& w, const Inst& in) {
  const unsigned saddr = bits(in, 54, 48), vaddr = bits(in, 39, 32);
  const bool acc = bits(in, 55, 55);
  const auto registers = [&](unsigned r) { return acc ? w.A(r) : w.V(r); };
  Fields f;
  f.dst = registers(bits(in, 63, 56));
  f.src = registers(bits(in, 47, 40));
  f.address_low = w.V(vaddr);
  f.address_high = w.V(vaddr + 1);
  f.returns = bits(in, 16, 16);
  f.vector_offset = bits(in, 13, 13);
  f.offset = SEGMENT == FLAT ? (int64_t)bits(in, 11, 0) : sbits(in, 12, 0);
  f.scalar_base = SEGMENT != FLAT && saddr != NO_SADDR;
  f.base = !f.scalar_base ? 0 : SEGMENT == SCRATCH ? w.sgpr[saddr] : w.s64(saddr);
  return f;
}
template <Segment SEGMENT> uint64_t address_of(const Fields& f, int l) {
  const uint32_t low = f.address_low[l];
  if (SEGMENT == SCRATCH) return (uint32_t)(f.base + (f.vector_offset ? low : 0) + f.offset);
  return f.scalar_base ? f.base + low + f.offset : (low | (uint64_t)f.address_high[l] << 32) + f.offset;
}
// All lanes at once, if they lie in one allocation
bool move_global(Wave& w, const Inst& in, const Fields& f) {
  const uint64_t exec = w.exec();
  uint64_t address[64];
  if (f.scalar_base)
    for (int l = 0; l < 64; l++) address[l] = f.base + f.address_low[l] + f.offset;
  else
    for (int l = 0; l < 64; l++)
      address[l] = (f.address_low[l] | (uint64_t)f.address_high[l] << 32) + f.offset;
  const Bounds b = bounds_of(address, exec);
  const bool wraps = b.high + 16 <= b.high;
  if (exec && (wraps || !in_one_allocation(b.low, b.high + bytes_of(in)))) return false;
  move_lanes(in, address, in.op == LOAD ? f.dst : f.src, exec);
  return true;
}
template <Segment SEGMENT>
uint8_t* place(Wave& w, const Inst& in, uint64_t address, unsigned bytes, bool write, int l) {
  if (SEGMENT == SCRATCH) return scratch_at(w, address, bytes, l, write);
  const LdsAccess access = is_atomic(in.op) ? LdsAccess::atomic : write ? LdsAccess::write : LdsAccess::read;
  if (SEGMENT == FLAT && address >> 32 == SHARED_APERTURE >> 32)
    return lds_at(w, (uint32_t)address, bytes, l, access);
  if (SEGMENT == FLAT && address >> 32 == PRIVATE_APERTURE >> 32)
    return scratch_at(w, (uint32_t)address, bytes, l, write);
  return check_global(address, bytes, write, l);
}
template <Segment SEGMENT> void do_flat(Wave& w, const Inst& in) {
  const Fields f = fields<SEGMENT>(w, in);
  if (SEGMENT == GLOBAL && in.op <= STORE && move_global(w, in, f)) return adv(w, in);
  FOR_LANES(w) {
    const uint64_t a = address_of<SEGMENT>(f, l);
    if (in.op == LOADLDS) {
      load_to_lds(w, in, l, f.offset,
                  [&](unsigned o, unsigned n, bool) { return check_global(a + o, n, false, l); });
      continue;
    }
    if (SEGMENT == GLOBAL && is_atomic(in.op) && (a & (in.a - 1)))
      fault(Status::Fault, "lane %d: atomic on the misaligned address %#llx", l, (unsigned long long)a);
    access_lane(in, l, f.dst, f.src, f.returns, [&](unsigned o, unsigned n, bool write) {
      return place<SEGMENT>(w, in, a + o, n, write, l);
    });
  }
  adv(w, in);
}

} // namespace

bool select_flat(Inst& in) {
  struct Kind {
    const char* cls;
    NativeFn handler;
    bool to_lds;
  };
  static const Kind kinds[] = {{"GLOBAL", do_flat<GLOBAL>, true},
                               {"FLAT", do_flat<FLAT>, false},
                               {"SCRATCH", do_flat<SCRATCH>, false}};
  for (const Kind& k : kinds) {
    if (in.cls != k.cls || !set_shape(in, in.name.substr(in.cls.size() + 1))) continue;
    if (in.op == LOADLDS && !k.to_lds) return false;
    if (in.cls == "SCRATCH" && is_atomic(in.op)) return false;
    in.nat = k.handler;
    return true;
  }
  return false;
}

} // namespace amdsim
