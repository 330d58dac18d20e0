// Edge coverage of the machine code: what libFuzzer's counters are for host
// code. It needs no source and no rebuilt kernel. Counters are keyed by kernel
// name and offsets in the kernel, so that they are the same in every run.
#pragma once
#include "instruction.hpp"
#include "wave.hpp"

namespace amdsim {

struct Kernel;

struct CoverageMap {
  uint8_t* counters = nullptr;
  size_t mask = 0;
  uint64_t kernel_key = 0, entry = 0; // of the running launch
};
extern CoverageMap coverage;

void coverage_start(const Kernel& kernel);
bool is_covered(const Inst& in); // a branch, or writes EXEC

inline void coverage_bump(uint64_t from, uint64_t to) {
  const uint64_t h = (coverage.kernel_key ^ from << 32 ^ to) * 0x9e3779b97f4a7c15u; // 2^64 / the golden ratio
  uint8_t& counter = coverage.counters[(h >> 32 ^ h >> 48) & coverage.mask];
  counter += counter != 255;
}

// What an edge's target is not: offsets are multiples of 4.
enum ExecFact : uint64_t { exec_empty = 1, exec_partial = 2 };

// after `in`, which stood at `pc`
inline void coverage_record(const Wave& w, const Inst& in, uint64_t pc) {
  const uint64_t from = pc - coverage.entry, exec = w.exec();
  if (in.klass == C_BRANCH) coverage_bump(from, w.pc() - coverage.entry);
  if (__builtin_expect(exec != w.all_lanes(), 0)) coverage_bump(from, exec ? exec_partial : exec_empty);
}

} // namespace amdsim
