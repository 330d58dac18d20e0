// See space.hpp.  The library's own resolve_config says what is legal and what is the same launch.
#include "tune/space.hpp"

#include <algorithm>
#include <set>
#include <tuple>

namespace mqalab {
namespace {

constexpr int32_t kChunks[] = {64, 128, 256, 512, 1024};
constexpr int32_t kWaves[] = {1, 2, 4};
constexpr int32_t kMostSplits = 256;

// 0 (automatic), then powers of two while each split still owns a chunk.
std::vector<int32_t> splits(int64_t max_model_len, int32_t chunk_k) {
  const int64_t chunks = (max_model_len + chunk_k - 1) / chunk_k;
  std::vector<int32_t> all{0};
  for (int32_t s = 1; s <= std::min<int64_t>(chunks, kMostSplits); s *= 2) all.push_back(s);
  return all;
}

using Launch = std::tuple<int32_t, int32_t, int32_t, int32_t>;

class Space {
public:
  Space(const mqa_paged_logits_args& args, const mqa::DeviceFacts& device) : args_(args), device_(device) {}

  void add(mqa_config wanted, bool is_default) {
    mqa::LaunchConfig launch;
    std::string why;
    if (mqa::resolve_config(args_, wanted, device_, &launch, &why) != MQA_OK) return;
    if (!launches_.insert(Launch(launch.variant, launch.chunk_k, launch.split_kv, launch.wave_per_eu)).second)
      return;
    candidates_.push_back(
        {{launch.variant, launch.chunk_k, wanted.split_kv, launch.wave_per_eu}, is_default, nullptr});
  }
  std::vector<Candidate> take() { return std::move(candidates_); }

private:
  const mqa_paged_logits_args& args_;
  const mqa::DeviceFacts& device_;
  std::set<Launch> launches_;
  std::vector<Candidate> candidates_;
};

} // namespace

mqa_paged_logits_args shape_args(const Problem& p) {
  mqa_paged_logits_args a{};
  a.struct_size = sizeof a;
  a.batch = p.batch, a.next_n = p.next_n, a.heads = p.heads, a.head_dim = p.head_dim,
  a.block_size = p.block_size;
  a.layout = p.layout, a.fp8 = p.fp8, a.tail = p.tail, a.max_model_len = p.max_model_len,
  a.num_blocks = p.num_blocks;
  a.q_stride_batch = p.q_stride_batch, a.q_stride_next = p.q_stride_next, a.q_stride_head = p.q_stride_head;
  a.kv_block_stride_bytes = p.kv_block_stride_bytes, a.weights_stride = p.weights_stride;
  a.lens_per_row = p.lens_per_row, a.context_lens_stride = p.lens_per_row ? p.next_n : 1;
  a.block_table_stride = p.block_table_stride, a.logits_stride = p.logits_stride;
  return a;
}

std::vector<Candidate> configuration_space(const mqa_paged_logits_args& args,
                                           const mqa::DeviceFacts& device) {
  Space space(args, device);
  space.add({0, 0, 0, 0}, true);
  for (const int32_t variant : {MQA_VARIANT_STAGED, MQA_VARIANT_DIRECT})
    for (const int32_t chunk_k : kChunks)
      for (const int32_t split_kv : splits(args.max_model_len, chunk_k))
        for (const int32_t wave_per_eu : kWaves) space.add({variant, chunk_k, split_kv, wave_per_eu}, false);
  for (const int32_t workers : {2, 3, 4}) space.add({MQA_VARIANT_WGMMA, 0, 0, workers}, false);
  return space.take();
}

std::string space_hash() { return "variant3-chunk64..1024-split0..256-wave1..4"; }

} // namespace mqalab
