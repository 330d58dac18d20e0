// FP8 on the matrix unit of CDNA3, bit for bit as the published model has it:
// 16 products are summed in fixed point, with the truncations that its adders
// make, and then added to the accumulator. Names follow the model's steps.
#include "mfma.hpp"

#include <cmath>
#include <immintrin.h>

namespace amdsim {
namespace {

constexpr int GROUP = 16;                    // products that are fused
constexpr int SUM_BITS = 24, WIDE_BITS = 31; // fractional bits that the adders keep
constexpr int DROPPED_BELOW = 25;            // an accumulator so far below the sum does not take part
constexpr int ZERO_EXPONENT = -126;
constexpr int SIGNIFICAND_BITS = 3; // fractional bits of an operand; E5M2 leaves the last one 0

// [k][row or column]: value = significand / 2^SIGNIFICAND_BITS
// * 2^exponent; a subnormal has the smallest normal exponent.
constexpr int MOST = 32, MOST_DEPTH = 32;
struct alignas(64) Operand {
  int32_t significand[MOST_DEPTH][MOST], exponent[MOST_DEPTH][MOST];
  int32_t code[MOST_DEPTH][MOST];
  bool special; // a NaN or infinity somewhere
};
bool any_special(const int32_t* code, Fp8Format f) {
  const int mask = f.fnuz ? 0xff : 0x7f,
            least = f.fnuz  ? 0x80
                    : f.bf8 ? 0x7c
                            : 0x7f,
            most = f.fnuz ? 0x80 : 0x7f;
  int any = 0;
  LANES any |= (code[l] & mask) >= least && (code[l] & mask) <= most;
  return any;
}
// Byte j of 64 lanes
void unpack_lanes(const uint32_t* v, int shift, Fp8Format f, const MfmaShape& s, int k, Operand& o) {
  const int mb = f.mantissa_bits(), hidden = 1 << mb, bias = f.bias();
  int32_t significand[64], exponent[64], code[64];
  LANES {
    code[l] = v[l] >> shift & 255;
    const int field = (code[l] & 0x7f) >> mb, mantissa = code[l] & (hidden - 1);
    const int magnitude = (mantissa | (field ? hidden : 0)) << (SIGNIFICAND_BITS - mb);
    significand[l] = code[l] & 0x80 ? -magnitude : magnitude;
    exponent[l] =
        magnitude ? std::max(field, 1) - bias : 2 * ZERO_EXPONENT; // times anything: still the lowest
  }
  o.special |= any_special(code, f);
  for (int l = 0; l < 64; l += s.size) {
    const int row = l / s.size * 8 + k; // a lane holds 8 values in both shapes
    memcpy(o.significand[row], significand + l, s.size * 4);
    memcpy(o.exponent[row], exponent + l, s.size * 4);
    memcpy(o.code[row], code + l, s.size * 4);
  }
}
void unpack(const MfmaShape& s, Fp8Format f, const uint32_t* v, Operand& o) {
  o.special = false;
  for (int k = 0; k < 8; k++) unpack_lanes(v + k / 4 * 64, 8 * (k & 3), f, s, k, o);
}

// A row of sums: value = sum / 2^SUM_BITS * 2^exponent. As many columns as fill vector registers.
constexpr int COLUMNS = 8;
typedef int32_t Ints __attribute__((vector_size(4 * COLUMNS), may_alias));
typedef float Floats __attribute__((vector_size(4 * COLUMNS), may_alias));
typedef int64_t Longs __attribute__((vector_size(8 * COLUMNS)));
typedef double Doubles __attribute__((vector_size(8 * COLUMNS)));
struct Sums {
  Ints sum, exponent;
};
Ints larger(Ints a, Ints b) { return a > b ? a : b; }
Ints floor_shift(Ints x, Ints bits) { return x >> (bits < 31 ? bits : Ints{} + 31); }

// (1) the eight products of every other k from `k` on,
// aligned to the largest exponent and truncated towards zero
Sums half_sum(const Operand& a, int row, const Operand& b, int column, int k) {
  Sums h{Ints{}, Ints{} + ZERO_EXPONENT};
  for (int i = k; i < k + GROUP; i += 2)
    h.exponent = larger(h.exponent, a.exponent[i][row] + *(const Ints*)(b.exponent[i] + column));
  for (int i = k; i < k + GROUP; i += 2) {
    const Ints exponent = a.exponent[i][row] + *(const Ints*)(b.exponent[i] + column);
    const Ints product = a.significand[i][row] * *(const Ints*)(b.significand[i] + column),
               sign = product >> 31;
    const Ints magnitude = ((product ^ sign) - sign) << (SUM_BITS - 2 * SIGNIFICAND_BITS);
    h.sum += (floor_shift(magnitude, h.exponent - exponent) ^ sign) - sign;
  }
  return h;
}
// (2) the halves, aligned to the larger exponent and floored
Sums add_halves(const Sums& even, const Sums& odd) {
  const Ints exponent = larger(even.exponent, odd.exponent);
  return {floor_shift(even.sum, exponent - even.exponent) + floor_shift(odd.sum, exponent - odd.exponent),
          exponent};
}

// Doubles is wider than a register and is therefore passed by reference.
inline void times_power_of_two(Doubles& x, Ints e) {
  x *= (Doubles)(__builtin_convertvector(e + 1023, Longs) << 52);
}
inline void floor(Doubles& x) {
#ifdef __clang__
  x = __builtin_elementwise_floor(x);
#else
  for (int c = 0; c < COLUMNS; c++) x[c] = std::floor(x[c]);
#endif
}
// (3), (4) the accumulator. In double, where every step but the floors and the last is exact.
inline void accumulate(const Sums& t, Floats& accumulator) {
  const Ints field = (Ints)accumulator >> 23 & 255,
             acc_exponent = larger(field, Ints{} + 1) - 127; // a subnormal: 1
  const Ints largest = larger(t.exponent, acc_exponent);
  Doubles sum = __builtin_convertvector(t.sum, Doubles), acc = __builtin_convertvector(accumulator, Doubles);
  times_power_of_two(sum, WIDE_BITS - SUM_BITS + t.exponent - largest);
  times_power_of_two(acc, SUM_BITS - largest);
  floor(sum);
  floor(acc);
  const Longs kept = __builtin_convertvector(acc_exponent >= largest - DROPPED_BELOW, Longs);
  sum += (Doubles)((Longs)acc & kept) * (1 << (WIDE_BITS - SUM_BITS));
  times_power_of_two(sum, largest - WIDE_BITS);
  accumulator = __builtin_convertvector(sum, Floats); // the one rounding
}
// NaN and infinity: the steps do not apply, and the exact sum's IEEE result is returned
void add_group_ieee(const MfmaShape& s, const Operand& a, int row, const Operand& b, int column, int k,
                    const float* acc, float* next) {
  const float *a_values = fp8_values(s.format(s.a)), *b_values = fp8_values(s.format(s.b));
  for (int c = 0; c < COLUMNS; c++) {
    double sum = acc[c];
    for (int i = k; i < k + GROUP; i++)
      sum += (double)a_values[a.code[i][row]] * b_values[b.code[i][column + c]];
    if (!std::isfinite(sum)) next[c] = (float)sum;
  }
}
void add_group(const MfmaShape& s, const Operand& a, int row, const Operand& b, int column, int k,
               Floats& acc) {
  const Ints bits = (Ints)acc & 0x7f800000;
  const Ints not_finite = bits == 0x7f800000;
  const Floats before = acc;
  accumulate(add_halves(half_sum(a, row, b, column, k), half_sum(a, row, b, column, k + 1)), acc);
  if (a.special || b.special || _mm256_movemask_ps((__m256)not_finite))
    add_group_ieee(s, a, row, b, column, k, (const float*)&before, (float*)&acc);
}

Floats load(const uint32_t* p) {
  Floats x;
  memcpy(&x, p, sizeof x);
  return x;
}

struct HostFloatMode { // the unit keeps subnormals, whatever the wave's mode
  unsigned old = _mm_getcsr();
  HostFloatMode() { _mm_setcsr(0x1f80); }
  ~HostFloatMode() { _mm_setcsr(old); }
};

} // namespace

void mfma_fp8_cdna3(const MfmaShape& s, const MfmaOperands& o) {
  static Operand a, b;
  const HostFloatMode mode;
  unpack(s, s.format(s.a), o.a, a);
  unpack(s, s.format(s.b), o.b, b);
  for (int row = 0; row < s.size; row++)
    for (int column = 0; column < s.size; column += COLUMNS) {
      const int at = mfma_row_offset(s.size, row) + column;
      Floats acc = o.c ? load(o.c + at) : asf(o.constant_c) - Floats{};
      for (int k = 0; k < s.depth; k += GROUP) add_group(s, a, row, b, column, k, acc);
      memcpy(o.d + at, &acc, sizeof acc);
    }
}

} // namespace amdsim
