// Edge coverage of the machine code: what libFuzzer's counters are for host code. It needs no source and no rebuilt
// kernel. Counters are keyed by kernel name and offsets in the kernel, so that they are the same in every run.
#pragma once
#include "instruction.hpp"
#include "wave.hpp"

namespace amdsim {

struct Kernel;

struct CoverageMap {
  uint8_t* counters = nullptr;
  size_t mask = 0;
  uint64_t kernel_key = 0, entry = 0;  // of the running launch
};
extern CoverageMap coverage;

void coverage_start(const Kernel& kernel);
bool is_covered(const Inst& in);  // a branch, or writes EXEC

// after `in`, which stood at `pc`
void coverage_record(const Wave& w, const Inst& in, uint64_t pc);

}  // namespace amdsim
