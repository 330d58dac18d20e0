// The cache writer: keys and slots in, the cache judged byte by byte, also where no slot points.
#include "fuzz/byte_trial.hpp"
#include "fuzz/production.hpp"
#include "refimpl/cache_write.hpp"
#include "refimpl/keys_data.hpp"

#include <algorithm>
#include <cstring>

namespace mqalab {
namespace {

// What a token leaves in the cache.
void add_due(const Problem& p, int64_t token, int64_t slot, const QuantisedKey& key,
             std::vector<DueBytes>& due) {
  const int64_t block = slot / p.block_size;
  const auto in_block = static_cast<int32_t>(slot % p.block_size);
  for (int32_t d = 0; d < p.head_dim; d += 16) {
    DueBytes piece{value_offset_bytes(p, block, in_block, d), token, d, 16, {}};
    std::copy_n(key.values.begin() + d, 16, piece.bytes.begin());
    due.push_back(piece);
  }
  DueBytes scale{scale_offset_bytes(p, block, in_block), token, p.head_dim, 4, {}};
  std::memcpy(scale.bytes.data(), &key.scale, 4);
  due.push_back(scale);
}

class CacheWriteTrial : public ByteTrial {
public:
  CacheWriteTrial(TrialMemory& memory, const Case& c)
      : memory_(memory), data_(c.data), problem_(resolve(c)), slots_(writer_slots(problem_)),
        keys_(make_keys(problem_, data_, Poison::nan_codes)) {
    ByteOutput cache{"kv_cache", {}, {}};
    std::vector<ByteRange> blocks;
    for (size_t token = 0; token < slots_.size(); ++token) {
      if (!is_written(problem_, slots_[token])) continue;
      const std::vector<float> key = key_of_token(problem_, keys_, static_cast<int64_t>(token));
      add_due(problem_, static_cast<int64_t>(token), slots_[token],
              quantise(key, problem_.fp8, problem_.scale_format), cache.due);
      const int64_t begin = slots_[token] / problem_.block_size * problem_.kv_block_stride_bytes;
      blocks.push_back({begin, begin + int64_t{problem_.block_size} * (problem_.head_dim + 4)});
    }
    std::ranges::sort(cache.due, {}, &DueBytes::offset_bytes);
    cache.windows = watched_bytes(kv_cache_bytes(problem_), blocks);
    outputs_.push_back(std::move(cache));
  }

  const Problem& problem() const override { return problem_; }
  const std::vector<ByteOutput>& outputs() const override { return outputs_; }
  int64_t output_bytes(size_t) const override { return kv_cache_bytes(problem_); }
  int64_t most_instructions() const override { return 4'000'000 + 100 * static_cast<int64_t>(slots_.size()); }

  void upload(bool other_poison) override {
    if (other_poison)
      keys().put(make_keys(problem_, data_, Poison::large_finite));
    else
      keys().put(keys_);
    slots().put(slots_);
  }
  LaunchResult launch(const Fault* fault) override {
    const mqa_cache_write_args args = arguments();
    if (!fault) return started(production().cache_write(&args, nullptr));
    return start_planted(*fault, fault->launch.cache_write, args);
  }
  std::optional<ChangedInput> changed_input() const override {
    return first_changed({{"keys", keys()}, {"slots", slots()}});
  }

private:
  InputBuffer& keys() const { return memory_.buffers[0]; }
  InputBuffer& slots() const { return memory_.buffers[1]; }
  mqa_cache_write_args arguments() const {
    mqa_cache_write_args a = cache_write_shape(problem_);
    a.tokens = static_cast<int64_t>(slots_.size());
    a.keys = keys().data(), a.slots = reinterpret_cast<const int64_t*>(slots().data());
    a.kv_cache = memory_.outputs[0].data();
    return a;
  }

  TrialMemory& memory_;
  const DataSpec& data_;
  Problem problem_;
  std::vector<int64_t> slots_;
  SparseBuffer keys_;
  std::vector<ByteOutput> outputs_;
};

} // namespace

mqa_cache_write_args cache_write_shape(const Problem& p) {
  mqa_cache_write_args a{};
  a.struct_size = sizeof a;
  a.head_dim = p.head_dim, a.block_size = p.block_size, a.layout = p.layout, a.fp8 = p.fp8;
  a.key_type = p.key_type, a.scale_format = p.scale_format, a.num_blocks = p.num_blocks;
  a.keys_stride = p.keys_stride, a.kv_block_stride_bytes = p.kv_block_stride_bytes;
  return a;
}

Verdict try_cache_write(TrialMemory& memory, const Case& c, const Fault* fault,
                        const OracleOptions& options) {
  CacheWriteTrial trial(memory, c);
  return run_trial(memory, trial, fault, options);
}

} // namespace mqalab
