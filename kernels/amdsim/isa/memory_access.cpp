// Names of memory instructions, checked places in LDS and scratch, and moves of all lanes at once
#include "memory_access.hpp"

namespace amdsim {
namespace {

struct AtomicName {
  const char* name;
  MemoryOp op;
  int bytes;
}; // bytes 0: 4, or 8 with the suffix _X2
constexpr AtomicName atomics[] = {
    {"SWAP", A_SWAP, 0},
    {"CMPSWAP", A_CMPSWAP, 0},
    {"ADD", A_ADD, 0},
    {"SUB", A_SUB, 0},
    {"SMIN", A_SMIN, 0},
    {"UMIN", A_UMIN, 0},
    {"SMAX", A_SMAX, 0},
    {"UMAX", A_UMAX, 0},
    {"AND", A_AND, 0},
    {"OR", A_OR, 0},
    {"XOR", A_XOR, 0},
    {"INC", A_INC, 0},
    {"DEC", A_DEC, 0},
    {"ADD_F32", A_FADD, 4},
    {"ADD_F64", A_FADD, 8},
    {"MIN_F64", A_FMIN, 8},
    {"MAX_F64", A_FMAX, 8},
    {"PK_ADD_F16", A_PKF16, 4},
    {"PK_ADD_BF16", A_PKBF16, 4},
};
struct WidthName {
  const char* name;
  int dwords, bits;
  bool sign;
};
constexpr WidthName widths[] = {
    {"UBYTE", 1, 8, false},    {"BYTE", 1, 8, false},     {"SBYTE", 1, 8, true},   {"USHORT", 1, 16, false},
    {"SHORT", 1, 16, false},   {"SSHORT", 1, 16, true},   {"DWORD", 1, 32, false}, {"DWORDX2", 2, 32, false},
    {"DWORDX3", 3, 32, false}, {"DWORDX4", 4, 32, false},
};

bool cut_front(std::string& s, const char* prefix) {
  if (s.compare(0, strlen(prefix), prefix)) return false;
  s.erase(0, strlen(prefix));
  return true;
}
bool cut_back(std::string& s, const char* suffix) {
  const size_t n = strlen(suffix);
  if (s.size() < n || s.compare(s.size() - n, n, suffix)) return false;
  s.resize(s.size() - n);
  return true;
}

bool set_atomic(Inst& in, std::string name) {
  in.n = 1;
  in.w = 32;
  in.a = cut_back(name, "_X2") ? 8 : 4;
  for (const AtomicName& a : atomics) {
    if (name != a.name) continue;
    in.op = a.op;
    if (a.bytes) in.a = a.bytes;
    in.bytes = in.a;
    return true;
  }
  return false;
}
bool set_move(Inst& in, std::string name) {
  in.op = cut_front(name, "LOAD_LDS_") ? LOADLDS
          : cut_front(name, "LOAD_")   ? LOAD
          : cut_front(name, "STORE_")  ? STORE
                                       : -1;
  if (in.op < 0) return false;
  in.d = cut_back(name, "_D16_HI");
  in.c = in.d || cut_back(name, "_D16");
  in.a = 4;
  for (const WidthName& width : widths) {
    if (name != width.name) continue;
    in.n = width.dwords;
    in.w = width.bits;
    in.b = width.sign;
    in.bytes = bytes_of(in);
    return true;
  }
  return false;
}

} // namespace

bool set_shape(Inst& in, const std::string& name) {
  std::string s = name;
  return cut_front(s, "ATOMIC_") ? set_atomic(in, s) : set_move(in, s);
}

uint8_t* lds_at(Wave& w, uint64_t a, unsigned n, int lane, LdsAccess access) {
  a = (uint32_t)a; // address and offset are added in 32 bits
  if (a + n <= R.lds_size) {
    if (__builtin_expect(w.grp->shadow != nullptr, 0)) lds_shadow_lane(w, (uint32_t)a, n, lane, access);
    return w.grp->lds + a;
  }
  const bool write = access != LdsAccess::read;
  if (C.lds_mode == 0)
    fault(Status::Fault, "lane %d %s %u bytes at LDS address %#llx; the block has %u bytes of LDS", lane,
          write ? "writes" : "reads", n, (unsigned long long)a, R.lds_size);
  static uint8_t sink[64]; // reads as 0; what is written is lost
  memset(sink, 0, sizeof sink);
  return sink;
}
uint8_t* scratch_at(Wave& w, uint64_t a, unsigned n, int lane, bool write) {
  if (!w.scratch || a + n > R.k->priv)
    fault(Status::Fault,
          "lane %d %s %u bytes at private address %#llx; the kernel has %u bytes of private memory%s", lane,
          write ? "writes" : "reads", n, (unsigned long long)a, R.k->priv,
          R.k->dyn_stack ? " (it uses a dynamic stack, which amdsim does not have)" : "");
  return w.scratch + (uint64_t)lane * R.k->priv + a;
}

bool in_one_allocation(uint64_t begin, uint64_t end) {
  for (auto* a : R.last)
    if (a && begin >= a->base && end <= a->end) return true;
  if (!C.check) return true;
  Alloc* a = mem_find(begin);
  if (!a || end > a->end) return false;
  static unsigned rr;
  R.last[rr++ & 3] = a;
  return true;
}

Bounds bounds_of(const uint64_t* address, uint64_t exec) {
  Bounds b{~0ull, 0};
  const auto add = [&](uint64_t a) {
    b.low = std::min(b.low, a);
    b.high = std::max(b.high, a);
  };
  if (exec == ~0ull)
    for (int l = 0; l < 64; l++) add(address[l]);
  else
    for (; exec; exec &= exec - 1) add(address[__builtin_ctzll(exec)]);
  return b;
}

namespace {

template <int N> void move_dwords(bool load, const uint64_t* ad, uint32_t* r, uint64_t ex) {
  if (ex == ~0ull) {
    if (load)
      for (int l = 0; l < 64; l++) {
        uint32_t t[N];
        memcpy(t, (const void*)ad[l], 4 * N);
        for (int i = 0; i < N; i++) r[i * 64 + l] = t[i];
      }
    else
      for (int l = 0; l < 64; l++) {
        uint32_t t[N];
        for (int i = 0; i < N; i++) t[i] = r[i * 64 + l];
        memcpy((void*)ad[l], t, 4 * N);
      }
    return;
  }
  for (; ex; ex &= ex - 1) {
    const int l = __builtin_ctzll(ex);
    uint32_t t[N];
    if (load) {
      memcpy(t, (const void*)ad[l], 4 * N);
      for (int i = 0; i < N; i++) r[i * 64 + l] = t[i];
    } else {
      for (int i = 0; i < N; i++) t[i] = r[i * 64 + l];
      memcpy((void*)ad[l], t, 4 * N);
    }
  }
}
} // namespace

void move_lanes(const Inst& in, const uint64_t* ad, uint32_t* r, uint64_t ex) {
  const bool load = in.op == LOAD;
  if (in.w < 32) {
    for (; ex; ex &= ex - 1) {
      const int l = __builtin_ctzll(ex);
      if (load)
        r[l] = loaded(in, read_bits((const uint8_t*)ad[l], in.w), r[l]);
      else {
        const uint32_t v = r[l] >> (in.d ? 16 : 0);
        if (in.w == 8)
          *(uint8_t*)ad[l] = (uint8_t)v;
        else
          memcpy((void*)ad[l], &v, 2);
      }
    }
    return;
  }
  switch (in.n) {
  case 1: move_dwords<1>(load, ad, r, ex); break;
  case 2: move_dwords<2>(load, ad, r, ex); break;
  case 3: move_dwords<3>(load, ad, r, ex); break;
  default: move_dwords<4>(load, ad, r, ex);
  }
}

} // namespace amdsim
