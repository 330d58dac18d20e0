// What all instruction handlers share: fields of the encoding, operands by number, loops over lanes.
#pragma once
#include "amdsim.h"

#include <bit>

namespace amdsim {

// Bits hi..lo of the encoding; they must lie in one of its words.
inline uint32_t bits(const Inst& in, int hi, int lo) {
  const uint32_t word = in.raw[lo / 32] >> (lo % 32);
  const int n = hi - lo + 1;
  return n == 32 ? word : word & ((1u << n) - 1);
}
inline int32_t sbits(const Inst& in, int hi, int lo) {
  const int unused = 31 - (hi - lo);
  return (int32_t)(bits(in, hi, lo) << unused) >> unused;
}

inline void adv(Wave& w, const Inst& in) { w.set_pc(w.pc() + in.size); }
inline void set64(Wave& w, unsigned r, uint64_t x) { memcpy(w.sgpr + r, &x, 8); }
// An SGPR or inline constant (below 256): the constants live behind the registers, at their operand numbers.
inline uint32_t scalar(const Wave& w, uint32_t operand) { return w.sgpr[operand]; }

inline float asf(uint32_t u) { return std::bit_cast<float>(u); }
inline uint32_t asu(float f) { return std::bit_cast<uint32_t>(f); }
inline double asd(uint64_t u) { return std::bit_cast<double>(u); }
inline uint64_t asq(double d) { return std::bit_cast<uint64_t>(d); }
// A 64-bit value of a lane lies in two registers, 64 words apart.
inline uint64_t ldq(const uint32_t* p, int l) { return p[l] | (uint64_t)p[64 + l] << 32; }
inline void stq(uint32_t* p, int l, uint64_t v) {
  p[l] = (uint32_t)v;
  p[64 + l] = v >> 32;
}

// All 64 lanes, to be turned into vector code
#ifdef __clang__
#define LANES _Pragma("clang loop vectorize(assume_safety)") for (int l = 0; l < 64; l++)
#else
#define LANES _Pragma("GCC ivdep") for (int l = 0; l < 64; l++)
#endif
// The active lanes, one by one
#define FOR_LANES(w)                                                                                         \
  for (uint64_t ex_ = (w).exec(); ex_; ex_ &= ex_ - 1)                                                       \
    if (int l = __builtin_ctzll(ex_); true)

} // namespace amdsim
