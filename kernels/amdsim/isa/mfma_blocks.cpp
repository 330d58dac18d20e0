// Matrix instructions of several blocks, and double precision: lane by lane. Lane l
// holds row (A) or column (B, C, D) l % size of block l / size, all of its k. Double
// precision 16x16x4: k = l / 16, and row 4 i + l / 16 of the result in output i.
#include "mfma.hpp"

#include <cmath>

#include "half.hpp"

namespace amdsim {
namespace {

double element(Element e, const uint32_t* v, int l, int k) {
  switch (e) {
  case Element::f32: return asf(v[k * 64 + l]);
  case Element::f16: return half_to_float(v[k / 2 * 64 + l] >> (16 * (k & 1)));
  case Element::bf16: return bf16_to_float(v[k / 2 * 64 + l] >> (16 * (k & 1)));
  case Element::i8: return (int8_t)(v[k / 4 * 64 + l] >> (8 * (k & 3)));
  default: return asd(ldq(v, l));
  }
}

// C's row times D's column
uint32_t output(const MfmaShape& s, const MfmaOperands& o, int row_lane, int column_lane, uint32_t c) {
  const auto a = [&](int k) { return element(s.a, o.a, row_lane, k); };
  const auto b = [&](int k) { return element(s.a, o.b, column_lane, k); };
  if (s.a == Element::i8) {
    uint32_t sum = c;
    for (int k = 0; k < s.depth; k++) sum += (uint32_t)((int)a(k) * (int)b(k));
    return sum;
  }
  if (C.mfma == mfma_seq) {
    float sum = asf(c);
    for (int k = 0; k < s.depth; k++) sum = std::fma((float)a(k), (float)b(k), sum);
    return asu(sum);
  }
  double sum = 0;
  for (int k = 0; k < s.depth; k++) sum += a(k) * b(k);
  return asu((float)(asf(c) + sum));
}

void blocks(const MfmaShape& s, const MfmaOperands& o, uint32_t* out) {
  const bool lane_holds_one_block = s.size == 4;
  const int per_block = s.size * s.size / (lane_holds_one_block ? 4 : 64);
  for (int q = 0; q < (lane_holds_one_block ? 1 : s.blocks); q++)
    for (int i = 0; i < per_block; i++)
      for (int l = 0; l < 64; l++) {
        const int block = lane_holds_one_block ? l / 4 : q,
                  row = lane_holds_one_block ? i : mfma_row(s.size, i, l);
        const int at = (q * per_block + i) * 64 + l;
        const uint32_t c = o.c ? o.c[at] : o.constant_c;
        out[at] = output(s, o, block * s.size + row, block * s.size + l % s.size, c);
      }
}

void double_precision(const MfmaOperands& o, double constant_c, uint32_t* out) {
  for (int i = 0; i < 4; i++)
    for (int l = 0; l < 64; l++) {
      double sum = o.c ? asd(ldq(o.c + 2 * i * 64, l)) : constant_c;
      for (int k = 0; k < 4; k++)
        sum = std::fma(asd(ldq(o.a, 4 * i + l / 16 + 16 * k)), asd(ldq(o.b, l % 16 + 16 * k)), sum);
      stq(out + 2 * i * 64, l, asq(sum));
    }
}

} // namespace

void do_mfma_blocks(Wave& w, const Inst& in) {
  const MfmaShape s = shape_of(in);
  static uint32_t out[32 * 64];
  if (s.a == Element::f64) {
    const MfmaOperands o = mfma_operands(w, in, 8);
    const bool float_constant = bits(in, 58, 50) >= 240;
    double_precision(o, float_constant ? asf(o.constant_c) : (int32_t)o.constant_c, out);
    memcpy(o.d, out, 8 * 256);
  } else {
    const int registers = s.blocks * s.size * s.size / 64;
    const MfmaOperands o = mfma_operands(w, in, registers);
    blocks(s, o, out);
    memcpy(o.d, out, registers * 256);
  }
  adv(w, in);
}

} // namespace amdsim
