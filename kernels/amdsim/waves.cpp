// Register files are pooled: mapping one costs more than a
// short kernel. Only what the kernel can name is cleared.
#include "waves.hpp"

#include "settings.hpp"

#include <algorithm>
#include <array>
#include <sys/mman.h>

namespace amdsim {
namespace {

constexpr size_t register_file_bytes = 256 * 64 * 4;
constexpr size_t sgpr_bytes = 65536;
constexpr size_t lds_bytes = 160 << 10; // gfx950's; a launch is held to its own size
constexpr size_t lds_reach_bytes =
    1ull << 33; // any 32-bit address with any offset stays in the block's own mapping
constexpr unsigned named_registers_slack = 8; // allocation is in units of 8

std::vector<Wave*> idle_waves;
std::vector<Group*> idle_groups;
size_t scratch_bytes;

void* map_zeroed(size_t bytes, int protection) {
  void* p = mmap(nullptr, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return p == MAP_FAILED ? nullptr : p;
}

// pad | vgpr | pad | acc | pad | sgpr. The pads swallow reads above a register file, for register pairs and
// quads of which an instruction then does not use the upper ones.
Wave* new_wave() {
  char* m = (char*)map_zeroed(register_file_bytes * 6 + sgpr_bytes, PROT_READ | PROT_WRITE);
  if (!m) fault(Status::Fault, "out of memory for a wave");
  auto* w = new Wave;
  w->vgpr = (uint32_t*)(m + register_file_bytes);
  w->acc = (uint32_t*)(m + register_file_bytes * 3);
  w->sgpr = (uint32_t*)(m + register_file_bytes * 5);
  w->scratch = nullptr;
  return w;
}

Group* new_group() {
  auto* lds = (uint8_t*)map_zeroed(lds_reach_bytes, PROT_NONE);
  if (!lds) fault(Status::Fault, "out of address space for LDS");
  mprotect(lds, lds_bytes, PROT_READ | PROT_WRITE);
  auto* g = new Group;
  g->lds = lds;
  return g;
}

template <class T> T* take(std::vector<T*>& idle, T* make()) {
  if (idle.empty()) return make();
  T* item = idle.back();
  idle.pop_back();
  return item;
}

// Operands 128 to 255 are constants: integers 0 to 64 and -1 to -16, and nine floats from operand 240 on.
constexpr auto inline_constants = [] {
  std::array<uint32_t, 125> c = {}; // up to SG_SCC
  for (int i = 0; i <= 64; i++) c[i] = i;
  for (int i = 1; i <= 16; i++) c[64 + i] = -i;
  const uint32_t floats[] = {0x3f000000, 0xbf000000, 0x3f800000, 0xbf800000,
                             0x40000000,                                      // 0.5, -0.5, 1, -1, 2
                             0xc0000000, 0x40800000, 0xc0800000, 0x3e22f983}; // -2, 4, -4, 1 / (2 pi)
  for (int i = 0; i < 9; i++) c[112 + i] = floats[i];
  return c;
}();

// Bits of the kernel descriptor's properties: which user SGPRs the kernel wants, in this order.
enum UserSgpr {
  private_segment_buffer = 1,
  dispatch_ptr = 2,
  queue_ptr = 4,
  kernarg_ptr = 8,
  dispatch_id = 16,
  flat_scratch = 32,
  private_segment_size = 64
};

// Returns whether arguments were preloaded.
bool set_user_sgprs(Wave& w, const Kernel& k, const LaunchBuffers& buffers) {
  unsigned s = 0;
  const auto put64 = [&](uint64_t v) { memcpy(w.sgpr + s, &v, 8), s += 2; };
  if (k.props & private_segment_buffer) s += 4; // nothing in it: flat scratch is architected
  if (k.props & dispatch_ptr) put64(buffers.packet);
  if (k.props & queue_ptr) put64(0);
  if (k.props & kernarg_ptr) put64(buffers.kernarg);
  if (k.props & dispatch_id) put64(1);
  if (k.props & flat_scratch) put64(0);
  if (k.props & private_segment_size) w.sgpr[s++] = k.priv;
  const unsigned preloaded = k.preload & 127, first = k.preload >> 7;
  for (unsigned i = 0; i < preloaded && s < 16; i++)
    memcpy(w.sgpr + s++, (char*)buffers.kernarg + 4 * (first + i), 4);
  s = std::max(s, k.rsrc2 >> 1 & 31);
  for (int i = 0; i < 3; i++)
    if (k.rsrc2 >> (7 + i) & 1) w.sgpr[s++] = w.grp->gid[i];
  return preloaded;
}

void set_sgprs(Wave& w) {
  fill(w.sgpr, 128 * 4);
  memcpy(w.sgpr + 128, inline_constants.data(), sizeof inline_constants);
  memset(w.sgpr + SG_SCC, 0, (SG_COUNT - SG_SCC) * 4);
  const uint64_t lanes = w.all_lanes();
  memcpy(w.sgpr + SG_EXEC, &lanes, 8);
  memset(w.sgpr + SG_VCC, 0, 8);
  w.sgpr[SG_M0] = 0;
}

void set_vgprs(Wave& w, const Kernel& k) {
  const unsigned v = std::min(256u, std::max(k.vgprs, 8u) + named_registers_slack);
  const unsigned a = std::min(256u, k.agprs + named_registers_slack);
  fill(w.vgpr, v * 256);
  fill(w.acc, a * 256);
  const uint32_t bx = R.d.block[0], by = R.d.block[1];
  for (int l = 0; l < 64; l++) { // v0 packs the thread's position in its block, 10 bits each
    const unsigned t = w.id * 64 + l;
    w.vgpr[l] = l < w.nlanes ? (t / (bx * by)) << 20 | (t / bx % by) << 10 | t % bx : 0;
  }
}

void set_scratch(Wave& w, const Kernel& k) {
  if (!k.priv && !k.dyn_stack) return;
  if (!w.scratch) w.scratch = (uint8_t*)map_zeroed(scratch_bytes, PROT_READ | PROT_WRITE);
  if (!w.scratch) fault(Status::Fault, "out of memory for scratch");
  if (C.poison) fill(w.scratch, (size_t)k.priv * 64);
}

} // namespace

Wave* take_wave() { return take(idle_waves, new_wave); }
Group* take_group() { return take(idle_groups, new_group); }
void give_back(Group* group) {
  idle_waves.insert(idle_waves.end(), group->waves.begin(), group->waves.end());
  group->waves.clear();
  idle_groups.push_back(group);
}

// One mapping a wave. When a kernel needs more, all are made again when next used.
void reserve_scratch(const Kernel& k) {
  const size_t needed = (size_t)k.priv * 64 + 65536;
  if (needed <= scratch_bytes) return;
  for (Wave* w : idle_waves) {
    if (w->scratch) munmap(w->scratch, scratch_bytes);
    w->scratch = nullptr;
  }
  scratch_bytes = std::max<size_t>(needed * 2, 1 << 20);
}

void fill(void* p, size_t bytes) {
  if (!C.poison)
    memset(p, 0, bytes);
  else
    std::fill_n((uint32_t*)p, bytes / 4, C.poison_value);
}

void init_wave(Wave& w, Group& g, int id, const LaunchBuffers& buffers) {
  const Kernel& k = *R.k;
  const int threads = R.d.block[0] * R.d.block[1] * R.d.block[2];
  w.grp = &g;
  w.id = id;
  w.nlanes = std::min(64, threads - id * 64);
  w.done = w.barrier = w.idx = w.vskip = false;
  w.ninst = 0;
  w.mode = (k.rsrc1 >> 12) & 0xff; // FLOAT_MODE
  set_sgprs(w);
  set_vgprs(w, k);
  const bool preloaded = set_user_sgprs(w, k, buffers);
  w.sgpr[SG_SCRATCH_STRIDE] = k.priv;
  // where preloading exists the hardware starts 256 bytes
  // in; without it the first 256 bytes load the arguments
  w.set_pc(k.entry + (preloaded ? 256 : 0));
  set_scratch(w, k);
}

} // namespace amdsim
