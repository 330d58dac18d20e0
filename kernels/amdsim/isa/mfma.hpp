// Matrix instructions: where their operands lie, and the ways to multiply.
#pragma once
#include "fp8.hpp"
#include "isa.hpp"

namespace amdsim {

enum class Element : uint8_t { f32, xf32, f16, bf16, i8, fp8, bf8, f64 };
inline bool is_fp8(Element e) { return e == Element::fp8 || e == Element::bf8; }

// What select_mfma() keeps in the instruction, by names
struct MfmaShape {
  int size, depth; // size x size outputs, each a sum of `depth` products
  Element a, b;
  bool fnuz;
  int blocks;
  bool types_in_modifiers; // gfx950's f8f6f4: cbsz and blgp are the types
  Fp8Format format(Element e) const { return {e == Element::bf8, fnuz}; }
};
inline MfmaShape shape_of(const Inst& in) {
  return {in.a, in.n, (Element)in.b, (Element)in.c, (bool)in.d, in.w, (bool)in.e};
}

// Registers of 64 lanes. A lane holds column l % size of B, C and D and row l % size of A; its depth
// / (64 / size) values of A and of B are consecutive in k, beginning at l / size times their number.
struct MfmaOperands {
  const uint32_t *a, *b;
  uint32_t* d;
  const uint32_t* c; // null: constant_c in all places
  uint32_t constant_c;
};
MfmaOperands mfma_operands(Wave& w, const Inst& in,
                           int output_registers); // faults on what is not implemented

// Output register i of lane l belongs to this row ...
inline int mfma_row(int size, int i, int l) {
  return size == 16 ? 4 * (l / 16) + i : 8 * (i / 4) + 4 * (l / 32) + i % 4;
}
// ... and here is where a row's first column lies in D
inline int mfma_row_offset(int size, int row) {
  return size == 16 ? row % 4 * 64 + row / 4 * 16 : (row / 8 * 4 + row % 4) * 64 + row / 4 % 2 * 32;
}

// The exact sum of FP8 products, added to C and rounded once
void mfma_fp8_exact(const MfmaShape& s, const MfmaOperands& o);
// What the matrix unit of CDNA3 computes, with its truncations
void mfma_fp8_cdna3(const MfmaShape& s, const MfmaOperands& o);

void do_mfma(Wave& w, const Inst& in);        // one dense block
void do_mfma_blocks(Wave& w, const Inst& in); // several blocks; double precision

} // namespace amdsim
