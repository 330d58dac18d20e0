// Planted faults: kernels that are wrong on purpose, each in one named way (faults.md, section 4).  They
// exist only in the lab; libmqa never holds one.
#pragma once
#include "fuzz/case.hpp"
#include "kernels/launch.hpp"

#include <span>
#include <string_view>

namespace mqalab {

enum class FaultKind : uint8_t { must_kill, must_survive };

// The launcher that stands in for the production one; exactly one is set.
struct FaultLaunch {
  mqa::LaunchFn logits = nullptr;
  mqa::HeadSumFn head_sum = nullptr;
  mqa::TopKFn top_k = nullptr;
  mqa::CacheWriteFn cache_write = nullptr;
  mqa::CacheGatherFn cache_gather = nullptr;
  constexpr FaultLaunch(mqa::LaunchFn f) : logits(f) {}
  constexpr FaultLaunch(mqa::HeadSumFn f) : head_sum(f) {}
  constexpr FaultLaunch(mqa::TopKFn f) : top_k(f) {}
  constexpr FaultLaunch(mqa::CacheWriteFn f) : cache_write(f) {}
  constexpr FaultLaunch(mqa::CacheGatherFn f) : cache_gather(f) {}
};

// What a control says of itself, and is held to.  A must-kill fault claims nothing: the production kernels'
// declaration is its own.
struct Claim {
  bool exact = false, numeric = false, special = false; // the lanes whose every case it must survive
  bool nan_to_zero = true, scale_after_sum = true;      // its policy (refimpl/reference.hpp)
};

struct Fault {
  std::string_view name;   // out_offset_32
  std::string_view breaks; // one line: what it changes
  std::string_view sees;   // the verdict class that must come out
  FaultKind kind;
  FaultLaunch launch;
  const char* witness; // JSON of a small case known to kill it (or to be survived); its op is the fault's
  bool needs_lds_checker = false; // on real hardware it may go unseen
  Claim claim = {};               // of a control
};
// Whether a control says that it survives every case of this lane.
bool claims(const Fault& control, Lane lane);

// All of them, sorted by name.  find_fault returns nullptr for an unknown name.
std::span<const Fault> faults();
const Fault* find_fault(std::string_view name);

} // namespace mqalab
