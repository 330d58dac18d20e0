// Two kinds of facts are counted: where a wave went from a branch, and whether the lanes that are on (EXEC) became none
// or only some. The second is what a divergent `if` leaves when the compiler skips no code for it.
#include "coverage.hpp"

#include "code_object.hpp"

namespace amdsim {

CoverageMap coverage;

static uint64_t hash_name(const std::string& name) {  // FNV-1a: the same in every run and build
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
  return in.klass == C_SALU && in.text.find(" exec") == in.text.find(' ');  // the destination comes first
}

static void bump(uint64_t from, uint64_t to) {
  uint64_t h = (coverage.kernel_key ^ from << 32 ^ to) * 0x9e3779b97f4a7c15u;
  uint8_t& counter = coverage.counters[(h ^ h >> 32) & coverage.mask];
  counter += counter != 255;
}

// offsets are multiples of 4, so these are no edge's target
enum Fact : uint64_t { exec_empty = 1, exec_partial = 2 };

void coverage_record(const Wave& w, const Inst& in, uint64_t pc) {
  const uint64_t from = pc - coverage.entry, exec = w.exec();
  if (in.klass == C_BRANCH) bump(from, w.pc() - coverage.entry);
  if (!exec) bump(from, exec_empty);
  else if (exec != w.all_lanes()) bump(from, exec_partial);
}

}  // namespace amdsim
