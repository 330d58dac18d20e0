// Comparisons: one function for each type and relation
#include "vector_op.hpp"

#include <unordered_map>

namespace amdsim {
namespace {

// the class test's answer for a number of so many mantissa and exponent bits
template <class T> inline bool klass(T x, u32 m, int mant, int ebits) {
  const T e = x >> mant & (((T)1 << ebits) - 1), f = x & (((T)1 << mant) - 1);
  const bool s = x >> (mant + ebits) & 1;
  int k;
  if (e == (((T)1 << ebits) - 1))
    k = f ? (f >> (mant - 1) ? 1 : 0) : s ? 2 : 9;
  else if (e)
    k = s ? 3 : 8;
  else if (f)
    k = s ? 4 : 7;
  else
    k = s ? 5 : 6;
  return m >> k & 1;
}
// R: number of the relation in the instruction set; the upper eight of floating point also hold for NaN
template <int R, class T> inline bool frel(T a, T b) {
  switch (R & 15) {
  case 0: return false;
  case 1: return a < b;
  case 2: return a == b;
  case 3: return a <= b;
  case 4: return a > b;
  case 5: return a < b || a > b;
  case 6: return a >= b;
  case 7: return a == a && b == b;
  case 8: return a != a || b != b;
  case 9: return !(a >= b);
  case 10: return !(a < b || a > b);
  case 11: return !(a > b);
  case 12: return !(a <= b);
  case 13: return !(a == b);
  case 14: return !(a < b);
  default: return true;
  }
}
template <int R, class T> inline bool irel(T a, T b) {
  switch (R & 7) {
  case 0: return false;
  case 1: return a < b;
  case 2: return a == b;
  case 3: return a <= b;
  case 4: return a > b;
  case 5: return a != b;
  case 6: return a >= b;
  default: return true;
  }
}
template <int R> void cf32(u32*, VArgs& g) {
  const u32 *pa = g.a, *pb = g.b;
  MASK((frel<R, float>(asf(pa[l]), asf(pb[l]))))
}
template <int R> void cf64(u32*, VArgs& g) {
  const u32 *pa = g.a, *pb = g.b;
  MASK((frel<R, double>(asd(ldq(pa, l)), asd(ldq(pb, l)))))
}
template <int R> void cf16(u32*, VArgs& g) {
  alignas(64) float A[64], B[64];
  halves_to_floats(A, g.a);
  halves_to_floats(B, g.b);
  MASK((frel<R, float>(A[l], B[l])))
}
template <int R> void ci32(u32*, VArgs& g) {
  const u32 *pa = g.a, *pb = g.b;
  MASK((irel<R, i32>((i32)pa[l], (i32)pb[l])))
}
template <int R> void cu32(u32*, VArgs& g) {
  const u32 *pa = g.a, *pb = g.b;
  MASK((irel<R, u32>(pa[l], pb[l])))
}
template <int R> void ci16(u32*, VArgs& g) {
  const u32 *pa = g.a, *pb = g.b;
  MASK((irel<R, i32>(signed16(pa[l]), signed16(pb[l]))))
}
template <int R> void cu16(u32*, VArgs& g) {
  const u32 *pa = g.a, *pb = g.b;
  MASK((irel<R, u32>(low16(pa[l]), low16(pb[l]))))
}
template <int R> void ci64(u32*, VArgs& g) {
  const u32 *pa = g.a, *pb = g.b;
  MASK((irel<R, i64>((i64)ldq(pa, l), (i64)ldq(pb, l))))
}
template <int R> void cu64(u32*, VArgs& g) {
  const u32 *pa = g.a, *pb = g.b;
  MASK((irel<R, u64>(ldq(pa, l), ldq(pb, l))))
}
void class32(u32*, VArgs& g) {
  for (int l = 0; l < 64; l++) g.out |= (u64)klass<u32>(g.a[l], g.b[l], 23, 8) << l;
}
void class64(u32*, VArgs& g) {
  for (int l = 0; l < 64; l++) g.out |= (u64)klass<u64>(ldq(g.a, l), g.b[l], 52, 11) << l;
}
void class16(u32*, VArgs& g) {
  for (int l = 0; l < 64; l++) g.out |= (u64)klass<u32>(g.a[l] & 0xffff, g.b[l], 10, 5) << l;
}

typedef std::unordered_map<std::string, VOp> Comparisons;
template <int R> void add_relation(Comparisons& m) {
  static const char* float_names[16] = {"F", "LT",  "EQ",  "LE",  "GT",  "LG",  "GE",  "O",
                                        "U", "NGE", "NLG", "NGT", "NLE", "NEQ", "NLT", "TRU"};
  static const char* integer_names[8] = {"F", "LT", "EQ", "LE", "GT", "NE", "GE", "T"};
  for (const char* prefix : {"V_CMP_", "V_CMPX_"}) {
    const auto put = [&](const std::string& relation, const char* type, const char* sig, VFn f) {
      m[prefix + relation + "_" + type] = {"", sig, f};
    };
    put(float_names[R], "F32", "b:ff", cf32<R>);
    put(float_names[R], "F64", "b:dd", cf64<R>);
    put(float_names[R], "F16", "b:hh", cf16<R>);
    if (R >= 8) continue;
    const char* relation = integer_names[R & 7];
    put(relation, "I32", "b:uu", ci32<R>);
    put(relation, "U32", "b:uu", cu32<R>);
    put(relation, "I16", "b:ss", ci16<R>);
    put(relation, "U16", "b:ss", cu16<R>);
    put(relation, "I64", "b:qq", ci64<R>);
    put(relation, "U64", "b:qq", cu64<R>);
  }
  if constexpr (R < 15) add_relation<R + 1>(m);
}
Comparisons all_comparisons() {
  Comparisons m;
  add_relation<0>(m);
  for (const std::string prefix : {"V_CMP_", "V_CMPX_"}) {
    m[prefix + "CLASS_F32"] = {"", "b:fu", class32};
    m[prefix + "CLASS_F64"] = {"", "b:du", class64};
    m[prefix + "CLASS_F16"] = {"", "b:hu", class16};
  }
  return m;
}

} // namespace

const VOp* find_comparison(const std::string& name) {
  static const Comparisons m = all_comparisons();
  const auto it = m.find(name);
  return it == m.end() ? nullptr : &it->second;
}

} // namespace amdsim
