// Runs a kernel: blocks and their waves in the order that AMDSIM_SCHED says, one instruction after the other.
#pragma once
#include "code_object.hpp"
#include "faults.hpp"
#include "instruction.hpp"
#include "memory.hpp"
#include "wave.hpp"

#include <csetjmp>
#include <pthread.h>

namespace amdsim {

struct LaunchDims {
  uint32_t grid[3], block[3]; // grid in blocks
};

// The running launch. There is one at a time: the runtime holds its lock.
struct RunState {
  Kernel* k = nullptr;
  LaunchDims d{};
  uint32_t lds_size = 0;
  Wave* w = nullptr;
  const Inst* in = nullptr;
  sigjmp_buf jb;
  volatile bool active = false;
  pthread_t tid{};
  Status status = Status::Ok;
  std::string msg;
  bool fnuz = true;
  Alloc* last[4] = {nullptr, nullptr, nullptr, nullptr}; // allocations found last, asked first
};
extern RunState R;

Status run_kernel(Kernel* k, const LaunchDims& d, uint32_t dyn_lds, const std::vector<uint8_t>& kernarg,
                  std::string& msg);
void apply_mode(Wave& w); // the host's denormal bits, from the wave's MODE

} // namespace amdsim
