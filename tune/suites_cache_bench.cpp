// The cache writer and the gather alone, waiting included: memory traffic is all that they do, so bytes a
// second is what to look at.
#include "fuzz/device_memory.hpp"
#include "refimpl/cache_gather.hpp"
#include "refimpl/cache_write.hpp"
#include "refimpl/keys_data.hpp"

#include <benchmark/benchmark.h>

namespace mqalab {
namespace {

// One sequence of `tokens` in blocks of 64 with 128 dims, shuffled or not.
Problem cache_problem(Operation op, int64_t tokens, int64_t layout) {
  Case c;
  c.op = op, c.data.lane = Lane::numeric;
  c.shape.block_size = 64, c.shape.layout = static_cast<mqa_layout>(layout);
  c.shape.max_model_len = tokens, c.shape.context_lens = {static_cast<int32_t>(tokens)};
  c.block_table.mode = TableMode::shuffled;
  return resolve(c);
}

void cache_write_launch(benchmark::State& state) {
  const Problem p = cache_problem(Operation::cache_write, state.range(0), state.range(1));
  DeviceBuffer keys, slots, cache;
  upload_filled(keys, make_keys(p, {Lane::numeric, Pattern::general, 1, {}}));
  upload_all(slots, writer_slots(p));
  cache.resize(kv_cache_bytes(p));
  mqa_cache_write_args a{};
  a.struct_size = sizeof a;
  a.tokens = writer_tokens(p), a.head_dim = p.head_dim, a.block_size = p.block_size, a.layout = p.layout;
  a.num_blocks = p.num_blocks, a.keys = keys.data(), a.keys_stride = p.keys_stride;
  a.slots = reinterpret_cast<const int64_t*>(slots.data());
  a.kv_cache = cache.data(), a.kv_block_stride_bytes = p.kv_block_stride_bytes;
  apply_stress({});
  for (auto _ : state)
    if (mqa_cache_write(&a, nullptr) != MQA_OK || hipDeviceSynchronize() != hipSuccess)
      return state.SkipWithError(mqa_last_error());
  state.SetItemsProcessed(state.iterations() * a.tokens);
  state.SetBytesProcessed(state.iterations() * a.tokens * (2 * p.head_dim + 8 + p.head_dim + 4));
}
BENCHMARK(cache_write_launch)
    ->ArgNames({"tokens", "shuffled"})
    ->Args({64, 1})
    ->Args({8192, 0})
    ->Args({8192, 1})
    ->Unit(benchmark::kMicrosecond);

void cache_gather_launch(benchmark::State& state) {
  const Problem p = cache_problem(Operation::cache_gather, state.range(0), state.range(1));
  const std::vector<int32_t> prefix = gather_prefix(p);
  DeviceBuffer cache, table, lengths, keys, scales;
  upload_filled(cache, generate(p, {Lane::numeric, Pattern::general, 1, {}}).kv_cache);
  upload_all(table, p.block_table);
  upload_all(lengths, prefix);
  keys.resize(gathered_keys_bytes(p)), scales.resize(gathered_scales_bytes(p));
  mqa_cache_gather_args a{};
  a.struct_size = sizeof a;
  a.batch = p.batch, a.head_dim = p.head_dim, a.block_size = p.block_size, a.layout = p.layout;
  a.num_blocks = p.num_blocks, a.kv_cache = cache.data(), a.kv_block_stride_bytes = p.kv_block_stride_bytes;
  a.block_table = reinterpret_cast<const int32_t*>(table.data()), a.block_table_stride = p.block_table_stride;
  a.cu_seq_lens = reinterpret_cast<const int32_t*>(lengths.data()), a.tokens = prefix.back();
  a.keys = keys.data(), a.keys_stride = p.keys_stride;
  a.scales = reinterpret_cast<float*>(scales.data()), a.scales_stride = p.key_scales_stride;
  apply_stress({});
  for (auto _ : state)
    if (mqa_cache_gather(&a, nullptr) != MQA_OK || hipDeviceSynchronize() != hipSuccess)
      return state.SkipWithError(mqa_last_error());
  state.SetItemsProcessed(state.iterations() * a.tokens);
  state.SetBytesProcessed(state.iterations() * a.tokens * 2 * (p.head_dim + 4));
}
BENCHMARK(cache_gather_launch)
    ->ArgNames({"tokens", "shuffled"})
    ->Args({64, 1})
    ->Args({8192, 0})
    ->Args({8192, 1})
    ->Unit(benchmark::kMicrosecond);

} // namespace
} // namespace mqalab
