// Host side of a launch: check the caller's arguments, fill in a configuration, start a kernel.  The lab
// plants faults by giving another LaunchFn the very same prepared arguments.
#pragma once
#include "kernels/mqa.h"
#include "kernels/paged_args.hpp"

#include <hip/hip_runtime_api.h>

#include <string>

namespace mqa {

// A configuration with every field resolved, and what the launch needs besides.
struct LaunchConfig {
  mqa_variant variant;
  int32_t chunk_k, split_kv, wave_per_eu;
  uint32_t lds_bytes; // dynamic, per block
  int32_t workers;    // blocks of the wgmma and scheduled variants
  Form form = Form::head_sum;
  int32_t tile_rows = 0; // prefill: rows that a block serves together
};

// Starts the kernel; hipErrorInvalidValue when it has no instance for the head_dim or configuration.
using LaunchFn = hipError_t (*)(const PagedArgs&, const LaunchConfig&, hipStream_t);
// Any variant and form of this build; the others are its parts, each compiled by itself.
hipError_t launch_paged_logits(const PagedArgs&, const LaunchConfig&, hipStream_t);
hipError_t launch_per_head_logits(const PagedArgs&, const LaunchConfig&, hipStream_t);
hipError_t launch_prefill_logits(const PagedArgs&, const LaunchConfig&, hipStream_t);
hipError_t launch_scheduled_logits(const PagedArgs&, const LaunchConfig&, hipStream_t);
hipError_t launch_general_logits(const PagedArgs&, const LaunchConfig&, hipStream_t);

// The operations that are not logits take the caller's validated arguments as they are, and have one
// configuration.
using HeadSumFn = hipError_t (*)(const mqa_head_sum_args&, hipStream_t);
using TopKFn = hipError_t (*)(const mqa_top_k_args&, hipStream_t);
hipError_t launch_top_k(const mqa_top_k_args&, hipStream_t);
using CacheWriteFn = hipError_t (*)(const mqa_cache_write_args&, hipStream_t);
using CacheGatherFn = hipError_t (*)(const mqa_cache_gather_args&, hipStream_t);
hipError_t launch_cache_write(const mqa_cache_write_args&, hipStream_t);
hipError_t launch_cache_gather(const mqa_cache_gather_args&, hipStream_t);

// What the host knows of the current device; cached per device ordinal.
struct DeviceFacts {
  std::string key; // as mqa_device_key()
  int32_t compute_units = 0, wave_size = 0, lds_bytes = 0;
  bool fnuz = false;      // native FP8 flavour
  bool wgmma = false;     // has Hopper's warpgroup matrix unit
  bool simulated = false; // never served a measured row, and the other way round
};
const DeviceFacts* device_facts(std::string* error);

// Empty: the arguments are legal.  Otherwise a message that names the argument, its value and what is
// allowed. shape_only leaves out pointers and what only the launch needs.  Paged arguments are ragged where
// slot_prefix is set and per head where logits_stride_head is: that is how all of these tell the forms apart.
std::string why_invalid(const mqa_paged_logits_args&, bool shape_only);
std::string why_invalid(const mqa_prefill_logits_args&, bool shape_only);
std::string why_invalid(const mqa_head_sum_args&);
std::string why_invalid(const mqa_top_k_args&);
std::string why_invalid(const mqa_cache_write_args&);
std::string why_invalid(const mqa_cache_gather_args&);

// Fills the zero fields of `wanted`; *why says in words why a wanted value cannot be had (status
// MQA_UNSUPPORTED).
mqa_status resolve_config(const mqa_paged_logits_args&, const mqa_config& wanted, const DeviceFacts&,
                          LaunchConfig*, std::string* why);
mqa_status resolve_config(const mqa_prefill_logits_args&, const mqa_config& wanted, const DeviceFacts&,
                          LaunchConfig*, std::string* why);
PagedArgs prepare(const mqa_paged_logits_args&, const LaunchConfig&, const DeviceFacts&);
PagedArgs prepare(const mqa_prefill_logits_args&, const LaunchConfig&, const DeviceFacts&);

hipError_t launch_head_sum(const mqa_head_sum_args&, hipStream_t);

} // namespace mqa
