// What is done to a vector operand on its way: SDWA's selection of bytes and words, op_sel, abs and neg
#include "valu.hpp"

namespace amdsim {
const u32* modify(const VSrc& s, const u32* p, u32* t) {
  if (s.sel < 4) {
    const int sh = 8 * s.sel;
    if (s.sext)
      LANES t[l] = (u32)(i32)(int8_t)(p[l] >> sh);
    else
      LANES t[l] = p[l] >> sh & 255;
    p = t;
  } else if (s.sel < 6) {
    const int sh = 16 * (s.sel - 4);
    if (s.sext)
      LANES t[l] = (u32)(i32)(int16_t)(p[l] >> sh);
    else
      LANES t[l] = p[l] >> sh & 0xffff;
    p = t;
  }
  switch (s.type) {
  case 'h':
  case 's': {
    const int sh = s.hi ? 16 : 0;
    const u32 m = s.abs ? 0x7fff : 0xffff, x = s.neg ? 0x8000 : 0;
    LANES t[l] = (p[l] >> sh & m) ^ x;
    return t;
  }
  case 'P':
  case 'p': {
    const int a = s.hi ? 16 : 0, b = s.hi_hi ? 0 : 16;
    const u32 x = (s.neg ? 0x8000u : 0) | (s.neg_hi ? 0x80000000u : 0);
    LANES {
      const u32 v = p[l];
      t[l] = ((v >> a & 0xffff) | (v << b & 0xffff0000u)) ^ x;
    }
    return t;
  }
  case 'F': {
    const u32 x = s.neg ? 0x80000000u : 0, y = s.neg_hi ? 0x80000000u : 0;
    const u32 *lo = p + (s.hi ? 64 : 0), *hi = p + (s.hi_hi ? 64 : 0);
    LANES {
      const u32 a = lo[l], b = hi[l];
      t[l] = a ^ x;
      t[64 + l] = b ^ y;
    }
    return t;
  }
  case 'm': {
    alignas(64) float f[64];
    if (s.hi_hi) {
      const int sh = s.hi ? 16 : 0;
      alignas(64) u32 h[64];
      LANES h[l] = p[l] >> sh & 0xffff;
      halves_to_floats(f, h);
    } else
      memcpy(f, p, 256);
    const u32 m = s.abs ? 0x7fffffffu : ~0u, x = s.neg ? 0x80000000u : 0;
    LANES t[l] = (asu(f[l]) & m) ^ x;
    return t;
  }
  case 'd': {
    const u32 m = s.abs ? 0x7fffffffu : ~0u, x = s.neg ? 0x80000000u : 0;
    LANES {
      const u32 a = p[l], b = p[64 + l];
      t[l] = a;
      t[64 + l] = (b & m) ^ x;
    }
    return t;
  }
  case 'f': {
    const u32 m = s.abs ? 0x7fffffffu : ~0u, x = s.neg ? 0x80000000u : 0;
    LANES t[l] = (p[l] & m) ^ x;
    return t;
  }
  }
  return p;
}

} // namespace amdsim
