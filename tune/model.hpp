// The cost model of the simulator: from what a launch executed to microseconds on an MI300X-like device.  It
// ranks configurations; it does not predict a clock.  Assumptions, one constant each, are in docs/tuning.md.
#pragma once
#include <cstdint>
#include <string_view>

namespace mqalab {

// Of one launch, all blocks together; instructions are a wave's.
struct LaunchCounts {
  double blocks = 0, waves = 0, instructions = 0, max_block_instructions = 0;
  double valu = 0, trans = 0, scalar = 0, lds = 0, vmem_load = 0, vmem_store = 0, other = 0,
         mfma_multiply_adds = 0;
  double lds_bytes = 0, vmem_bytes = 0; // through LDS; through L1, re-reads included
  double hbm_bytes = 0;                 // that must come from or go to memory once
  int32_t vgprs = 0, lds_per_block = 0, threads_per_block = 64;

  // As if the launch had `factor` times the sequences.
  LaunchCounts scaled(double factor) const;
};

struct DeviceModel {
  int32_t compute_units = 304;
  double hertz = 2.1e9, hbm_bytes_per_second = 5.3e12;
};
DeviceModel mi300_like(int32_t compute_units);

struct Cost {
  double microseconds = 0;
  std::string_view bound; // "memory", "issue", "latency" or "cache": the largest term
  int32_t waves_per_simd = 0;
  double rounds = 0; // ceil(blocks / slots)
};
Cost model_cost(const LaunchCounts&, const DeviceModel&);

} // namespace mqalab
