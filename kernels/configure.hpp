// Inside the choice of a configuration: what it looks at, and what each variant answers.
#pragma once
#include "kernels/launch.hpp"

namespace mqa {

// A call of any logits operation, as a few numbers.
struct CallShape {
  Form form;
  bool ragged;
  int32_t batch, next_n; // prefill: the rows, and 1
  int32_t heads, head_dim;
  int32_t fp8;       // mqa_fp8
  int64_t most_keys; // of a sequence
};

// 48 KiB is what every platform gives a block without asking for more.
inline constexpr int64_t kStagedLimitBytes = 48 << 10;
inline constexpr int32_t kDefaultChunk = 256, kDefaultWavePerEu = 2;

// As many splits as fill the device once with blocks of 4 waves, but none without a chunk at the longest
// context.  `blocks`: of one split.
int32_t automatic_splits(int64_t blocks, int64_t most_keys, const LaunchConfig&, const DeviceFacts&);

// Why no variant that feeds the matrix unit, but wgmma, has an instance.
std::string why_no_matrix_kernel(const CallShape&, const DeviceFacts&);

// Per variant: why it cannot serve the call ("" if it can), and the configuration with which it does.
std::string why_no_scheduled(const CallShape&, const mqa_config& wanted, const DeviceFacts&);
LaunchConfig scheduled_config(const CallShape&, const mqa_config& wanted, const DeviceFacts&);
std::string why_no_wgmma(const CallShape&, const mqa_config& wanted, const DeviceFacts&);
LaunchConfig wgmma_config(const CallShape&, const mqa_config& wanted, const DeviceFacts&);

} // namespace mqa
