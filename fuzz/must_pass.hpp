// Odd but legal situations that a correct kernel must pass (oracle.md, sections 11 and 12).  A judge that
// cries at one of them is as useless as one that sleeps through a fault.
#pragma once
#include "fuzz/case.hpp"

#include <span>
#include <string_view>

namespace mqalab {

struct MustPass {
  std::string_view name; // what is odd about it
  const char* json;      // the case
};
// All of them: what must_pass.cpp has, then the other parts of the list, one a file.
std::span<const MustPass> must_pass_cases();
std::span<const MustPass> must_pass_forms();
std::span<const MustPass> must_pass_cache();

} // namespace mqalab
