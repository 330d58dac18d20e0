// Buffer instructions: what the resource in four SGPRs lets through
#include "handlers.hpp"
#include "memory_access.hpp"

namespace amdsim {
namespace {

struct Resource {
  uint64_t base, records;
  uint32_t stride;
  explicit Resource(const uint32_t* s)
      : base((s[0] | (uint64_t)s[1] << 32) & 0xffffffffffffull), records(s[2]), stride(s[1] >> 16 & 0x3fff) {
    if (s[1] >> 31) fault(Status::Unimplemented, "swizzled buffer resources are not implemented");
  }
};
struct Fields {
  Resource resource;
  uint32_t *data, *address;
  uint32_t immediate, scalar_offset;
  bool offset_enabled, index_enabled, returns;
};
Fields fields(Wave& w, const Inst& in) {
  const unsigned vdata = bits(in, 47, 40);
  return {Resource(w.sgpr + bits(in, 52, 48) * 4),
          bits(in, 55, 55) ? w.A(vdata) : w.V(vdata),
          w.V(bits(in, 39, 32)),
          bits(in, 11, 0),
          scalar(w, bits(in, 63, 56)),
          (bool)bits(in, 12, 12),
          (bool)bits(in, 13, 13),
          (bool)bits(in, 14, 14)};
}

// All lanes at once, if all are in range
bool move_in_range(Wave& w, const Inst& in, const Fields& f) {
  const uint64_t exec = w.exec(), start = f.resource.base + f.scalar_offset;
  const unsigned bytes = bytes_of(in);
  uint64_t address[64];
  for (int l = 0; l < 64; l++) address[l] = (f.offset_enabled ? (uint64_t)f.address[l] : 0) + f.immediate;
  const Bounds b = bounds_of(address, exec);
  const bool in_range =
      f.scalar_offset <= f.resource.records && b.high + bytes <= f.resource.records - f.scalar_offset;
  if (exec && !(in_range && in_one_allocation(start + b.low, start + b.high + bytes))) return false;
  for (int l = 0; l < 64; l++) address[l] += start;
  move_lanes(in, address, f.data, exec);
  return true;
}

// One lane's offset and index. Offsets are unsigned; the sum saturates,
// so that an offset near 2^32 is out of range and does not wrap.
struct Element {
  const Fields& f;
  int lane;
  uint64_t offset;
  uint32_t index;
  Element(const Fields& fields, int l) : f(fields), lane(l) {
    index = f.index_enabled ? f.address[l] : 0;
    offset = (uint64_t)(f.offset_enabled ? f.address[f.index_enabled * 64 + l] : 0) + f.immediate;
  }
  // Raw: each dword's byte offset against num_records less the
  // scalar offset. With an index: that against num_records.
  bool out_of_range(uint64_t end) const {
    const Resource& r = f.resource;
    if (f.index_enabled) return index >= r.records || (r.stride && end > r.stride);
    return f.scalar_offset > r.records || end > r.records - f.scalar_offset;
  }
  uint8_t* operator()(unsigned more, unsigned bytes, bool write) const {
    const Resource& r = f.resource;
    if (!out_of_range(offset + more + bytes))
      return check_global(r.base + f.scalar_offset + offset + more + (uint64_t)r.stride * index, bytes, write,
                          lane);
    if (C.oob_buffer)
      fault(Status::Fault,
            "lane %d: buffer access of %u bytes at offset %llu (soffset %u, index %u) is outside num_records "
            "%llu",
            lane, bytes, (unsigned long long)(offset + more), f.scalar_offset, index,
            (unsigned long long)r.records);
    static uint32_t nowhere[4]; // reads as 0; what is written is lost
    memset(nowhere, 0, sizeof nowhere);
    return (uint8_t*)nowhere;
  }
};

void do_buffer(Wave& w, const Inst& in) {
  const Fields f = fields(w, in);
  if (in.op <= STORE && !f.index_enabled && move_in_range(w, in, f)) return adv(w, in);
  FOR_LANES(w) {
    const Element e(f, l);
    if (in.op == LOADLDS)
      load_to_lds(w, in, l, f.immediate, e);
    else
      access_lane(in, l, f.data, f.data, f.returns, e);
  }
  adv(w, in);
}

} // namespace

bool select_buffer(Inst& in) {
  if (in.name == "BUFFER_WBL2" || in.name == "BUFFER_INV") {
    in.nat = do_nop;
    return true;
  }
  if (!set_shape(in, in.name.substr(strlen("BUFFER_")))) return false;
  const bool to_lds = bits(in, 16, 16);
  if (to_lds && in.op != LOAD) return false;
  if (to_lds) in.op = LOADLDS;
  in.nat = do_buffer;
  return true;
}

} // namespace amdsim
