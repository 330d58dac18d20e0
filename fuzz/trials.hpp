// One trial for all operations that make logits, one for every other: runs the case on the device and judges
// it, in the oracle's order of questions (oracle.hpp).  Preconditions: the case is legal, the device has no
// error pending.
#pragma once
#include "fuzz/device_memory.hpp"
#include "fuzz/oracle.hpp"

#include <array>
#include <deque>

namespace mqalab {

// What the trials of one oracle share: device memory, kept from case to case, and the salts of the prefills.
struct TrialMemory {
  DeviceInputs inputs;
  std::array<GuardedWords, 2> outputs;
  DeviceInputs partner_inputs; // of a metamorphic partner, beside the first launch's
  std::array<GuardedWords, 2> partner_outputs;
  std::array<InputBuffer, 3> buffers{InputBuffer{"an input"}, InputBuffer{"an input"},
                                     InputBuffer{"an input"}};
  std::deque<uint64_t> old_salts; // of earlier launches, the newest first: how stale output is told
  uint64_t launches = 0;

  uint64_t fresh_salt();
  void retire(uint64_t salt);
};

Verdict try_logits(TrialMemory&, const Case&, const Fault*, const OracleOptions&);
// One launch over the output prefilled with 0x7fc0dead; `out` holds it whole.
LaunchResult run_logits(TrialMemory&, const Case&, const Fault*, std::vector<float>& out);

Verdict try_top_k(TrialMemory&, const Case&, const Fault*, const OracleOptions&);
Verdict try_cache_write(TrialMemory&, const Case&, const Fault*, const OracleOptions&);
Verdict try_cache_gather(TrialMemory&, const Case&, const Fault*, const OracleOptions&);
// cache_write, paged_logits and top_k, each judged against its own input.
Verdict try_indexer(TrialMemory&, const Case&, const Fault*, const OracleOptions&);

// The calls of a problem, but for their pointers (and the writer's number of tokens).
mqa_cache_write_args cache_write_shape(const Problem&);
mqa_top_k_args top_k_shape(const Problem&);

// A verdict without cells.
Verdict plain(VerdictClass, std::string message, std::string pattern = "");
// Of a launch that did not end well.
Verdict did_not_run(const LaunchResult&);

} // namespace mqalab
