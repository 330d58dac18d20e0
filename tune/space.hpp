// The configuration space of one problem: everything that could be launched for it, each launch once.
#pragma once
#include "fuzz/case.hpp"
#include "fuzz/commands.hpp"
#include "fuzz/fault.hpp"
#include "kernels/launch.hpp"
#include "kernels/mqa.h"

#include <string>
#include <vector>

namespace mqalab {

struct Candidate {
  mqa_config config{};     // split_kv may be 0, automatic; nothing else is
  bool is_default = false; // what the library launches without a database
  const Fault* fault =
      nullptr; // another launcher in place of the library's: how tests plant a wrong configuration
};

// Default first.  Candidates that the device cannot run, and those that resolve to the launch of an earlier
// one, are left out, as are splits that would own no chunk.  The general variant is there only where it is
// alone.
std::vector<Candidate> configuration_space(const Problem&, const mqa::DeviceFacts&);

// Changes when the rule above does.
std::string space_hash();

} // namespace mqalab
