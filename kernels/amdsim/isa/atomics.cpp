// Atomics on one value: integers, floats, packed halves
#include "atomics.hpp"

#include "half.hpp"

#include <cmath>

namespace amdsim {

template <class Function> static uint32_t both_halves(uint64_t a, uint64_t b, Function f) {
  return f(a & 0xffff, b & 0xffff) | f(a >> 16 & 0xffff, b >> 16 & 0xffff) << 16;
}

uint64_t atomic_result(int op, int bytes, uint64_t old, uint64_t s, uint64_t second) {
  const uint64_t mask = bytes == 8 ? ~0ull : 0xffffffffull;
  old &= mask;
  s &= mask;
  second &= mask;
  auto sx = [&](uint64_t v) { return bytes == 8 ? (int64_t)v : (int64_t)(int32_t)v; };
  auto fl = [&](uint64_t v) {
    double d;
    if (bytes == 8)
      memcpy(&d, &v, 8);
    else
      d = asf((uint32_t)v);
    return d;
  };
  switch (op) {
  case A_SWAP: return s;
  case A_CMPSWAP: return old == second ? s : old;
  case A_FCMPST: return fl(old) == fl(second) ? s : old;
  case A_ADD: return (old + s) & mask;
  case A_SUB: return (old - s) & mask;
  case A_RSUB: return (s - old) & mask;
  case A_SMIN: return sx(old) < sx(s) ? old : s;
  case A_SMAX: return sx(old) > sx(s) ? old : s;
  case A_UMIN: return old < s ? old : s;
  case A_UMAX: return old > s ? old : s;
  case A_AND: return old & s;
  case A_OR: return old | s;
  case A_XOR: return old ^ s;
  case A_INC: return old >= s ? 0 : old + 1;
  case A_DEC: return old == 0 || old > s ? s : old - 1;
  case A_WRAP: return old >= s ? old - s : old + second;
  case A_FADD:
    if (bytes == 8) {
      double r = fl(old) + fl(s);
      uint64_t u;
      memcpy(&u, &r, 8);
      return u;
    }
    return asu(asf((uint32_t)old) + asf((uint32_t)s));
  case A_FMIN: return std::isnan(fl(old)) ? s : std::isnan(fl(s)) || fl(old) < fl(s) ? old : s;
  case A_FMAX: return std::isnan(fl(old)) ? s : std::isnan(fl(s)) || fl(old) > fl(s) ? old : s;
  case A_PKF16:
    return both_halves(
        old, s, [](uint32_t x, uint32_t y) { return float_to_half(half_to_float(x) + half_to_float(y)); });
  case A_PKBF16:
    return both_halves(
        old, s, [](uint32_t x, uint32_t y) { return float_to_bf16(bf16_to_float(x) + bf16_to_float(y)); });
  case A_MSKOR: return (old & ~s) | second;
  }
  return old;
}

} // namespace amdsim
