// The lab's benchmarks.  Goals: 200 full checks a second and core at 32 heads x 128, context 2049, block size
// 16; a look-up below 100 ns; the host's share of a launch below 3 us.
#include "fuzz/device_memory.hpp"
#include "fuzz/oracle.hpp"
#include "kernels/choose.hpp"
#include "kernels/serving_table.hpp"
#include "refimpl/top_k_data.hpp"
#include "tune/call.hpp"
#include "tune/space.hpp"

#include <benchmark/benchmark.h>

namespace mqalab {
namespace {

Case decode_case(int32_t heads, int32_t context, Lane lane) {
  Case c;
  c.shape.heads = heads, c.shape.block_size = 16, c.shape.max_model_len = context,
  c.shape.context_lens = {context};
  c.data.lane = lane;
  return c;
}

// Generation, upload, every launch, reference and judgement; what `mqalab check` does.
void check(benchmark::State& state, Lane lane) {
  Oracle oracle;
  const Case c = decode_case(32, static_cast<int32_t>(state.range(0)), lane);
  for (auto _ : state)
    if (const Verdict v = oracle.check(c); v.verdict != VerdictClass::ok)
      return state.SkipWithError(v.message.c_str());
  state.counters["checks"] =
      benchmark::Counter(static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
}
BENCHMARK_CAPTURE(check, exact, Lane::exact)->Arg(64)->Arg(2049)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(check, numeric, Lane::numeric)->Arg(2049)->Unit(benchmark::kMillisecond);

// The k largest of rows of gaussian logits, waiting included; 0 or 1: stable.
void top_k_launch(benchmark::State& state) {
  constexpr int32_t kRows = 4;
  Case c;
  c.op = Operation::top_k, c.data.lane = Lane::numeric;
  c.shape.batch = kRows, c.shape.max_model_len = state.range(0);
  c.shape.context_lens.assign(kRows, static_cast<int32_t>(state.range(0)));
  const Problem problem = resolve(c);
  const auto k = static_cast<int32_t>(state.range(1));
  DeviceBuffer logits, lengths, indices;
  upload_filled(logits, top_k_logits(problem, c.data, Poison::nan_codes));
  upload_all(lengths, problem.context_lens);
  indices.resize(int64_t{4} * kRows * k);
  mqa_top_k_args a{};
  a.struct_size = sizeof a;
  a.batch = kRows, a.next_n = 1, a.k = k, a.stable = static_cast<int32_t>(state.range(2));
  a.columns = problem.max_model_len, a.logits_stride = problem.logits_stride, a.indices_stride = k;
  a.logits = reinterpret_cast<const float*>(logits.data());
  a.context_lens = reinterpret_cast<const int32_t*>(lengths.data()), a.context_lens_stride = 1;
  a.indices = reinterpret_cast<int32_t*>(indices.data());
  apply_stress({});
  for (auto _ : state)
    if (mqa_top_k(&a, nullptr) != MQA_OK || hipDeviceSynchronize() != hipSuccess)
      return state.SkipWithError(mqa_last_error());
  state.SetItemsProcessed(state.iterations() * kRows * state.range(0));
}
BENCHMARK(top_k_launch)
    ->ArgNames({"columns", "k", "stable"})
    ->Args({32768, 2048, 0})
    ->Args({32768, 2048, 1})
    ->Args({2049, 2048, 1})
    ->Unit(benchmark::kMicrosecond);

mqa_paged_logits_args decode_args(int32_t batch) {
  auto a = std::get<mqa_paged_logits_args>(shape_call(resolve(decode_case(32, 2048, Lane::exact))));
  a.batch = batch;
  return a;
}

// A table as a large deployment would have it.
mqa::ServingTable large_table() {
  mqa::DatabaseFile file;
  for (int32_t i = 0; i < 4096; ++i) {
    mqa::TunedRow row;
    row.id = i, row.problem = mqa::problem_key(decode_args(1)),
    row.problem.next_n = static_cast<uint16_t>(i + 1);
    row.config = {MQA_VARIANT_STAGED, 256, 4, 2}, row.device = "gfx942/cu304/wave64/lds65536",
    row.kernel_hash = "hash", row.certified = true;
    file.rows.push_back(row);
  }
  return mqa::ServingTable({file}, "hash");
}

void lookup_table(benchmark::State& state) {
  const mqa::ServingTable table = large_table();
  mqa_paged_logits_args args = decode_args(1);
  for (auto _ : state) {
    args.next_n = args.next_n % 4096 + 1;
    benchmark::DoNotOptimize(table.find(mqa::problem_key(args), "gfx942/cu304/wave64/lds65536", false));
  }
}
BENCHMARK(lookup_table);

// What a launch pays for the choice: key, snapshot, table, reason copied.
void lookup_choose(benchmark::State& state) {
  const mqa_paged_logits_args args = decode_args(64);
  mqa::DeviceFacts device;
  device.key = "gfx942/cu304/wave64/lds65536";
  for (auto _ : state) benchmark::DoNotOptimize(mqa::choose(mqa::problem_key(args), device));
}
BENCHMARK(lookup_choose);

// All that the host does for a launch but the runtime's own call.
void launch_host_cost(benchmark::State& state) {
  const mqa_paged_logits_args args = decode_args(64);
  mqa_choice choice{};
  choice.struct_size = sizeof choice;
  for (auto _ : state)
    if (mqa_choose(&args, &choice) != MQA_OK) return state.SkipWithError(mqa_last_error());
}
BENCHMARK(launch_host_cost);

} // namespace
} // namespace mqalab
