// Inactive sources give 0; the address is in bytes, of which the two lowest bits do not count.
#include "lds_permutes.hpp"

namespace amdsim {
namespace {

struct Fields {
  uint32_t *address, *data, *dst, offset;
};
Fields fields(Wave& w, const Inst& in) {
  if (bits(in, 16, 16)) fault(Status::Unimplemented, "GDS is not implemented");
  const bool acc = bits(in, 25, 25);
  const auto registers = [&](unsigned r) { return acc ? w.A(r) : w.V(r); };
  return {w.V(bits(in, 39, 32)), registers(bits(in, 47, 40)), registers(bits(in, 63, 56)), bits(in, 15, 0)};
}
void write_active(Wave& w, uint32_t* dst, const uint32_t* t) {
  if (w.exec() == ~0ull)
    memcpy(dst, t, 256);
  else
    FOR_LANES(w) dst[l] = t[l];
}
// The swizzle's source: four lanes by two bits each, or masks within 32 lanes
int swizzled(int l, uint32_t pattern) {
  if (pattern & 0x8000) return (l & ~3) | (pattern >> (2 * (l & 3)) & 3);
  const int and_mask = pattern & 31, or_mask = pattern >> 5 & 31, xor_mask = pattern >> 10 & 31;
  return (l & 32) | ((((l & 31) & and_mask) | or_mask) ^ xor_mask);
}

} // namespace

void do_permute(Wave& w, const Inst& in) {
  const Fields f = fields(w, in);
  uint32_t t[64] = {0};
  FOR_LANES(w) t[(f.address[l] + f.offset) >> 2 & 63] = f.data[l];
  write_active(w, f.dst, t);
  adv(w, in);
}
void do_bpermute(Wave& w, const Inst& in) {
  const Fields f = fields(w, in);
  alignas(64) uint32_t t[64], masked[64];
  const uint32_t* source = f.data;
  const uint64_t exec = w.exec();
  if (exec != ~0ull) {
    for (int l = 0; l < 64; l++) masked[l] = exec >> l & 1 ? f.data[l] : 0;
    source = masked;
  }
  for (int l = 0; l < 64; l++) t[l] = source[(f.address[l] + f.offset) >> 2 & 63];
  write_active(w, f.dst, t);
  adv(w, in);
}
void do_swizzle(Wave& w, const Inst& in) {
  const Fields f = fields(w, in);
  const uint64_t exec = w.exec();
  uint32_t t[64];
  for (int l = 0; l < 64; l++) {
    const int from = swizzled(l, f.offset);
    t[l] = exec >> from & 1 ? f.address[from] : 0; // the source is in the address field
  }
  write_active(w, f.dst, t);
  adv(w, in);
}

} // namespace amdsim
