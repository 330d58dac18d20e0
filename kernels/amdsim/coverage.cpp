// Two kinds of facts are counted: where a wave went from a branch, and
// whether the lanes that are on (EXEC) became none or only some. The second
// is what a divergent `if` leaves when the compiler skips no code for it.
#include "coverage.hpp"

#include "code_object.hpp"

namespace amdsim {

CoverageMap coverage;

static uint64_t hash_name(const std::string& name) { // FNV-1a: the same in every run and build
  uint64_t h = 0xcbf29ce484222325u;
  for (unsigned char c : name) h = (h ^ c) * 0x100000001b3u;
  return h;
}

void coverage_start(const Kernel& kernel) {
  if (!coverage.counters) return;
  coverage.kernel_key = hash_name(kernel.name);
  coverage.entry = kernel.entry;
}

bool is_covered(const Inst& in) {
  if (in.klass == C_BRANCH) return true;
  const auto named = [&](const char* part) { return in.name.find(part) != std::string::npos; };
  if (named("SAVEEXEC") || named("WREXEC") || named("V_CMPX")) return true;
  return in.klass == C_SALU && in.text.find(" exec") == in.text.find(' '); // the destination comes first
}

} // namespace amdsim
