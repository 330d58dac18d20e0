// The device as the oracle sees it: buffers, one launch, and the simulator's knobs.
#pragma once
#include "fuzz/device_buffer.hpp"
#include "fuzz/fault.hpp"
#include "fuzz/verdict.hpp"
#include "refimpl/sparse_buffer.hpp"

#include <hip/hip_runtime_api.h>

#include <cstdint>
#include <string>

namespace mqalab {

// How a launch is disturbed.  Real hardware heeds `poison` only.
struct Stress {
  uint64_t schedule = 0; // 0: blocks and waves in order; else a seed of their order
  // Registers, LDS and, simulated, new memory hold a NaN (even schedules) or a large number.
  bool poison = false;
  bool check_lds = false;        // uninitialised reads and missing barriers are faults
  int64_t most_instructions = 0; // of one wave, then the launch counts as hung
};
void apply_stress(const Stress&);

struct LaunchResult {
  VerdictClass status = VerdictClass::ok; // ok, fault, hang or rejected
  std::string message;
  mqa_choice choice{};
};
// Starts the production kernel (fault == nullptr) or a planted fault on `stream`: what the entry point said,
// to be waited for by finished().  The operation is one of those that take paged arguments: ragged and per
// head, too.
LaunchResult launch(Operation, const mqa_paged_logits_args&, const mqa_config&, const Fault*,
                    hipStream_t stream = nullptr);
LaunchResult launch(const mqa_prefill_logits_args&, const mqa_config&, const Fault*,
                    hipStream_t stream = nullptr);
LaunchResult launch(const mqa_head_sum_args&, const Fault*, hipStream_t stream = nullptr);

// The two steps of any launch: what the entry point or a planted launcher said, then what the device says
// once all of its work is done.  `config`: what was asked for, {} when the operation takes none.
LaunchResult started(mqa_status, const mqa_config& config = {});
LaunchResult started(hipError_t, const Fault&);
LaunchResult finished(LaunchResult started);
// A fault was asked for that is planted in another operation.
LaunchResult planted_elsewhere(const Fault&);

// The device's errors so far are forgotten.  False: they cannot be, because a fault on real hardware poisons
// the process.
bool forget_errors();

} // namespace mqalab
