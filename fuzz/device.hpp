// The device as the oracle sees it: exact buffers, copies that throw, one launch, and the simulator's knobs.
#pragma once
#include "fuzz/fault.hpp"
#include "fuzz/verdict.hpp"
#include "refimpl/sparse_buffer.hpp"

#include <hip/hip_runtime_api.h>

#include <cstdint>
#include <stdexcept>
#include <string>

namespace mqalab {

// A runtime call that failed outside of a launch: machine trouble, not a finding.
struct DeviceError : std::runtime_error {
  using std::runtime_error::runtime_error;
};
void require(hipError_t, const char* call);

// One allocation of exactly the bytes asked for, kept while the size stays: the simulator checks accesses to
// the byte.
class DeviceBuffer {
public:
  DeviceBuffer() = default;
  ~DeviceBuffer();
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;

  // True when the memory is new.
  bool resize(int64_t bytes);
  uint8_t* data() const { return data_; }
  int64_t size() const { return size_; }
  void upload(int64_t offset_bytes, const void* from, int64_t bytes);
  void download(int64_t offset_bytes, void* to, int64_t bytes) const;

private:
  uint8_t* data_ = nullptr;
  int64_t size_ = -1;
};

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
// Launches the production kernel (fault == nullptr) or a planted fault and waits for it.  The operation is
// one of those that take paged arguments: ragged and per head, too.
LaunchResult launch(Operation, const mqa_paged_logits_args&, const mqa_config&, const Fault*);
LaunchResult launch(const mqa_paged_logits_args&, const mqa_config&, const Fault*); // Operation::paged_logits
LaunchResult launch(const mqa_prefill_logits_args&, const mqa_config&, const Fault*);
LaunchResult launch(const mqa_head_sum_args&, const Fault*);

// The same in two steps, for operations that are not logits: what the entry point or a planted launcher said,
// then what the device says once it is done.  `config`: what was asked for, {} when the operation takes none.
LaunchResult started(mqa_status, const mqa_config& config = {});
LaunchResult started(hipError_t, const Fault&);
LaunchResult finished(LaunchResult started);
// A fault was asked for that is planted in another operation.
LaunchResult planted_elsewhere(const Fault&);

// The device's errors so far are forgotten.  False: they cannot be, because a fault on real hardware poisons
// the process.
bool forget_errors();

} // namespace mqalab
