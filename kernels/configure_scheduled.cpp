// When the scheduled variant can serve a call, and with how many workers.
#include "kernels/arch/arch.hpp"
#include "kernels/configure.hpp"
#include "kernels/schedule.hpp"

#include <algorithm>

namespace mqa {
namespace {

int64_t lds_of_worker(const CallShape& s) {
  return kWindowBytes<Arch> + staged_lds_bytes(s.next_n, s.heads, s.head_dim);
}
// What a compute unit lends to its blocks together.
int64_t lds_of_unit(const DeviceFacts& device) { return device.wave_size == 64 ? 64 << 10 : 224 << 10; }

// Workers per compute unit: those asked for, else two, or one where two do not fit.  0: none fit.
int workers_per_unit(const CallShape& s, const mqa_config& wanted, const DeviceFacts& device) {
  const int64_t bytes = lds_of_worker(s);
  if (bytes > kStagedLimitBytes) return 0;
  const auto fits = [&](int workers) { return workers * bytes <= lds_of_unit(device); };
  if (wanted.wave_per_eu) return fits(wanted.wave_per_eu) ? wanted.wave_per_eu : 0;
  return fits(kDefaultWavePerEu) ? kDefaultWavePerEu : 1;
}

} // namespace

std::string why_no_scheduled(const CallShape& s, const mqa_config& wanted, const DeviceFacts& device) {
  if (s.form != Form::head_sum) return "it serves mqa_paged_logits and mqa_ragged_logits only";
  if (std::string no = why_no_matrix_kernel(s, device); !no.empty()) return no;
  if (wanted.split_kv > 1) return "split_kv is " + std::to_string(wanted.split_kv) + "; allowed: 0 or 1";
  if (workers_per_unit(s, wanted, device) > 0) return "";
  const int64_t bytes = lds_of_worker(s), most = lds_of_unit(device) / std::max(1, wanted.wave_per_eu);
  return "a block needs " + std::to_string(bytes) + " bytes of LDS for next_n " + std::to_string(s.next_n) +
         " x heads " + std::to_string(s.heads) + "; allowed: up to " +
         std::to_string(std::min(kStagedLimitBytes, most)) + " with " +
         std::to_string(std::max(1, wanted.wave_per_eu)) + " blocks per compute unit";
}

// None without a chunk at the longest context.
LaunchConfig scheduled_config(const CallShape& s, const mqa_config& wanted, const DeviceFacts& device) {
  LaunchConfig c{};
  c.variant = MQA_VARIANT_SCHEDULED;
  c.form = s.form;
  c.chunk_k = wanted.chunk_k ? wanted.chunk_k : kDefaultChunk;
  c.split_kv = 1;
  c.wave_per_eu = workers_per_unit(s, wanted, device);
  c.lds_bytes = static_cast<uint32_t>(lds_of_worker(s));
  const int64_t chunks = s.batch * ceil_div<int64_t>(s.most_keys, c.chunk_k);
  c.workers =
      static_cast<int32_t>(std::clamp<int64_t>(chunks, 1, int64_t{device.compute_units} * c.wave_per_eu));
  return c;
}

} // namespace mqa
