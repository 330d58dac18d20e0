// Google Benchmark of the reference: it, not the kernel, decides how many cases a core checks in a second.
#include "refimpl/reference.hpp"

#include <benchmark/benchmark.h>

#include <numeric>

namespace mqalab {
namespace {

// 32 heads of 128, block size 16, one row.
Problem decode_problem(int64_t context) {
  Problem p;
  p.heads = 32, p.block_size = 16;
  p.max_model_len = p.logits_stride = context;
  p.context_lens = {int32_t(context)};
  p.num_blocks = p.block_table_stride = (context + 15) / 16;
  p.block_table.resize(size_t(p.num_blocks));
  std::iota(p.block_table.begin(), p.block_table.end(), 0);
  p.q_stride_batch = p.q_stride_next = 32 * 128, p.q_stride_head = 128;
  p.weights_stride = 32;
  p.kv_block_stride_bytes = 16 * (128 + 4);
  return p;
}

void reference_speed(benchmark::State& state, bool with_bound) {
  const Problem p = decode_problem(state.range(0));
  const DataSpec data{.lane = with_bound ? Lane::numeric : Lane::exact, .overrides = {}};
  const Tensors tensors = generate(p, data);
  for (auto _ : state) benchmark::DoNotOptimize(reference(p, tensors, Policy{}, with_bound));
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

void generate_speed(benchmark::State& state) {
  const Problem p = decode_problem(state.range(0));
  const DataSpec data;
  for (auto _ : state) benchmark::DoNotOptimize(generate(p, data));
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

BENCHMARK_CAPTURE(reference_speed, with_bound, true)->Arg(64)->Arg(2049)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(reference_speed, values_only, false)->Arg(64)->Arg(2049)->Unit(benchmark::kMicrosecond);
BENCHMARK(generate_speed)->Arg(64)->Arg(2049)->Unit(benchmark::kMicrosecond);

} // namespace
} // namespace mqalab
