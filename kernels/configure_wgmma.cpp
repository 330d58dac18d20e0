// When the wgmma variant can serve a call, and with how many workers.
#include "kernels/configure.hpp"
#include "kernels/hopper/limits.hpp"
#include "kernels/rules.hpp"

#include <algorithm>

namespace mqa {
namespace {

// Workers per SM: those asked for, else as many as have registers for a product's sums (measured: of 128
// columns a fourth worker's spill) and shared memory for enough tiles of keys.  0: none fit.
int hopper_workers(const CallShape& s, const mqa_config& c) {
  const int64_t staged = hopper::staged_bytes(s.next_n, s.heads);
  const auto fits = [&](int workers, int stages) { return hopper::stages_for(workers, staged) >= stages; };
  if (c.wave_per_eu) return fits(c.wave_per_eu, hopper::kLeastStages) ? c.wave_per_eu : 0;
  const int columns = hopper::columns_of_row(s.heads) * hopper::rows_of_product(s.next_n, s.heads);
  for (int workers = columns == 128 ? 3 : 4; workers >= 2; --workers)
    if (fits(workers, hopper::kLeastStages)) return workers;
  return 0;
}

} // namespace

std::string why_no_wgmma(const CallShape& s, const mqa_config& c, const DeviceFacts& device) {
  if (!device.wgmma) return "it needs an NVIDIA sm_90 device, this one is " + device.key;
  if (s.form != Form::head_sum || s.ragged) return "it serves mqa_paged_logits only";
  if (s.head_dim != hopper::kHeadDim) return "head_dim is " + std::to_string(s.head_dim) + "; allowed: 128";
  if (s.heads > hopper::kMostHeads) return "heads is " + std::to_string(s.heads) + "; allowed: up to 128";
  if (s.fp8 != MQA_E4M3FN) return "fp8 is e4m3fnuz; allowed: e4m3fn";
  if (s.batch > hopper::kMostSequences)
    return "batch is " + std::to_string(s.batch) + "; allowed: up to 1024";
  if (hopper_workers(s, c) == 0)
    return "next_n " + std::to_string(s.next_n) + " x heads " + std::to_string(s.heads) +
           " leaves no shared memory for " + std::to_string(hopper::kLeastStages) + " tiles of keys";
  if (c.chunk_k != 0 && c.chunk_k != hopper::kTileTokens)
    return "chunk_k is " + std::to_string(c.chunk_k) + "; allowed: 0 or 64";
  if (c.split_kv > 1) return "split_kv is " + std::to_string(c.split_kv) + "; allowed: 0 or 1";
  if (c.wave_per_eu == 1) return "wave_per_eu is 1; allowed: 0, 2, 3, 4";
  return "";
}

// Workers for every SM, but none without a tile at the longest context.
LaunchConfig wgmma_config(const CallShape& s, const mqa_config& wanted, const DeviceFacts& device) {
  LaunchConfig c{};
  c.variant = MQA_VARIANT_WGMMA;
  c.form = s.form;
  c.chunk_k = hopper::kTileTokens;
  c.split_kv = 1;
  c.wave_per_eu = hopper_workers(s, wanted);
  const int64_t staged = hopper::staged_bytes(s.next_n, s.heads);
  const int64_t tiles = s.batch * ceil_div<int64_t>(s.most_keys, hopper::kTileTokens);
  c.lds_bytes =
      static_cast<uint32_t>(hopper::stages_for(c.wave_per_eu, staged) * hopper::kTileSpacing + staged);
  c.workers =
      static_cast<int32_t>(std::clamp<int64_t>(tiles, 1, int64_t{device.compute_units} * c.wave_per_eu));
  return c;
}

} // namespace mqa
