// The shadow holds two words for each dword of LDS.  Sub-dword and unaligned accesses
// break them up into words for each byte until the next barrier.  A barrier forgets
// all accesses, so that two waves that both appear in a word have no barrier between
// them: no epochs are kept.  Whichever of the two runs first, the second is caught.
#include "lds_shadow.hpp"

#include <sys/mman.h>

namespace amdsim {
namespace {

// The word of accesses since the barrier: a bit for each wave that read, and for each that wrote.
constexpr uint32_t READERS = 0xffff;
constexpr int WRITER_SHIFT = 16;
constexpr uint32_t BROKEN_UP = ~0u; // the bytes have words of their own; looks like a conflict to every wave
// The word of state: which bytes were ever written, and where the last write was.
constexpr uint32_t INIT_BYTE = 1, INIT_DWORD = 15;
constexpr uint32_t ATOMIC = 16; // all writes since the barrier were atomics
constexpr int PC_SHIFT = 8;     // offset in the kernel
constexpr size_t LDS_MAX_BYTES = 160 << 10;

} // namespace

struct LdsShadow {
  uint32_t access[LDS_MAX_BYTES / 4], state[LDS_MAX_BYTES / 4];
  uint32_t byte_access[LDS_MAX_BYTES], byte_state[LDS_MAX_BYTES];
  uint32_t low, high; // dwords touched since the barrier
};

namespace {

uint32_t reader(const Wave& w) { return 1u << w.id; }
uint32_t writer(const Wave& w) { return 1u << WRITER_SHIFT << w.id; }
uint32_t here(const Wave& w) { return (uint32_t)(w.pc() - R.k->entry) << PC_SHIFT; }

// ---- one access against one word ------------------------------------------------------------------------
struct Access {
  Wave& w;
  int lane;
  uint32_t address;
  LdsAccess kind;
};

const char* verb(LdsAccess a) {
  return a == LdsAccess::read ? "reads" : a == LdsAccess::write ? "writes" : "updates";
}
[[noreturn]] void report_conflict(const Access& a, int other, const std::string& did) {
  fault(Status::Fault, "lane %d of wave %d %s LDS byte 0x%x that wave %d %s: no barrier between them", a.lane,
        a.w.id, verb(a.kind), a.address, other, did.c_str());
}
[[noreturn]] void report_writer(const Access& a, uint32_t writers, uint32_t state) {
  char did[40] = "updated";
  if (!(state & ATOMIC)) snprintf(did, sizeof did, "wrote (pc +%#x)", state >> PC_SHIFT);
  report_conflict(a, __builtin_ctz(writers), did);
}
[[noreturn]] void report_uninitialised(const Access& a, uint32_t missing) {
  fault(Status::Fault, "lane %d reads LDS byte 0x%x, which no wave of the block has written", a.lane,
        a.address + __builtin_ctz(missing));
}

// `init`: the bytes that the access covers, INIT_BYTE or INIT_DWORD
void touch(const Access& a, uint32_t& access, uint32_t& state, uint32_t init) {
  const uint32_t writers = access >> WRITER_SHIFT, other_writers = writers & ~reader(a.w);
  const bool both_atomic = a.kind == LdsAccess::atomic && (state & ATOMIC);
  if (other_writers && !both_atomic) report_writer(a, other_writers, state);
  if (a.kind == LdsAccess::read) {
    if (const uint32_t missing = init & ~state) report_uninitialised(a, missing);
    access |= reader(a.w);
    return;
  }
  const uint32_t other_readers = access & READERS & ~reader(a.w);
  if (other_readers) report_conflict(a, __builtin_ctz(other_readers), "has read");
  access |= writer(a.w);
  const bool stays_atomic = a.kind == LdsAccess::atomic && (!writers || (state & ATOMIC));
  state = (state & INIT_DWORD) | init | (stays_atomic ? ATOMIC : 0) | here(a.w);
}

void break_up(LdsShadow& s, uint32_t d) {
  if (s.access[d] == BROKEN_UP) return;
  for (int i = 0; i < 4; i++) {
    s.byte_access[4 * d + i] = s.access[d];
    s.byte_state[4 * d + i] = (s.state[d] & ~INIT_DWORD) | (s.state[d] >> i & INIT_BYTE);
  }
  s.access[d] = BROKEN_UP;
  s.state[d] = 0;
}
uint32_t joined_init(const LdsShadow& s, uint32_t d) {
  uint32_t init = 0;
  for (int i = 0; i < 4; i++) init |= (s.byte_state[4 * d + i] & INIT_BYTE) << i;
  return init;
}
void note_touched(LdsShadow& s, uint32_t first_byte, uint32_t end_byte) {
  s.low = std::min(s.low, first_byte / 4);
  s.high = std::max(s.high, (end_byte + 3) / 4);
}

// ---- many whole dwords: the conflicts of all are gathered, and looked at once ---------------------------
template <int N> struct Words {
  typedef uint32_t type __attribute__((vector_size(4 * N), aligned(4)));
};

template <int N> struct Gathered {
  typedef typename Words<N>::type V;
  V any_access{}, all_state = V{} - 1;
  void take(const uint32_t* access) { any_access |= *(const V*)access; }
  void take(const uint32_t* access, const uint32_t* state) {
    take(access);
    all_state &= *(const V*)state;
  }
  bool conflict(uint32_t mask) const {
    uint32_t any = 0, all = ~0u;
    for (int i = 0; i < N; i++) any |= any_access[i], all &= all_state[i];
    return (any & mask) || (all & INIT_DWORD) != INIT_DWORD;
  }
};
template <int N> inline void add(uint32_t* p, uint32_t bits) { *(typename Words<N>::type*)p |= bits; }
template <int N> inline void set(uint32_t* p, uint32_t v) {
  *(typename Words<N>::type*)p = typename Words<N>::type{} + v;
}

// `each(f)` calls f(d) for the index of every run of N dwords.  False: something conflicts, and has
// to be looked at lane by lane; that readers are marked already does not disturb a second look.
template <int N, class Each> inline bool read_all(LdsShadow& s, const Wave& w, Each each) {
  Gathered<N> g;
  const uint32_t mark = reader(w);
  each([&](uint32_t d) {
    g.take(s.access + d, s.state + d);
    add<N>(s.access + d, mark);
  });
  return !g.conflict(~READERS & ~writer(w));
}
template <int N, class Each> inline bool write_all(LdsShadow& s, const Wave& w, Each each) {
  Gathered<N> g;
  each([&](uint32_t d) { g.take(s.access + d); });
  if (g.conflict(~(reader(w) | writer(w)))) return false;
  const uint32_t mark = writer(w), state = INIT_DWORD | here(w);
  each([&](uint32_t d) {
    add<N>(s.access + d, mark);
    set<N>(s.state + d, state);
  });
  return true;
}
template <int N, class Each> inline bool pass(LdsShadow& s, const Wave& w, LdsAccess access, Each each) {
  return access == LdsAccess::read ? read_all<N>(s, w, each) : write_all<N>(s, w, each);
}

// Most kernels have lane l at l times the access size: one run of words
bool one_run(const LdsAddresses& at, unsigned bytes) {
  if (at.exec != ~0ull || at.high - at.low != 63 * bytes) return false;
  const uint32_t low = (uint32_t)at.low;
  uint32_t differ = 0;
  for (int l = 0; l < 64; l++) differ |= at.address[l] ^ (low + l * bytes);
  return !differ;
}
bool pass_run(LdsShadow& s, const Wave& w, const LdsAddresses& at, unsigned dwords, LdsAccess access) {
  const uint32_t first = (uint32_t)at.low / 4, end = first + 64 * dwords;
  return pass<8>(s, w, access, [=](auto f) {
    for (uint32_t d = first; d < end; d += 8) f(d);
  });
}
template <int N> bool pass_lanes(LdsShadow& s, const Wave& w, const LdsAddresses& at, LdsAccess access) {
  const uint32_t* const address = at.address;
  if (at.exec == ~0ull)
    return pass<N>(s, w, access, [=](auto f) {
      for (int l = 0; l < 64; l++) f(address[l] / 4);
    });
  return pass<N>(s, w, access, [=, exec = at.exec](auto f) {
    for (uint64_t e = exec; e; e &= e - 1) f(address[__builtin_ctzll(e)] / 4);
  });
}
bool aligned(const LdsAddresses& at) {
  uint32_t low_bits = 0;
  if (at.exec == ~0ull)
    for (int l = 0; l < 64; l++) low_bits |= at.address[l];
  else
    for (uint64_t e = at.exec; e; e &= e - 1) low_bits |= at.address[__builtin_ctzll(e)];
  return !(low_bits & 3);
}
bool pass_all(LdsShadow& s, const Wave& w, const LdsAddresses& at, unsigned dwords, LdsAccess access) {
  if (one_run(at, 4 * dwords) && at.low % 4 == 0) return pass_run(s, w, at, dwords, access);
  if (!aligned(at)) return false;
  switch (dwords) {
  case 1: return pass_lanes<1>(s, w, at, access);
  case 2: return pass_lanes<2>(s, w, at, access);
  case 4: return pass_lanes<4>(s, w, at, access);
  }
  return false;
}

} // namespace

void lds_shadow_lanes(Wave& w, const LdsAddresses& at, unsigned dwords, LdsAccess access) {
  LdsShadow& s = *w.grp->shadow;
  if (!at.exec) return;
  note_touched(s, at.low, at.high + 4 * dwords);
  if (pass_all(s, w, at, dwords, access)) return;
  for (uint64_t e = at.exec; e; e &= e - 1) {
    const int lane = __builtin_ctzll(e);
    lds_shadow_lane(w, at.address[lane], 4 * dwords, lane, access);
  }
}

void lds_shadow_lane(Wave& w, uint32_t address, unsigned bytes, int lane, LdsAccess access) {
  LdsShadow& s = *w.grp->shadow;
  const uint32_t end = address + bytes;
  note_touched(s, address, end);
  while (address < end) {
    const uint32_t d = address / 4;
    const bool whole = address % 4 == 0 && end - address >= 4 && s.access[d] != BROKEN_UP;
    const Access a{w, lane, address, access};
    if (whole)
      touch(a, s.access[d], s.state[d], INIT_DWORD);
    else
      break_up(s, d), touch(a, s.byte_access[address], s.byte_state[address], INIT_BYTE);
    address += whole ? 4 : 1;
  }
}

void lds_shadow_barrier(Group& g) {
  if (!g.shadow) return;
  LdsShadow& s = *g.shadow;
  for (uint32_t d = s.low; d < s.high; d++)
    if (s.access[d] == BROKEN_UP) s.state[d] = joined_init(s, d);
  if (s.low < s.high) std::fill(s.access + s.low, s.access + s.high, 0u);
  s.low = ~0u;
  s.high = 0;
}

void lds_shadow_begin(Group& g) {
  if (!C.lds_check) {
    g.shadow = nullptr;
    return;
  }
  if (!g.shadow_memory) { // pages appear when they are touched
    void* m = mmap(nullptr, sizeof(LdsShadow), PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (m == MAP_FAILED) fault(Status::Fault, "out of memory for the shadow of LDS");
    g.shadow_memory = (LdsShadow*)m;
  }
  g.shadow = g.shadow_memory;
  const uint32_t dwords = (R.lds_size + 3) / 4;
  std::fill_n(g.shadow->access, dwords, 0u);
  std::fill_n(g.shadow->state, dwords, 0u);
  g.shadow->low = ~0u;
  g.shadow->high = 0;
}

} // namespace amdsim
