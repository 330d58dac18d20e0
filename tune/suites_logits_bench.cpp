// Every operation that makes logits, alone and waiting included, on the same 2048 keys; and the full check of
// every operation.
#include "fuzz/logits_output.hpp"
#include "fuzz/oracle.hpp"

#include <benchmark/benchmark.h>

namespace mqalab {
namespace {

Case case_of(const char* json) { return case_from_json(json, "benchmark"); }

constexpr const char* kPaged =
    R"({"heads": 64, "next_n": 2, "block_size": 64, "layout": "shuffled", "fp8": "e4m3fnuz",
  "context_lens": [2048], "max_model_len": 2048})";
constexpr const char* kScheduled = R"({"heads": 64, "next_n": 2, "block_size": 64, "layout": "shuffled",
  "fp8": "e4m3fnuz", "context_lens": [2048], "max_model_len": 2048, "config": {"variant": "scheduled"}})";
constexpr const char* kGeneral = R"({"heads": 64, "next_n": 2, "block_size": 64, "layout": "shuffled",
  "fp8": "e4m3fnuz", "context_lens": [2048], "max_model_len": 2048, "config": {"variant": "general"}})";
constexpr const char* kRagged = R"({"op": "ragged_mqa_logits", "heads": 64, "next_n": 2, "fp8": "e4m3fnuz",
  "context_lens": [2048], "max_model_len": 2048})";
constexpr const char* kPerHead = R"({"op": "per_head_mqa_logits", "heads": 64, "next_n": 2, "block_size": 64,
  "layout": "shuffled", "fp8": "e4m3fnuz", "context_lens": [2048], "max_model_len": 2048})";
constexpr const char* kHeadSum = R"({"op": "per_head_sum", "heads": 64, "next_n": 2, "block_size": 64,
  "layout": "shuffled", "fp8": "e4m3fnuz", "context_lens": [2048], "max_model_len": 2048, "tail": "neg_inf"})";
constexpr const char* kPrefill = R"({"op": "prefill_mqa_logits", "heads": 64, "next_n": 2, "fp8": "e4m3fnuz",
  "context_lens": [2048, 2048], "max_model_len": 2048})";
constexpr const char* kTopK =
    R"({"op": "top_k", "context_lens": [2049], "max_model_len": 2049, "top_k": {"k": 512}})";
constexpr const char* kWrite =
    R"({"op": "cache_write", "block_size": 16, "context_lens": [512], "max_model_len": 512})";
constexpr const char* kGather =
    R"({"op": "cache_gather", "block_size": 16, "context_lens": [512], "max_model_len": 512})";
constexpr const char* kIndexer =
    R"({"op": "indexer", "heads": 32, "next_n": 2, "block_size": 16, "context_lens": [512],
  "max_model_len": 512, "top_k": {"k": 128}})";

void logits_launch(benchmark::State& state, const char* json) {
  const Case c = case_of(json);
  const Problem p = resolve(c);
  TrialMemory memory;
  LogitsOutput output(memory, p);
  memory.inputs.upload(p, generate(p, {Lane::numeric, Pattern::general, 1, {}}));
  output.prefill(1);
  apply_stress({});
  for (auto _ : state)
    if (const LaunchResult ran = output.launch(c.config, nullptr); ran.status != VerdictClass::ok)
      return state.SkipWithError(ran.message.c_str());
  state.SetItemsProcessed(state.iterations() * p.rows() * 2048);
}
BENCHMARK_CAPTURE(logits_launch, paged, kPaged)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(logits_launch, scheduled, kScheduled)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(logits_launch, general, kGeneral)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(logits_launch, ragged, kRagged)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(logits_launch, per_head, kPerHead)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(logits_launch, per_head_sum, kHeadSum)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(logits_launch, prefill, kPrefill)->Unit(benchmark::kMicrosecond);

void check_of(benchmark::State& state, const char* json) {
  Oracle oracle;
  const Case c = case_of(json);
  for (auto _ : state)
    if (const Verdict v = oracle.check(c); v.verdict != VerdictClass::ok)
      return state.SkipWithError(v.message.c_str());
  state.counters["checks"] =
      benchmark::Counter(static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
}
BENCHMARK_CAPTURE(check_of, ragged, kRagged)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(check_of, per_head, kPerHead)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(check_of, per_head_sum, kHeadSum)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(check_of, prefill, kPrefill)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(check_of, general, kGeneral)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(check_of, top_k, kTopK)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(check_of, cache_write, kWrite)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(check_of, cache_gather, kGather)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(check_of, indexer, kIndexer)->Unit(benchmark::kMillisecond);

} // namespace
} // namespace mqalab
