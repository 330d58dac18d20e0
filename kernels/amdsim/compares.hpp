// The numbers that a kernel's own code compares whole numbers with: the thresholds at which it takes another
// way, and so the values that a fuzzer wants to give its arguments.
#pragma once
#include <cstdint>
#include <set>

namespace amdsim {

struct Kernel;

struct CompareConstants {
  bool collecting = false;
  std::set<int64_t> values; // of the kernels launched since collecting began
  std::set<const Kernel*> kernels;
};
extern CompareConstants compare_constants;

void compares_start(const Kernel& kernel);

} // namespace amdsim
