// The gather: a cache, its table and the lengths in, keys and scales judged byte by byte, their paddings too.
#include "fuzz/byte_trial.hpp"
#include "fuzz/production.hpp"
#include "refimpl/cache_gather.hpp"

#include <algorithm>
#include <cstring>

namespace mqalab {
namespace {

class CacheGatherTrial : public ByteTrial {
public:
  CacheGatherTrial(TrialMemory& memory, const Case& c)
      : memory_(memory), case_(c), problem_(resolve(c)), prefix_(gather_prefix(problem_)),
        cache_(generate(problem_, c.data, Poison::nan_codes).kv_cache),
        outputs_{{"keys", {}, {}}, {"scales", {}, {}}} {
    std::vector<ByteRange> key_ranges, scale_ranges;
    for (int32_t b = 0; b < problem_.batch; ++b)
      for (int64_t row = prefix_[size_t(b)]; row < prefix_[size_t(b) + 1]; ++row) {
        add_due(row, gathered(problem_, cache_, b, row - prefix_[size_t(b)]));
        const int64_t key = row * problem_.keys_stride, scale = 4 * row * problem_.key_scales_stride;
        key_ranges.push_back({key, key + problem_.head_dim}), scale_ranges.push_back({scale, scale + 4});
      }
    outputs_[0].windows = watched_bytes(output_bytes(0), key_ranges);
    outputs_[1].windows = watched_bytes(output_bytes(1), scale_ranges);
  }

  const Problem& problem() const override { return problem_; }
  const std::vector<ByteOutput>& outputs() const override { return outputs_; }
  int64_t output_bytes(size_t output) const override {
    return output ? gathered_scales_bytes(problem_) : gathered_keys_bytes(problem_);
  }
  int64_t most_instructions() const override { return 4'000'000 + 100 * int64_t{prefix_.back()}; }

  void upload(bool other_poison) override {
    if (other_poison) {
      Problem padded = problem_;
      fill_table_padding(padded, other_padding());
      cache().put(generate(problem_, case_.data, Poison::large_finite).kv_cache);
      table().put(padded.block_table);
    } else {
      cache().put(cache_);
      table().put(problem_.block_table);
    }
    lengths().put(prefix_);
  }
  LaunchResult launch(const Fault* fault) override {
    const mqa_cache_gather_args args = arguments();
    if (!fault) return started(production().cache_gather(&args, nullptr));
    return start_planted(*fault, fault->launch.cache_gather, args);
  }
  std::optional<ChangedInput> changed_input() const override {
    return first_changed({{"kv_cache", cache()}, {"block_table", table()}, {"cu_seq_lens", lengths()}});
  }

private:
  void add_due(int64_t row, const GatheredKey& key) {
    for (int32_t d = 0; d < problem_.head_dim; d += 16) {
      DueBytes piece{row * problem_.keys_stride + d, row, d, 16, {}};
      std::copy_n(key.values.begin() + d, 16, piece.bytes.begin());
      outputs_[0].due.push_back(piece);
    }
    DueBytes scale{4 * row * problem_.key_scales_stride, row, problem_.head_dim, 4, {}};
    std::memcpy(scale.bytes.data(), &key.scale_bits, 4);
    outputs_[1].due.push_back(scale);
  }
  TablePadding other_padding() const {
    return case_.block_table.padding == TablePadding::poisoned || problem_.num_blocks == 0
               ? TablePadding::minus_one
               : TablePadding::poisoned;
  }
  InputBuffer& cache() const { return memory_.buffers[0]; }
  InputBuffer& table() const { return memory_.buffers[1]; }
  InputBuffer& lengths() const { return memory_.buffers[2]; }
  mqa_cache_gather_args arguments() const {
    const Problem& p = problem_;
    mqa_cache_gather_args a{};
    a.struct_size = sizeof a;
    a.batch = p.batch, a.head_dim = p.head_dim, a.block_size = p.block_size, a.layout = p.layout;
    a.num_blocks = p.num_blocks;
    a.kv_cache = cache().data(), a.kv_block_stride_bytes = p.kv_block_stride_bytes;
    a.block_table = reinterpret_cast<const int32_t*>(table().data()),
    a.block_table_stride = p.block_table_stride;
    a.cu_seq_lens = reinterpret_cast<const int32_t*>(lengths().data()), a.tokens = prefix_.back();
    a.keys = memory_.outputs[0].data(), a.keys_stride = p.keys_stride;
    a.scales = memory_.outputs[1].floats(), a.scales_stride = p.key_scales_stride;
    return a;
  }

  TrialMemory& memory_;
  const Case& case_;
  Problem problem_;
  std::vector<int32_t> prefix_;
  SparseBuffer cache_;
  std::vector<ByteOutput> outputs_;
};

} // namespace

Verdict try_cache_gather(TrialMemory& memory, const Case& c, const Fault* fault,
                         const OracleOptions& options) {
  CacheGatherTrial trial(memory, c);
  return run_trial(memory, trial, fault, options);
}

} // namespace mqalab
