// Matrix instructions of one dense block: decoding, and the
// general way to multiply, in double. FP8 has ways of its own.
#include "mfma.hpp"

#include <cmath>

#include "half.hpp"

namespace amdsim {
namespace {

constexpr int MOST_OUTPUTS = 32 * 32, MOST_VALUES = 16 * 128;

// T[row * row_stride + k * k_stride] of an operand
template <class Value> void spread(const MfmaShape& s, double* t, int row_stride, int k_stride, Value value) {
  const int groups = 64 / s.size, per_lane = s.depth / groups;
  for (int l = 0; l < 64; l++)
    for (int j = 0; j < per_lane; j++)
      t[l % s.size * row_stride + (l / s.size * per_lane + j) * k_stride] = value(l, j);
}
void load(const MfmaShape& s, Element e, const uint32_t* v, double* t, int row_stride, int k_stride) {
  const auto put = [&](auto value) { spread(s, t, row_stride, k_stride, value); };
  const auto word = [=](int l, int i) { return v[i * 64 + l]; };
  switch (e) {
  case Element::f32: return put([=](int l, int j) { return asf(word(l, j)); });
  case Element::xf32: return put([=](int l, int j) { return asf(word(l, j) & 0xffffe000u); });
  case Element::f16:
    return put([=](int l, int j) { return half_to_float(word(l, j / 2) >> (16 * (j & 1))); });
  case Element::bf16:
    return put([=](int l, int j) { return bf16_to_float(word(l, j / 2) >> (16 * (j & 1))); });
  case Element::i8: return put([=](int l, int j) { return (int8_t)(word(l, j / 4) >> (8 * (j & 3))); });
  case Element::fp8:
  case Element::bf8: {
    const float* values = fp8_values(s.format(e));
    return put([=](int l, int j) { return values[word(l, j / 4) >> (8 * (j & 3)) & 255]; });
  }
  case Element::f64: return; // do_mfma_blocks
  }
}

// ---- sums, S[row][column] -------------------------------------------------------------------------------
double A[MOST_VALUES], B[MOST_VALUES]; // A[row][k], B[k][column]

#ifdef __AVX512F__
constexpr int WIDTH = 8;
#else
constexpr int WIDTH = 4;
#endif
typedef double Doubles __attribute__((vector_size(8 * WIDTH), aligned(8)));
template <int M> void multiply(double* sums, int depth) {
  constexpr int ROWS = WIDTH == 8 ? 64 / M : M == 16 ? 2 : 1; // at a time, as the registers allow
  for (int r = 0; r < M; r += ROWS) {
    Doubles t[ROWS][M / WIDTH] = {};
    for (int k = 0; k < depth; k++)
      for (int c = 0; c < M / WIDTH; c++) {
        const Doubles b = *(const Doubles*)(B + k * M + WIDTH * c);
        for (int i = 0; i < ROWS; i++) t[i][c] += A[(r + i) * depth + k] * b;
      }
    memcpy(sums + r * M, t, sizeof t);
  }
}

template <class Output> void for_outputs(const MfmaShape& s, Output output) {
  for (int row = 0; row < s.size; row++)
    for (int column = 0; column < s.size; column++)
      output(row, column, mfma_row_offset(s.size, row) + column);
}
uint32_t c_at(const MfmaOperands& o, int i) { return o.c ? o.c[i] : o.constant_c; }

void integer(const MfmaShape& s, const MfmaOperands& o) {
  for_outputs(s, [&](int row, int column, int i) {
    uint32_t sum = c_at(o, i);
    for (int k = 0; k < s.depth; k++)
      sum += (uint32_t)((int32_t)A[row * s.depth + k] * (int32_t)B[k * s.size + column]);
    o.d[i] = sum;
  });
}
// the sum in double, rounded once
void exact(const MfmaShape& s, const MfmaOperands& o) {
  static double sums[MOST_OUTPUTS];
  s.size == 16 ? multiply<16>(sums, s.depth) : multiply<32>(sums, s.depth);
  for_outputs(s, [&](int row, int column, int i) {
    o.d[i] = asu((float)(asf(c_at(o, i)) + sums[row * s.size + column]));
  });
}
// one fp32 fma after the other
void sequential(const MfmaShape& s, const MfmaOperands& o) {
  for_outputs(s, [&](int row, int column, int i) {
    float sum = asf(c_at(o, i));
    for (int k = 0; k < s.depth; k++)
      sum = std::fma((float)A[row * s.depth + k], (float)B[k * s.size + column], sum);
    o.d[i] = asu(sum);
  });
}

void multiply(const MfmaShape& s, const MfmaOperands& o) {
  const bool fp8 = is_fp8(s.a);
  if (fp8 && C.mfma == mfma_cdna3 && s.size * s.depth == 512) return mfma_fp8_cdna3(s, o);
  if (fp8 && C.mfma != mfma_seq) return mfma_fp8_exact(s, o);
  load(s, s.a, o.a, A, s.depth, 1);
  load(s, s.b, o.b, B, 1, s.size);
  if (s.a == Element::i8)
    integer(s, o);
  else if (C.mfma == mfma_seq)
    sequential(s, o);
  else
    exact(s, o);
}

} // namespace

MfmaOperands mfma_operands(Wave& w, const Inst& in, int output_registers) {
  const MfmaShape s = shape_of(in);
  const unsigned cbsz = bits(in, 10, 8), abid = bits(in, 14, 11), blgp = bits(in, 63, 61);
  if ((cbsz || abid || blgp) && !s.types_in_modifiers)
    fault(Status::Unimplemented, "MFMA broadcast modifiers (cbsz/abid/blgp) are not implemented");
  const unsigned a = bits(in, 40, 32), b = bits(in, 49, 41), c = bits(in, 58, 50), d = bits(in, 7, 0);
  const unsigned in_acc = bits(in, 60, 59); // A, B in accumulation registers
  const bool cd_in_acc = bits(in, 15, 15);
  if (a < 256 || b < 256) fault(Status::Unimplemented, "MFMA with a scalar or constant A or B operand");
  const auto registers = [&](unsigned r, bool acc) { return acc ? w.A(r) : w.V(r); };
  MfmaOperands o{registers(a - 256, in_acc & 1), registers(b - 256, in_acc & 2), registers(d, cd_in_acc),
                 nullptr, 0};
  if (c < 256) {
    o.constant_c = scalar(w, c);
    return o;
  }
  o.c = registers(c - 256, cd_in_acc);
  static uint32_t copy[32 * 64];
  if (o.c != o.d && o.c < o.d + output_registers * 64 &&
      o.d < o.c + output_registers * 64) { // D overlaps a part of C
    memcpy(copy, o.c, output_registers * 256);
    o.c = copy;
  }
  return o;
}

void do_mfma(Wave& w, const Inst& in) { // ignores EXEC
  const MfmaShape s = shape_of(in);
  multiply(s, mfma_operands(w, in, s.size * s.size / 64));
  adv(w, in);
}

// ---- selection ------------------------------------------------------------------------------------------
namespace {

struct TypeName {
  const char* name;
  Element a, b;
};
constexpr TypeName types[] = {
    {"F32", Element::f32, Element::f32},     {"XF32", Element::xf32, Element::xf32},
    {"F16", Element::f16, Element::f16},     {"BF16", Element::bf16, Element::bf16},
    {"I8", Element::i8, Element::i8},        {"F64", Element::f64, Element::f64},
    {"FP8_FP8", Element::fp8, Element::fp8}, {"FP8_BF8", Element::fp8, Element::bf8},
    {"BF8_FP8", Element::bf8, Element::fp8}, {"BF8_BF8", Element::bf8, Element::bf8},
};

// V_MFMA_F32_32X32X1_2B_F32: "F32" is left, the numbers are in `s`
bool parse_name(const std::string& name, MfmaShape& s, std::string& type) {
  char result[8] = {0};
  int columns, type_at = 0, type_after_blocks = 0;
  if (sscanf(name.c_str(), "V_MFMA_%3[A-Z0-9]_%dX%dX%d_%n", result, &s.size, &columns, &s.depth, &type_at) <
      4)
    return false;
  if (!type_at || s.size != columns) return false;
  type = name.substr(type_at);
  s.blocks = 1;
  if (sscanf(type.c_str(), "%dB_%n", &s.blocks, &type_after_blocks) == 1 && type_after_blocks)
    type = type.substr(type_after_blocks);
  else
    s.blocks = 1;
  return true;
}
bool set_types(const Inst& in, const std::string& type, MfmaShape& s) {
  if (type == "F8F6F4") {
    const unsigned a = bits(in, 10, 8), b = bits(in, 63, 61);
    if (a > 1 || b > 1) return false; // FP6, FP4
    s.a = a ? Element::bf8 : Element::fp8;
    s.b = b ? Element::bf8 : Element::fp8;
    return s.types_in_modifiers = true;
  }
  for (const TypeName& t : types)
    if (type == t.name) return s.a = t.a, s.b = t.b, s.depth <= 64;
  return false;
}
NativeFn handler(const MfmaShape& s) {
  if (s.a == Element::f64) return s.size == 16 && s.blocks == 1 ? do_mfma_blocks : nullptr;
  if (s.blocks == 1) return s.size == 16 || s.size == 32 ? do_mfma : nullptr;
  const bool known =
      (s.size == 32 && s.blocks == 2) || (s.size == 16 && s.blocks == 4) || (s.size == 4 && s.blocks == 16);
  return known ? do_mfma_blocks : nullptr;
}

} // namespace

bool select_mfma(Inst& in, bool fnuz) {
  MfmaShape s{};
  std::string type;
  if (!parse_name(in.name, s, type) || !set_types(in, type, s)) return false;
  in.a = s.size;
  in.n = s.depth;
  in.b = (int)s.a;
  in.c = (int)s.b;
  in.d = fnuz;
  in.w = s.blocks;
  in.e = s.types_in_modifiers;
  in.nat = handler(s);
  return in.nat;
}

} // namespace amdsim
