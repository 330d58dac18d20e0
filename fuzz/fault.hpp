// Planted faults: kernels that are wrong on purpose, each in one named way (faults.md, section 4).  They
// exist only in the lab; libmqa never holds one.
#pragma once
#include "fuzz/case.hpp"
#include "kernels/launch.hpp"

#include <span>
#include <string_view>

namespace mqalab {

enum class FaultKind : uint8_t { must_kill, must_survive };

struct Fault {
  std::string_view name;   // out_offset_32
  std::string_view breaks; // one line: what it changes
  std::string_view sees;   // the verdict class that must come out
  FaultKind kind;
  mqa::LaunchFn launch;           // same signature as the production launcher
  const char* witness;            // JSON of a small case known to kill it (or to be survived)
  bool needs_lds_checker = false; // on real hardware it may go unseen
};

// All of them, sorted by name.  find_fault returns nullptr for an unknown name.
std::span<const Fault> faults();
const Fault* find_fault(std::string_view name);

} // namespace mqalab
