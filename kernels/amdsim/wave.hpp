// A wave's registers and a block's LDS. Registers are arrays of 64 lanes; scalar registers, the inline
// constants and the interpreter's own words share one array, so that an operand number is an index.
#pragma once
#include <cstdint>
#include <cstring>
#include <vector>

namespace amdsim {

constexpr int SG_VCC = 106, SG_M0 = 124, SG_EXEC = 126, SG_SCC = 253, SG_PC = 256, SG_SCRATCH_STRIDE = 259,
              SG_COUNT = 260;

struct Wave {
  uint32_t *sgpr, *vgpr, *acc;
  uint8_t* scratch;
  int id = 0, nlanes = 0;
  bool done = false, barrier = false;
  bool idx = false, special = false; // s_set_gpr_idx_on; that, or denormals flushed
  bool vskip = false;                // s_setvskip
  uint64_t ninst = 0;
  uint32_t mode = 0; // the MODE register
  struct Group* grp = nullptr;

  uint64_t exec() const { return s64(SG_EXEC); }
  uint64_t pc() const { return s64(SG_PC); }
  void set_pc(uint64_t p) { memcpy(sgpr + SG_PC, &p, 8); }
  uint32_t* V(unsigned r) { return vgpr + (r & 255) * 64; }
  uint32_t* A(unsigned r) { return acc + (r & 255) * 64; }
  uint64_t s64(unsigned r) const {
    uint64_t v;
    memcpy(&v, sgpr + r, 8);
    return v;
  }
  uint64_t all_lanes() const { return nlanes == 64 ? ~0ull : (1ull << nlanes) - 1; }
};

struct Group {
  uint32_t gid[3] = {0, 0, 0};
  uint8_t* lds = nullptr;
  std::vector<Wave*> waves;
  bool active = false;
  struct LdsShadow *shadow = nullptr, *shadow_memory = nullptr; // of the LDS checker; shadow: while it is on
};

// The LDS checker (isa/lds_shadow.cpp) is told when a block
// starts, and when all its waves have arrived at a barrier.
void lds_shadow_begin(Group& g);
void lds_shadow_barrier(Group& g);

} // namespace amdsim
