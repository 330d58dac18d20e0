// What flat, buffer, LDS and scratch instructions share: the shape of an
// access, one lane's access, and the quick way for all lanes at once.
#pragma once
#include "atomics.hpp"
#include "isa.hpp"
#include "lds_shadow.hpp"

namespace amdsim {

// ---- shape: n dwords, or w < 32 bits; D16 keeps the other half of the register --------------------------
// Takes the name apart after GLOBAL_, FLAT_, SCRATCH_, BUFFER_ or S_, and sets
// op, n, w, a (bytes of an atomic), b (sign extends), c (D16), d (to or from
// the high half) and the bytes that a lane moves. False: no such instruction.
bool set_shape(Inst& in, const std::string& name);
inline int bytes_of(const Inst& in) { return in.w < 32 ? in.w / 8 : 4 * in.n; }

// The register's new value after loading v (8, 16 or 32 bits) over `old`
inline uint32_t loaded(const Inst& in, uint32_t v, uint32_t old) {
  if (in.w == 8 && in.b) v = (uint32_t)(int32_t)(int8_t)v;
  if (in.w == 16 && in.b) v = (uint32_t)(int32_t)(int16_t)v;
  if (!in.c) return v;
  return in.d ? (old & 0xffff) | v << 16 : (old & 0xffff0000) | (v & 0xffff);
}
inline uint32_t read_bits(const uint8_t* p, int w) {
  uint32_t v = 0;
  memcpy(&v, p, w / 8);
  return v;
}

// ---- one lane -------------------------------------------------------------------------------------------
uint8_t* lds_at(Wave& w, uint64_t address, unsigned bytes, int lane, LdsAccess access);
uint8_t* scratch_at(Wave& w, uint64_t address, unsigned bytes, int lane, bool write);

// `at(offset, bytes, write)` is the memory
template <class At>
inline void access_lane(const Inst& in, int l, uint32_t* dst, const uint32_t* src, bool returns, At at) {
  if (in.op == LOAD) {
    if (in.w < 32) {
      dst[l] = loaded(in, read_bits(at(0, in.w / 8, false), in.w), dst[l]);
      return;
    }
    uint32_t t[4]; // all is read before a register changes
    for (int i = 0; i < in.n; i++) memcpy(&t[i], at(i * 4, 4, false), 4);
    for (int i = 0; i < in.n; i++) dst[i * 64 + l] = t[i];
  } else if (in.op == STORE) {
    if (in.w < 32) {
      const uint32_t v = src[l] >> (in.d ? 16 : 0);
      memcpy(at(0, in.w / 8, true), &v, in.w / 8);
    } else
      for (int i = 0; i < in.n; i++) memcpy(at(i * 4, 4, true), &src[i * 64 + l], 4);
  } else {
    uint8_t* p = at(0, in.a, true);
    const bool wide = in.a == 8;
    uint64_t old = 0;
    memcpy(&old, p, in.a);
    const uint64_t operand = wide ? ldq(src, l) : src[l];
    const uint64_t second = in.op != A_CMPSWAP ? 0 : wide ? ldq(src + 128, l) : src[64 + l];
    const uint64_t result = atomic_result(in.op, in.a, old, operand, second);
    memcpy(p, &result, in.a);
    if (returns) dst[l] = (uint32_t)old;
    if (returns && wide) dst[64 + l] = old >> 32;
  }
}
// A load whose value goes to LDS: M0's low half, the offset, and the lanes one behind the other
template <class At> inline void load_to_lds(Wave& w, const Inst& in, int l, uint64_t offset, At at) {
  const uint64_t to = (w.sgpr[SG_M0] & 0xffff) + offset + (uint64_t)l * 4 * in.n;
  for (int i = 0; i < in.n; i++) {
    const uint32_t v = loaded(in, read_bits(at(4 * i, in.w / 8, false), in.w), 0);
    memcpy(lds_at(w, to + 4 * i, 4, l, LdsAccess::write), &v, 4);
  }
}

// ---- all lanes: no active one outside of one allocation -------------------------------------------------
struct Bounds {
  uint64_t low, high;
}; // smallest and largest address of the active lanes
Bounds bounds_of(const uint64_t* address, uint64_t exec);
bool in_one_allocation(uint64_t begin, uint64_t end);
// Loads or stores; an unused lane's address is not looked at
void move_lanes(const Inst& in, const uint64_t* address, uint32_t* registers, uint64_t exec);

} // namespace amdsim
