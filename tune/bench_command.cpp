// mqalab bench: the Google Benchmark suites linked into the program.
#include "tune/commands.hpp"
#include "tune/kernel_table.hpp"

#include <benchmark/benchmark.h>

#include <cstdio>
#include <memory>
#include <regex>

namespace mqalab {
namespace {

struct BenchCommand {
  std::string filter, shapes;
  double seconds = 0.5;
  int repetitions = 1;
  bool list = false, json = false;
};

ExitCode bench(const BenchCommand& o) {
  try {
    std::regex check(o.filter);
  } catch (const std::regex_error& e) {
    throw UsageError("--filter is " + o.filter + "; allowed: a regular expression; try: lookup");
  }
#ifdef MQA_PLATFORM_NVIDIA
  // The kernel table is a benchmark of its own kind: graphs, cold caches, a yardstick in the same run.
  if (o.filter == "kernel" && !o.list)
    return kernel_table(
               {o.shapes, 21, o.json, {{}, {MQA_VARIANT_WGMMA, 0, 0, 3}, {MQA_VARIANT_WGMMA, 0, 0, 2}}}) > 0
               ? ExitCode::clean
               : throw UsageError("--shapes is " + o.shapes +
                                  "; allowed: one that matches a shape; try: '64x8192 n1'");
#else
  if (o.filter == "kernel")
    std::fprintf(
        stderr,
        "mqalab bench: the kernel table needs an NVIDIA sm_90 device; what follows times the simulator\n");
#endif
  std::vector<std::string> words{"mqalab", "--benchmark_filter=" + (o.filter.empty() ? "." : o.filter),
                                 "--benchmark_min_time=" + std::to_string(o.seconds),
                                 "--benchmark_repetitions=" + std::to_string(o.repetitions)};
  if (o.list) words.push_back("--benchmark_list_tests=true");
  if (o.json) words.push_back("--benchmark_format=json");
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  int argc = static_cast<int>(argv.size());
  benchmark::Initialize(&argc, argv.data());
  const size_t ran = benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  if (ran == 0)
    throw UsageError("--filter is " + o.filter +
                     "; allowed: one that matches a benchmark; try: mqalab bench --list");
  return ExitCode::clean;
}

} // namespace

void add_bench(CLI::App& app, ExitCode& code) {
  auto o = std::make_shared<BenchCommand>();
  CLI::App* command = app.add_subcommand(
      "bench", "benchmarks: checks a second, reference, look-up, host launch cost, kernel");
  command->group("Tuning");
  command->add_option("--filter", o->filter, "only benchmarks whose name matches this regular expression");
  command->add_option("--shapes", o->shapes,
                      "of the kernel table (--filter kernel, on an H200): a regular expression");
  command->add_option("--min-time", o->seconds, "seconds for each")->check(finite_above_zero());
  command->add_option("--repetitions", o->repetitions)->check(CLI::Range(1, 1000));
  command->add_flag("--list", o->list, "names only");
  command->add_flag("--json", o->json, "as JSON");
  command->footer("example: mqalab bench --filter 'lookup|check'\nexit: 0 ran, 2 bad input");
  command->callback([o, &code] { code = with_advice("bench", [&] { return bench(*o); }); });
}

} // namespace mqalab
