// LDS: loads, stores and atomics. Its permutes touch no memory; they are in lds_permutes.cpp.
#include "handlers.hpp"
#include "lds_permutes.hpp"
#include "memory_access.hpp"

#include <immintrin.h>

namespace amdsim {
namespace {

// in.a: bytes of an access; in.b: sign-extends; in.c, in.d: D16, high half; in.w: 64 with a stride
// of 64 elements between the two places; in.n: an atomic returns the old value; in.op: which atomic
struct Fields {
  uint32_t *address, *data0, *data1, *dst;
  uint32_t offset0, offset1;
  uint32_t offset() const { return offset1 << 8 | offset0; }
};
Fields fields(Wave& w, const Inst& in) {
  if (bits(in, 16, 16)) fault(Status::Unimplemented, "GDS is not implemented");
  const bool acc = bits(in, 25, 25);
  const auto registers = [&](unsigned r) { return acc ? w.A(r) : w.V(r); };
  return {w.V(bits(in, 39, 32)),
          registers(bits(in, 47, 40)),
          registers(bits(in, 55, 48)),
          registers(bits(in, 63, 56)),
          bits(in, 7, 0),
          bits(in, 15, 8)};
}

// ---- all lanes at once ----------------------------------------------------------------------------------
template <int N> void lds_load(const uint8_t* lds, const uint32_t* a, uint32_t* r, uint64_t ex) {
  if constexpr (N == 4)
    if (ex == ~0ull) {
      for (int l = 0; l < 64; l += 4) {
        __m128 x[4];
        for (int i = 0; i < 4; i++) x[i] = _mm_loadu_ps((const float*)(lds + a[l + i]));
        _MM_TRANSPOSE4_PS(x[0], x[1], x[2], x[3]);
        for (int i = 0; i < 4; i++) _mm_storeu_ps((float*)(r + 64 * i + l), x[i]);
      }
      return;
    }
  for (; ex; ex &= ex - 1) {
    const int l = __builtin_ctzll(ex);
    uint32_t t[N];
    memcpy(t, lds + a[l], 4 * N);
    for (int i = 0; i < N; i++) r[i * 64 + l] = t[i];
  }
}
template <int N> void lds_store(uint8_t* lds, const uint32_t* a, const uint32_t* r, uint64_t ex) {
  if constexpr (N == 4)
    if (ex == ~0ull) {
      for (int l = 0; l < 64; l += 4) {
        __m128 x[4];
        for (int i = 0; i < 4; i++) x[i] = _mm_loadu_ps((const float*)(r + 64 * i + l));
        _MM_TRANSPOSE4_PS(x[0], x[1], x[2], x[3]);
        for (int i = 0; i < 4; i++) _mm_storeu_ps((float*)(lds + a[l + i]), x[i]);
      }
      return;
    }
  for (; ex; ex &= ex - 1) {
    const int l = __builtin_ctzll(ex);
    uint32_t t[N];
    for (int i = 0; i < N; i++) t[i] = r[i * 64 + l];
    memcpy(lds + a[l], t, 4 * N);
  }
}
// false: a lane is out of range
bool move_all(Wave& w, const Inst& in, const uint32_t* addr, uint32_t off, uint32_t* r, bool load) {
  const uint64_t ex = w.exec();
  alignas(64) uint32_t a[64];
  uint32_t low = ~0u, high = 0;
  for (int l = 0; l < 64; l++) a[l] = addr[l] + off; // wraps at 32 bits
  if (ex == ~0ull)
    for (int l = 0; l < 64; l++) {
      low = std::min(low, a[l]);
      high = std::max(high, a[l]);
    }
  else
    for (uint64_t e = ex; e; e &= e - 1) {
      const uint32_t x = a[__builtin_ctzll(e)];
      low = std::min(low, x);
      high = std::max(high, x);
    }
  if (ex && (uint64_t)high + in.a > R.lds_size) return false;
  if (__builtin_expect(w.grp->shadow != nullptr, 0))
    lds_shadow_lanes(w, {a, low, high, ex}, in.a / 4, load ? LdsAccess::read : LdsAccess::write);
  uint8_t* const lds = w.grp->lds;
  switch (in.a / 4) {
  case 1: load ? lds_load<1>(lds, a, r, ex) : lds_store<1>(lds, a, r, ex); break;
  case 2: load ? lds_load<2>(lds, a, r, ex) : lds_store<2>(lds, a, r, ex); break;
  case 3: load ? lds_load<3>(lds, a, r, ex) : lds_store<3>(lds, a, r, ex); break;
  default: load ? lds_load<4>(lds, a, r, ex) : lds_store<4>(lds, a, r, ex);
  }
  return true;
}

// ---- lane by lane ---------------------------------------------------------------------------------------
void store_registers(uint8_t* p, const uint32_t* data, int l, int bytes) {
  for (int i = 0; i < bytes / 4; i++) memcpy(p + 4 * i, &data[i * 64 + l], 4);
}
uint32_t narrow(const Inst& in, uint32_t v, uint32_t old) {
  if (in.b) v = in.a == 1 ? (uint32_t)(int32_t)(int8_t)v : (uint32_t)(int32_t)(int16_t)v;
  if (!in.c) return v;
  return in.d ? (old & 0xffff) | v << 16 : (old & 0xffff0000) | (v & 0xffff);
}
void do_read(Wave& w, const Inst& in) {
  const Fields f = fields(w, in);
  if (in.a >= 4 && move_all(w, in, f.address, f.offset(), f.dst, true)) return adv(w, in);
  FOR_LANES(w) {
    const uint8_t* p = lds_at(w, (uint64_t)f.address[l] + f.offset(), in.a, l, LdsAccess::read);
    if (in.a < 4) {
      f.dst[l] = narrow(in, read_bits(p, in.a * 8), f.dst[l]);
      continue;
    }
    uint32_t t[4];
    memcpy(t, p, in.a);
    for (int i = 0; i < in.a / 4; i++) f.dst[i * 64 + l] = t[i];
  }
  adv(w, in);
}
void do_write(Wave& w, const Inst& in) {
  const Fields f = fields(w, in);
  if (in.a >= 4 && move_all(w, in, f.address, f.offset(), f.data0, false)) return adv(w, in);
  FOR_LANES(w) {
    uint8_t* p = lds_at(w, (uint64_t)f.address[l] + f.offset(), in.a, l, LdsAccess::write);
    const uint32_t v = f.data0[l] >> (in.d ? 16 : 0);
    if (in.a < 4)
      memcpy(p, &v, in.a);
    else
      store_registers(p, f.data0, l, in.a);
  }
  adv(w, in);
}
uint64_t place_of_two(const Fields& f, const Inst& in, int l, uint32_t offset) {
  return (uint64_t)f.address[l] + offset * (in.w == 64 ? 64 * in.a : in.a);
}
void do_read2(Wave& w, const Inst& in) {
  const Fields f = fields(w, in);
  FOR_LANES(w) {
    uint32_t t[4];
    memcpy(t, lds_at(w, place_of_two(f, in, l, f.offset0), in.a, l, LdsAccess::read), in.a);
    memcpy(t + in.a / 4, lds_at(w, place_of_two(f, in, l, f.offset1), in.a, l, LdsAccess::read), in.a);
    for (int i = 0; i < in.a / 2; i++) f.dst[i * 64 + l] = t[i];
  }
  adv(w, in);
}
void do_write2(Wave& w, const Inst& in) {
  const Fields f = fields(w, in);
  FOR_LANES(w) {
    store_registers(lds_at(w, place_of_two(f, in, l, f.offset0), in.a, l, LdsAccess::write), f.data0, l,
                    in.a);
    store_registers(lds_at(w, place_of_two(f, in, l, f.offset1), in.a, l, LdsAccess::write), f.data1, l,
                    in.a);
  }
  adv(w, in);
}
void do_atomic(Wave& w, const Inst& in) {
  const Fields f = fields(w, in);
  const bool wide = in.a == 8, compares = in.op == A_CMPSWAP || in.op == A_FCMPST;
  FOR_LANES(w) {
    uint8_t* p = lds_at(w, (uint64_t)f.address[l] + f.offset(), in.a, l, LdsAccess::atomic);
    uint64_t old = 0, operand = wide ? ldq(f.data0, l) : f.data0[l],
             second = wide ? ldq(f.data1, l) : f.data1[l];
    memcpy(&old, p, in.a);
    if (compares) std::swap(operand, second); // data0 is compared, data1 stored
    const uint64_t result = atomic_result(in.op, in.a, old, operand, second);
    memcpy(p, &result, in.a);
    if (in.n) f.dst[l] = (uint32_t)old;
    if (in.n && wide) f.dst[64 + l] = old >> 32;
  }
  adv(w, in);
}

// ---- selection ------------------------------------------------------------------------------------------
struct AtomicName {
  const char* name;
  MemoryOp op;
};
constexpr AtomicName sized_atomics[] = {
    // followed by 32 or 64
    {"ADD_U", A_ADD},  {"SUB_U", A_SUB},  {"RSUB_U", A_RSUB},   {"INC_U", A_INC},       {"DEC_U", A_DEC},
    {"MIN_I", A_SMIN}, {"MAX_I", A_SMAX}, {"MIN_U", A_UMIN},    {"MAX_U", A_UMAX},      {"AND_B", A_AND},
    {"OR_B", A_OR},    {"XOR_B", A_XOR},  {"MSKOR_B", A_MSKOR}, {"CMPST_B", A_CMPSWAP}, {"CMPST_F", A_FCMPST},
    {"MIN_F", A_FMIN}, {"MAX_F", A_FMAX}, {"ADD_F", A_FADD},    {"WRXCHG_B", A_SWAP},
};
constexpr AtomicName word_atomics[] = {
    {"PK_ADD_F16", A_PKF16}, {"PK_ADD_BF16", A_PKBF16}, {"WRAP_B32", A_WRAP}};

bool has(const std::string& s, const char* part) { return s.find(part) != s.npos; }
bool starts(const std::string& s, const char* with) { return s.compare(0, strlen(with), with) == 0; }
int bytes_named(const std::string& s) {
  if (has(s, "_U8") || has(s, "_I8") || has(s, "_B8")) return 1;
  if (has(s, "_U16") || has(s, "_I16") || has(s, "_B16")) return 2;
  return has(s, "B128") ? 16 : has(s, "B96") ? 12 : has(s, "B64") ? 8 : 4;
}
bool select_move(Inst& in, const std::string& s, bool read) {
  const bool two = starts(s, read ? "READ2" : "WRITE2");
  in.a = bytes_named(s);
  if (read && in.a >= 4 && has(s, "D16")) return false;
  in.b = read && (has(s, "_I8") || has(s, "_I16"));
  in.c = read && has(s, "D16");
  in.d = has(s, "D16_HI");
  in.w = has(s, "ST64") ? 64 : 0;
  in.bytes = two ? 2 * in.a : in.a;
  in.nat = read ? two ? do_read2 : do_read : two ? do_write2 : do_write;
  return true;
}
bool select_atomic(Inst& in, std::string s) {
  const size_t returns = s.find("_RTN");
  in.n = returns != s.npos;
  if (in.n) s.erase(returns, strlen("_RTN"));
  const auto set = [&](MemoryOp op, int bytes) {
    in.op = op;
    in.a = in.bytes = bytes;
    in.nat = do_atomic;
    return true;
  };
  for (const AtomicName& a : word_atomics)
    if (s == a.name) return set(a.op, 4);
  if (s.size() <= 2) return false;
  const std::string bits = s.substr(s.size() - 2), name = s.substr(0, s.size() - 2);
  for (const AtomicName& a : sized_atomics)
    if (name == a.name) return set(a.op, bits == "64" ? 8 : 4);
  return false;
}

} // namespace

bool select_lds(Inst& in) {
  const std::string s = in.name.substr(strlen("DS_"));
  if (s == "NOP") return in.nat = do_nop, true;
  if (s == "PERMUTE_B32") return in.nat = do_permute, true;
  if (s == "BPERMUTE_B32") return in.nat = do_bpermute, true;
  if (s == "SWIZZLE_B32") return in.nat = do_swizzle, true;
  if (has(s, "ADDTID")) return false;
  if (starts(s, "READ") && !has(s, "TR_")) return select_move(in, s, true);
  if (starts(s, "WRITE")) return select_move(in, s, false);
  return select_atomic(in, s);
}

} // namespace amdsim
