// DPP: the first operand comes from another lane
#include "valu.hpp"

namespace amdsim {
namespace {

// Lane l's source; `valid` becomes false where it lies outside of the row or wave
int source(unsigned control, int l, bool& valid) {
  const int row = l & ~15, in_row = l & 15, n = control & 15;
  valid = true;
  if (control < 0x100) return (l & ~3) | (control >> (2 * (l & 3)) & 3);           // quad_perm
  if (control >= 0x101 && control <= 0x10f) return valid = in_row + n < 16, l + n; // row_shl
  if (control >= 0x111 && control <= 0x11f) return valid = in_row >= n, l - n;     // row_shr
  if (control >= 0x121 && control <= 0x12f) return row | ((in_row - n) & 15);      // row_ror
  if (control >= 0x150 && control <= 0x15f) return row | n;                        // row_newbcast
  switch (control) {
  case 0x130: return valid = l < 63, l + 1;    // wave_shl
  case 0x134: return (l + 1) & 63;             // wave_rol
  case 0x138: return valid = l > 0, l - 1;     // wave_shr
  case 0x13c: return (l - 1) & 63;             // wave_ror
  case 0x140: return row | (15 - in_row);      // row_mirror
  case 0x141: return (l & ~7) | (7 - (l & 7)); // row_half_mirror
  case 0x142: return valid = l >= 16, row - 1; // row_bcast15
  case 0x143: return valid = l >= 32, 31;      // row_bcast31
  }
  fault(Status::Unimplemented, "DPP control %#x is not implemented", control);
}

} // namespace

u64 gather_dpp(Wave& w, const VInst& v, u32* t, u64 exec) {
  const u32* p = w.V(v.src[0].reg);
  const bool two = v.src[0].type == 'd' || v.src[0].type == 'q';
  u64 written = 0;
  for (int l = 0; l < 64; l++) {
    bool valid;
    const int from = source(v.ctl, l, valid) & 63;
    valid = valid && (exec >> from & 1);
    const bool chosen = (v.rm >> (l >> 4) & 1) && (v.bm >> ((l & 15) >> 2) & 1);
    if (chosen && (valid || v.bc)) written |= 1ull << l;
    t[l] = valid ? p[from] : 0;
    if (two) t[64 + l] = valid ? p[64 + from] : 0;
  }
  return written;
}

} // namespace amdsim
