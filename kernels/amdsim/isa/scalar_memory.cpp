// Scalar loads, stores and atomics
#include "handlers.hpp"
#include "memory_access.hpp"

#include <ctime>

namespace amdsim {
namespace {

int64_t offset_of(const Wave& w, const Inst& in) {
  const bool immediate = bits(in, 17, 17), register_enabled = bits(in, 14, 14);
  int64_t offset = immediate ? sbits(in, 52, 32) : register_enabled ? 0 : (int64_t)w.sgpr[bits(in, 38, 32)];
  if (register_enabled) offset += w.sgpr[bits(in, 63, 57)];
  return offset;
}
unsigned data_register(const Inst& in) { return bits(in, 12, 6); }
unsigned base_register(const Inst& in) { return bits(in, 5, 0) * 2; }
uint64_t address_of(const Wave& w, const Inst& in) {
  return ((w.s64(base_register(in)) & ~3ull) + offset_of(w, in)) & ~3ull;
}

void do_load(Wave& w, const Inst& in) {
  uint32_t t[16];
  memcpy(t, check_global(address_of(w, in), 4 * in.n, false, -1), 4 * in.n);
  memcpy(w.sgpr + data_register(in), t, 4 * in.n);
  adv(w, in);
}
void do_buffer_load(Wave& w, const Inst& in) { // 0 beyond the resource's records
  const uint32_t* resource = w.sgpr + base_register(in);
  const uint64_t base = (resource[0] | (uint64_t)resource[1] << 32) & 0xffffffffffffull;
  const uint32_t stride = resource[1] >> 16 & 0x3fff;
  const uint64_t limit = stride ? (uint64_t)resource[2] * stride : resource[2];
  const int64_t offset = offset_of(w, in) & ~3ll;
  uint32_t t[16] = {0};
  for (int i = 0; i < in.n; i++)
    if (offset >= 0 && (uint64_t)offset + 4 * i + 4 <= limit)
      memcpy(&t[i], check_global(base + offset + 4 * i, 4, false, -1), 4);
  memcpy(w.sgpr + data_register(in), t, 4 * in.n);
  adv(w, in);
}
void do_store(Wave& w, const Inst& in) {
  memcpy(check_global(address_of(w, in), 4 * in.n, true, -1), w.sgpr + data_register(in), 4 * in.n);
  adv(w, in);
}
void do_atomic(Wave& w, const Inst& in) {
  uint8_t* p = check_global(address_of(w, in), in.a, true, -1);
  uint32_t* data = w.sgpr + data_register(in);
  uint64_t old = 0, operand = 0, second = 0;
  memcpy(&old, p, in.a);
  memcpy(&operand, data, in.a);
  memcpy(&second, data + in.a / 4, in.a);
  const uint64_t result = atomic_result(in.op, in.a, old, operand, second);
  memcpy(p, &result, in.a);
  if (bits(in, 16, 16)) memcpy(data, &old, in.a);
  adv(w, in);
}
template <int NANOSECONDS> void do_time(Wave& w, const Inst& in) {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  set64(w, data_register(in), ((uint64_t)t.tv_sec * 1000000000ull + t.tv_nsec) / NANOSECONDS);
  adv(w, in);
}

bool starts(const Inst& in, const char* with) { return in.name.compare(0, strlen(with), with) == 0; }

} // namespace

bool select_scalar_memory(Inst& in) {
  if (starts(in, "S_DCACHE")) return in.nat = do_nop, true;
  if (in.name == "S_MEMTIME") return in.nat = do_time<1>, true;
  if (in.name == "S_MEMREALTIME") return in.nat = do_time<10>, true; // counts at 100 MHz
  if (starts(in, "S_LOAD_DWORD") || starts(in, "S_BUFFER_LOAD_DWORD")) {
    const size_t x = in.name.rfind('X');
    in.n = x == in.name.npos ? 1 : atoi(in.name.c_str() + x + 1);
    in.bytes = 4 * in.n;
    in.nat = starts(in, "S_BUFFER") ? do_buffer_load : do_load;
    return true;
  }
  if (!starts(in, "S_STORE_DWORD") && !starts(in, "S_ATOMIC_")) return false;
  if (!set_shape(in, in.name.substr(2))) return false;
  in.nat = in.op == STORE ? do_store : do_atomic;
  return true;
}

} // namespace amdsim
