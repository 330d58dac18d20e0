// Fills in a configuration.
#include "kernels/arch/arch.hpp"
#include "kernels/hopper/limits.hpp"
#include "kernels/launch.hpp"
#include "kernels/rules.hpp"

#include <algorithm>

namespace mqa {
namespace {

// 48 KiB is what every platform gives a block without asking for more.
constexpr int64_t kStagedLimitBytes = 48 << 10;
constexpr int32_t kDefaultChunk = 256, kDefaultWavePerEu = 2;
constexpr int32_t kLeastChunk = 64, kMostChunk = 4096, kMostSplits = 65535;

std::string config_error(const mqa_config& c) {
  if (c.variant < MQA_VARIANT_AUTO || c.variant > MQA_VARIANT_WGMMA)
    return "variant is " + std::to_string(c.variant) +
           "; allowed: 0 (auto), 1 (staged), 2 (direct), 3 (wgmma)";
  if (c.chunk_k != 0 && (c.chunk_k < kLeastChunk || c.chunk_k > kMostChunk || c.chunk_k % kLeastChunk))
    return "chunk_k is " + std::to_string(c.chunk_k) +
           "; allowed: 0 (auto), or a multiple of 64 from 64 to 4096";
  if (c.split_kv < 0 || c.split_kv > kMostSplits)
    return "split_kv is " + std::to_string(c.split_kv) + "; allowed: 0 (auto) to 65535";
  if (c.wave_per_eu < 0 || c.wave_per_eu > 4 || (c.wave_per_eu == 3 && c.variant != MQA_VARIANT_WGMMA))
    return "wave_per_eu is " + std::to_string(c.wave_per_eu) +
           "; allowed: 0 (auto), 1, 2, 4; 3 for variant wgmma";
  return "";
}

// Workers per SM: those asked for, else as many as have shared memory for enough tiles of keys.  0: none fit.
int hopper_workers(const mqa_paged_logits_args& a, const mqa_config& c) {
  const int64_t staged = hopper::staged_bytes(a.next_n, a.heads);
  const auto fits = [&](int workers, int stages) { return hopper::stages_for(workers, staged) >= stages; };
  if (c.wave_per_eu) return fits(c.wave_per_eu, hopper::kLeastStages) ? c.wave_per_eu : 0;
  for (int workers = 4; workers >= 2; --workers)
    if (fits(workers, hopper::kLeastStages)) return workers;
  return 0;
}

// Empty: the wgmma variant can serve the call.
std::string why_no_wgmma(const mqa_paged_logits_args& a, const mqa_config& c, const DeviceFacts& device) {
  if (!device.wgmma) return "it needs an NVIDIA sm_90 device, this one is " + device.key;
  if (a.head_dim != hopper::kHeadDim) return "head_dim is " + std::to_string(a.head_dim) + "; allowed: 128";
  if (a.fp8 != MQA_E4M3FN) return "fp8 is e4m3fnuz; allowed: e4m3fn";
  if (a.batch > hopper::kMostSequences)
    return "batch is " + std::to_string(a.batch) + "; allowed: up to 1024";
  if (hopper_workers(a, c) == 0)
    return "next_n " + std::to_string(a.next_n) + " x heads " + std::to_string(a.heads) +
           " leaves no shared memory for " + std::to_string(hopper::kLeastStages) + " tiles of keys";
  if (c.chunk_k != 0 && c.chunk_k != hopper::kTileTokens)
    return "chunk_k is " + std::to_string(c.chunk_k) + "; allowed: 0 or 64";
  if (c.split_kv > 1) return "split_kv is " + std::to_string(c.split_kv) + "; allowed: 0 or 1";
  if (c.wave_per_eu == 1) return "wave_per_eu is 1; allowed: 0, 2, 3, 4";
  return "";
}

// Workers for every SM, but none without a tile at the longest context.
LaunchConfig wgmma_config(const mqa_paged_logits_args& a, const mqa_config& wanted,
                          const DeviceFacts& device) {
  LaunchConfig c{};
  c.variant = MQA_VARIANT_WGMMA;
  c.chunk_k = hopper::kTileTokens;
  c.split_kv = 1;
  c.wave_per_eu = hopper_workers(a, wanted);
  const int64_t staged = hopper::staged_bytes(a.next_n, a.heads);
  const int64_t tiles = a.batch * ceil_div<int64_t>(a.max_model_len, hopper::kTileTokens);
  c.lds_bytes =
      static_cast<uint32_t>(hopper::stages_for(c.wave_per_eu, staged) * hopper::kTileSpacing + staged);
  c.workers =
      static_cast<int32_t>(std::clamp<int64_t>(tiles, 1, int64_t{device.compute_units} * c.wave_per_eu));
  return c;
}

// As many splits as fill the device once with blocks of 4 waves, but none without a chunk at the longest
// context.
int32_t automatic_splits(const mqa_paged_logits_args& a, const LaunchConfig& c, const DeviceFacts& device) {
  const int64_t slots = int64_t{device.compute_units} * c.wave_per_eu;
  const int64_t wanted = ceil_div<int64_t>(slots, std::max(1, a.batch));
  return static_cast<int32_t>(std::clamp<int64_t>(
      wanted, 1, std::min<int64_t>(kMostSplits, ceil_div<int64_t>(a.max_model_len, c.chunk_k))));
}

} // namespace

mqa_status resolve_config(const mqa_paged_logits_args& a, const mqa_config& wanted, const DeviceFacts& device,
                          LaunchConfig* config, std::string* why) {
  if (*why = config_error(wanted); !why->empty()) return MQA_INVALID_ARGUMENT;
  if (a.fp8 == MQA_E4M3FNUZ && device.wave_size == 64 && !device.fnuz) {
    *why =
        "fp8 e4m3fnuz on a device whose matrix unit reads e4m3fn (" + device.key + "); allowed there: e4m3fn";
    return MQA_UNSUPPORTED;
  }
  const bool may_wgmma = wanted.variant == MQA_VARIANT_WGMMA || wanted.variant == MQA_VARIANT_AUTO;
  if (const std::string no = may_wgmma ? why_no_wgmma(a, wanted, device) : "not asked for"; no.empty()) {
    *config = wgmma_config(a, wanted, device);
    return MQA_OK;
  } else if (wanted.variant == MQA_VARIANT_WGMMA) {
    *why = "variant wgmma cannot run this: " + no + "; use variant auto";
    return MQA_UNSUPPORTED;
  }
  const int64_t staged = staged_lds_bytes(a.next_n, a.heads, a.head_dim);
  LaunchConfig c{};
  c.variant = wanted.variant ? static_cast<mqa_variant>(wanted.variant)
                             : (staged <= kStagedLimitBytes ? MQA_VARIANT_STAGED : MQA_VARIANT_DIRECT);
  if (c.variant == MQA_VARIANT_STAGED && staged > kStagedLimitBytes) {
    *why = "variant staged needs " + std::to_string(staged) + " bytes of LDS for next_n " +
           std::to_string(a.next_n) + " x heads " + std::to_string(a.heads) +
           "; allowed: up to 49152; use variant direct or auto";
    return MQA_UNSUPPORTED;
  }
  c.chunk_k = wanted.chunk_k ? wanted.chunk_k : kDefaultChunk;
  c.wave_per_eu = wanted.wave_per_eu ? wanted.wave_per_eu : kDefaultWavePerEu;
  c.split_kv = wanted.split_kv ? wanted.split_kv : automatic_splits(a, c, device);
  c.lds_bytes = c.variant == MQA_VARIANT_STAGED ? static_cast<uint32_t>(staged) : 0;
  if (int64_t{a.batch} * c.split_kv > INT32_MAX) {
    *why = "batch * split_kv is " + std::to_string(int64_t{a.batch} * c.split_kv) +
           "; allowed: up to 2147483647 blocks";
    return MQA_INVALID_ARGUMENT;
  }
  *config = c;
  return MQA_OK;
}

} // namespace mqa
