// The LDS checker (AMDSIM_LDS_CHECK=1): who touched which byte of a block's LDS since
// the block's last barrier, and which bytes were ever written.  Off, a Group's shadow is
// null, and the handlers look no further. The executor calls lds_shadow_begin(Group&)
// when a block starts (nothing is written yet), and lds_shadow_barrier(Group&) when
// every wave has arrived (what came before is ordered before what comes after).
#pragma once
#include "amdsim.h"

namespace amdsim {

enum class LdsAccess { read, write, atomic };

// One lane's access; a fault names the byte that nobody wrote, or the other wave.
void lds_shadow_lane(Wave& w, uint32_t address, unsigned bytes, int lane, LdsAccess access);

// The lanes of `exec` read or write so many dwords each, from `address[lane]`
// on; `low` and `high` are the smallest and largest of these addresses.
struct LdsAddresses {
  const uint32_t* address;
  uint64_t low, high, exec;
};
void lds_shadow_lanes(Wave& w, const LdsAddresses& at, unsigned dwords, LdsAccess access);

} // namespace amdsim
