// 2/pi for v_trig_preop_f64: 1280 bits, from Machin's formula
#include "trig_preop.hpp"

#include "division.hpp"

#include <vector>

namespace amdsim {

struct TwoOverPi {
  static constexpr int N = 44; // 32-bit words, the most significant first; word 0 is the integer part
  typedef std::vector<u32> Big;
  static void div_small(Big& a, u32 k) {
    u64 r = 0;
    for (u32& w : a) {
      u64 v = r << 32 | w;
      w = (u32)(v / k);
      r = v % k;
    }
  }
  static void add(Big& a, const Big& b) {
    u64 c = 0;
    for (int i = N; i--;) {
      c += (u64)a[i] + b[i];
      a[i] = (u32)c;
      c >>= 32;
    }
  }
  static void sub(Big& a, const Big& b) {
    i64 c = 0;
    for (int i = N; i--;) {
      c += (i64)a[i] - b[i];
      a[i] = (u32)c;
      c >>= 32;
    }
  }
  static Big atan_inv(u32 x, u32 times) {
    Big t(N, 0), s(N, 0);
    t[0] = times;
    div_small(t, x);
    s = t;
    for (u32 k = 3;; k += 2) {
      div_small(t, x);
      div_small(t, x);
      Big q = t;
      div_small(q, k);
      bool z = true;
      for (u32 w : q) z &= !w;
      if (z) return s;
      if (k & 2)
        sub(s, q);
      else
        add(s, q);
    }
  }
  Big bits; // the fraction's bits
  TwoOverPi() : bits(N, 0) {
    Big pi = atan_inv(5, 16);
    sub(pi, atan_inv(239, 4));
    Big r(N, 0); // remainder of 2 / pi, bit by bit
    r[0] = 2;
    for (int i = 0; i < 32 * (N - 2); i++) {
      add(r, Big(r)); // 2 < pi: the first bit is of the fraction
      bool ge = true;
      for (int k = 0; k < N; k++)
        if (r[k] != pi[k]) {
          ge = r[k] > pi[k];
          break;
        }
      if (ge) {
        sub(r, pi);
        bits[i / 32] |= 1u << (31 - i % 32);
      }
    }
  }
  int bit(int i) const { return i < 0 || i >= 32 * (N - 2) ? 0 : bits[i / 32] >> (31 - i % 32) & 1; }
};
double trig_preop(double x, u32 seg) {
  static const TwoOverPi t;
  int shift = (int)(seg & 31) * 53, e = expo(x);
  if (e > 1077) shift += e - 1077;
  u64 m = 0;
  for (int i = 0; i < 53; i++) m = m << 1 | (shift + i < 1201 ? t.bit(shift + i) : 0);
  return std::ldexp((double)m, -53 - shift + (e >= 1968 ? 128 : 0));
}

} // namespace amdsim
