// Fills in a configuration.
#include "kernels/configure.hpp"

#include "kernels/arch/arch.hpp"

#include <algorithm>

namespace mqa {
namespace {

constexpr int32_t kLeastChunk = 64, kMostChunk = 4096, kMostSplits = 65535;

std::string config_error(const mqa_config& c) {
  if (c.variant < MQA_VARIANT_AUTO || c.variant > MQA_VARIANT_SCHEDULED)
    return "variant is " + std::to_string(c.variant) +
           "; allowed: 0 (auto), 1 (staged), 2 (direct), 3 (wgmma), 4 (general), 5 (scheduled)";
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

// ---- staged and direct ----
// Of a block: what the rows take, and what the kernel declares itself.
int64_t lds_of_rows(const CallShape& s, int64_t rows) {
  const int64_t ranges = s.form == Form::prefill ? kMostTileRows * static_cast<int64_t>(sizeof(Range)) : 0;
  return staged_lds_bytes(rows, s.heads, s.head_dim) + ranges;
}
// Rows of a prefill tile: the more, the less often a key is loaded; but as many blocks as the occupancy
// request says are to share a compute unit.
int32_t tile_rows(const CallShape& s, int32_t wave_per_eu, const DeviceFacts& device) {
  const int64_t shared = device.wave_size == 64 ? 64 << 10 : 224 << 10;
  const int64_t room = std::min(kStagedLimitBytes, shared / wave_per_eu) - lds_of_rows(s, 0);
  return static_cast<int32_t>(
      std::clamp<int64_t>(room / staged_lds_bytes(1, s.heads, s.head_dim), 1, kMostTileRows));
}
std::string why_no_staged(const CallShape& s, const DeviceFacts& device) {
  if (std::string no = why_no_matrix_kernel(s, device); !no.empty()) return no;
  const int64_t bytes = lds_of_rows(s, s.next_n);
  if (bytes <= kStagedLimitBytes) return "";
  return "it needs " + std::to_string(bytes) + " bytes of LDS for next_n " + std::to_string(s.next_n) +
         " x heads " + std::to_string(s.heads) + "; allowed: up to 49152";
}
std::string why_no_direct(const CallShape& s, const DeviceFacts& device) {
  if (s.form == Form::prefill) return "it does not serve mqa_prefill_logits";
  return why_no_matrix_kernel(s, device);
}

LaunchConfig block_config(mqa_variant variant, const CallShape& s, const mqa_config& wanted,
                          const DeviceFacts& device) {
  LaunchConfig c{};
  c.variant = variant;
  c.form = s.form;
  c.chunk_k = wanted.chunk_k ? wanted.chunk_k : kDefaultChunk;
  c.wave_per_eu = wanted.wave_per_eu && s.form != Form::per_head ? wanted.wave_per_eu : kDefaultWavePerEu;
  if (s.form == Form::prefill)
    c.tile_rows = variant == MQA_VARIANT_STAGED ? tile_rows(s, c.wave_per_eu, device) : 1;
  const int32_t rows = s.form == Form::prefill ? c.tile_rows : s.next_n;
  c.lds_bytes =
      variant == MQA_VARIANT_STAGED ? static_cast<uint32_t>(staged_lds_bytes(rows, s.heads, s.head_dim)) : 0;
  const int64_t blocks = s.form == Form::prefill ? ceil_div<int64_t>(s.batch, c.tile_rows) : s.batch;
  c.split_kv = wanted.split_kv ? wanted.split_kv : automatic_splits(blocks, s.most_keys, c, device);
  return c;
}

// ---- the choice ----
// In the order in which auto tries them.
constexpr mqa_variant kPreferred[] = {MQA_VARIANT_WGMMA, MQA_VARIANT_STAGED, MQA_VARIANT_DIRECT,
                                      MQA_VARIANT_GENERAL};

// Empty: the variant can serve the call.
std::string why_not(mqa_variant variant, const CallShape& s, const mqa_config& wanted,
                    const DeviceFacts& device) {
  switch (variant) {
  case MQA_VARIANT_WGMMA: return why_no_wgmma(s, wanted, device);
  case MQA_VARIANT_STAGED: return why_no_staged(s, device);
  case MQA_VARIANT_DIRECT: return why_no_direct(s, device);
  case MQA_VARIANT_GENERAL: return "";
  case MQA_VARIANT_SCHEDULED: return why_no_scheduled(s, wanted, device);
  default: return "this build has no such kernel";
  }
}
LaunchConfig filled(mqa_variant variant, const CallShape& s, const mqa_config& wanted,
                    const DeviceFacts& device) {
  switch (variant) {
  case MQA_VARIANT_WGMMA: return wgmma_config(s, wanted, device);
  case MQA_VARIANT_SCHEDULED: return scheduled_config(s, wanted, device);
  default: return block_config(variant, s, wanted, device);
  }
}

mqa_variant first_that_can(const CallShape& s, const mqa_config& wanted, const DeviceFacts& device) {
  return *std::find_if(std::begin(kPreferred), std::end(kPreferred),
                       [&](mqa_variant v) { return why_not(v, s, wanted, device).empty(); });
}

mqa_status resolve(const CallShape& s, const mqa_config& wanted, const DeviceFacts& device,
                   LaunchConfig* config, std::string* why) {
  if (*why = config_error(wanted); !why->empty()) return MQA_INVALID_ARGUMENT;
  const mqa_variant able = first_that_can(s, wanted, device);
  const mqa_variant variant = wanted.variant ? static_cast<mqa_variant>(wanted.variant) : able;
  if (const std::string no = why_not(variant, s, wanted, device); !no.empty()) {
    *why = std::string("variant ") + mqa_variant_name(variant) + " cannot run this: " + no + "; variant " +
           mqa_variant_name(able) + " can";
    return MQA_UNSUPPORTED;
  }
  const LaunchConfig c = filled(variant, s, wanted, device);
  const int64_t blocks =
      (s.form == Form::prefill ? ceil_div<int64_t>(s.batch, c.tile_rows) : s.batch) * c.split_kv;
  constexpr int64_t kMostGridBlocks = (1 << 24) - 1; // of 256 threads, which HIP counts in 32 bits
  if (blocks > kMostGridBlocks) {
    *why = "batch * split_kv is " + std::to_string(blocks) + "; allowed: up to 16777215 blocks of a launch";
    return MQA_INVALID_ARGUMENT;
  }
  *config = c;
  return MQA_OK;
}

} // namespace

std::string why_no_matrix_kernel(const CallShape& s, const DeviceFacts& device) {
  if (s.head_dim != 32 && s.head_dim != 64 && s.head_dim != 128)
    return "head_dim is " + std::to_string(s.head_dim) + "; allowed: 32, 64, 128";
  if (s.fp8 == MQA_E4M3FNUZ && device.wave_size == 64 && !device.fnuz)
    return "fp8 is e4m3fnuz and the matrix unit of " + device.key + " reads e4m3fn; allowed: e4m3fn";
  return "";
}

int32_t automatic_splits(int64_t blocks, int64_t most_keys, const LaunchConfig& c,
                         const DeviceFacts& device) {
  const int64_t slots = int64_t{device.compute_units} * c.wave_per_eu;
  const int64_t wanted = ceil_div<int64_t>(slots, std::max<int64_t>(1, blocks));
  const int64_t chunks = std::max<int64_t>(1, ceil_div<int64_t>(most_keys, c.chunk_k));
  return static_cast<int32_t>(std::clamp<int64_t>(wanted, 1, std::min<int64_t>(kMostSplits, chunks)));
}

mqa_status resolve_config(const mqa_paged_logits_args& a, const mqa_config& wanted, const DeviceFacts& device,
                          LaunchConfig* config, std::string* why) {
  const Form form = a.logits_stride_head ? Form::per_head : Form::head_sum;
  return resolve(
      {form, a.slot_prefix != nullptr, a.batch, a.next_n, a.heads, a.head_dim, a.fp8, a.max_model_len},
      wanted, device, config, why);
}
mqa_status resolve_config(const mqa_prefill_logits_args& a, const mqa_config& wanted,
                          const DeviceFacts& device, LaunchConfig* config, std::string* why) {
  return resolve({Form::prefill, false, a.rows, 1, a.heads, a.head_dim, a.fp8, a.num_keys}, wanted, device,
                 config, why);
}

} // namespace mqa
