// The trial of the chain: one run that is judged step by step, then runs with other prefill, poison and
// schedule, which must agree with it.
#include "fuzz/indexer_chain.hpp"
#include "fuzz/trials.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace mqalab {

Verdict try_indexer(TrialMemory& memory, const Case& c, const Fault* fault, const OracleOptions& options) {
  IndexerChain chain(memory, c);
  const Setup first{memory.fresh_salt()};
  const IndexerRun run = chain.run(first, fault, options);
  memory.retire(first.salt);
  Verdict v = run.verdict;
  for (int i = 1; i <= launches_after_first(options) && v.verdict == VerdictClass::ok; ++i) {
    const Setup next = shaken(options, first, memory.fresh_salt(), static_cast<uint64_t>(i));
    const IndexerRun again = chain.run(next, fault, options);
    memory.retire(next.salt);
    if (again.verdict.verdict != VerdictClass::ok) return again.verdict;
    const auto seen = chain.differences_of(first, run, next, again);
    if (seen.empty()) continue;
    v.verdict = VerdictClass::unstable, v.signature = {v.verdict, "chain differs between launches", ""};
    v.cells_bad = static_cast<int64_t>(seen.size());
    v.recall = std::min(v.recall, again.verdict.recall);
    v.message = fmt::format("unstable: {} cells differ between launches of the chain, the first in row {}",
                            seen.size(), seen.front().row);
  }
  return v;
}

} // namespace mqalab
