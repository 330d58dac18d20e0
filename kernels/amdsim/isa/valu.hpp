// A vector instruction taken apart: where its operands come from, what is done to them
// on the way, the function that does the arithmetic, and what is done to the result.
#pragma once
#include "vector_op.hpp"

namespace amdsim {

enum : uint8_t { K_VGPR, K_SGPR, K_SGPR2, K_CONST }; // SGPR2: a pair
struct VSrc {
  uint8_t kind = K_CONST;
  bool slow = false; // has a modifier
  bool abs = false, neg = false, neg_hi = false;
  bool hi = false, hi_hi = false; // op_sel, op_sel_hi
  bool sext = false;
  char type = 'u';
  uint8_t sel = 6; // SDWA
  uint16_t reg = 0;
  const u32* k = nullptr; // 128 words
};
struct VInst {
  VFn fn = nullptr;
  VSrc src[3];
  int n = 0;                        // operands
  char out = 'u';                   // the result's letter in the signature
  bool carry = false, cmpx = false; // gives a carry mask; writes EXEC, too
  bool f64 = false;                 // double precision: denormals are always on
  bool wide = false;                // the result has 64 bits
  bool half = false;                // the result goes to the high half
  bool clamp = false;
  uint8_t omod = 0; // 1, 2, 3: times 2, times 4, divided by 2
  uint8_t k = 0;    // mask operand: 0 none, 1 the SGPR pair kreg, 3 kreg itself
  uint16_t vd = 0, sd = SG_VCC, kreg = 0;
  bool sdwa = false, dpp = false;
  uint8_t dsel = 6, unused = 0; // SDWA: place in the destination, what becomes of the rest
  uint16_t ctl = 0;             // DPP: control, row and bank masks, lanes without a source are 0
  uint8_t rm = 15, bm = 15;
  bool bc = false;
  uint8_t idx[3] = {0, 0, 0}; // operand field of src[i], for the VGPR index mode
};

// The operand's modifiers applied to p; the result is in t, which may be p
const u32* modify(const VSrc& s, const u32* p, u32* t);
// Gathers the first operand by the DPP control; returns the lanes that are to be written
u64 gather_dpp(Wave& w, const VInst& v, u32* t, u64 exec);

void do_valu(Wave& w, const Inst& in); // with all modifiers
NativeFn quick_valu(const VInst& v);   // for an instruction without

} // namespace amdsim
