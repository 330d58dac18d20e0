// See space.hpp.  The library's own resolve_config says what is legal and what is the same launch.
#include "tune/space.hpp"
#include "tune/call.hpp"

#include <algorithm>
#include <set>
#include <tuple>

namespace mqalab {
namespace {

constexpr int32_t kChunks[] = {64, 128, 256, 512, 1024};
constexpr int32_t kWaves[] = {1, 2, 4};
constexpr int32_t kMostSplits = 256;

// 0 (automatic), then powers of two while each split still owns a chunk.
std::vector<int32_t> splits(int64_t keys, int32_t chunk_k) {
  const int64_t chunks = (keys + chunk_k - 1) / chunk_k;
  std::vector<int32_t> all{0};
  for (int32_t s = 1; s <= std::min<int64_t>(chunks, kMostSplits); s *= 2) all.push_back(s);
  return all;
}

int64_t most_keys(const Problem& p) {
  return p.op == Operation::prefill_logits ? p.num_blocks : p.max_model_len;
}

using Launch = std::tuple<int32_t, int32_t, int32_t, int32_t>;

class Space {
public:
  Space(LogitsCall call, const mqa::DeviceFacts& device) : call_(call), device_(device) {}

  void add(mqa_config wanted, bool is_default) {
    mqa::LaunchConfig launch;
    std::string why;
    if (resolve_config(call_, wanted, device_, &launch, &why) != MQA_OK) return;
    if (!launches_.insert(Launch(launch.variant, launch.chunk_k, launch.split_kv, launch.wave_per_eu)).second)
      return;
    candidates_.push_back(
        {{launch.variant, launch.chunk_k, wanted.split_kv, launch.wave_per_eu}, is_default, nullptr});
  }
  // The slow path is all that there is.
  bool only_general() const {
    return std::all_of(candidates_.begin(), candidates_.end(),
                       [](const Candidate& c) { return c.config.variant == MQA_VARIANT_GENERAL; });
  }
  std::vector<Candidate> take() { return std::move(candidates_); }

private:
  LogitsCall call_;
  const mqa::DeviceFacts& device_;
  std::set<Launch> launches_;
  std::vector<Candidate> candidates_;
};

} // namespace

std::vector<Candidate> configuration_space(const Problem& problem, const mqa::DeviceFacts& device) {
  Space space(shape_call(problem), device);
  const auto blocks_of = [&](int32_t variant) {
    for (const int32_t chunk_k : kChunks)
      for (const int32_t split_kv : splits(most_keys(problem), chunk_k))
        for (const int32_t wave_per_eu : kWaves) space.add({variant, chunk_k, split_kv, wave_per_eu}, false);
  };
  space.add({0, 0, 0, 0}, true);
  blocks_of(MQA_VARIANT_STAGED);
  blocks_of(MQA_VARIANT_DIRECT);
  for (const int32_t workers : {2, 3, 4}) space.add({MQA_VARIANT_WGMMA, 0, 0, workers}, false);
  for (const int32_t chunk_k : kChunks)
    for (const int32_t wave_per_eu : kWaves)
      space.add({MQA_VARIANT_SCHEDULED, chunk_k, 0, wave_per_eu}, false);
  if (space.only_general()) blocks_of(MQA_VARIANT_GENERAL);
  return space.take();
}

std::string space_hash() { return "variant5-chunk64..1024-split0..256-wave1..4"; }

} // namespace mqalab
