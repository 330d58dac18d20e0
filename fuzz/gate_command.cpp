// mqalab gate: must kill, must pass, must survive.
#include "fuzz/commands.hpp"
#include "fuzz/gate.hpp"
#include "fuzz/progress.hpp"
#include "fuzz/stop_signal.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <memory>

namespace mqalab {
namespace {

struct Options {
  bool quick = false, json = false;
  int64_t cases = 2000;
  int64_t false_positives = 300;
  bool until_first = false;
  uint64_t seed = 1;
  int jobs = 1;
  std::string shard = "0/1";
  std::vector<std::string> only;
};

void read_shard(const std::string& text, GateOptions& options) {
  int end = 0;
  if (std::sscanf(text.c_str(), "%" SCNd64 "/%" SCNd64 "%n", &options.shard, &options.shards, &end) != 2 ||
      static_cast<size_t>(end) != text.size() || options.shard < 0 || options.shard >= options.shards)
    throw UsageError(
        fmt::format("--shard {}: no part of the cases; allowed: i/n with 0 <= i < n; try: 0/4", text));
}

ExitCode gate(const Options& o) {
  if (const auto unknown = unknown_rows(o.only); !unknown.empty())
    throw UsageError(
        fmt::format("--only {}: no row of the gate; allowed: must-kill, must-pass, must-survive, "
                    "false-positives or the name of a row; try: mqalab gate --quick lists them",
                    unknown.front()));
  const StopSignal stop;
  Progress progress;
  GateOptions options;
  options.quick = o.quick;
  options.most_generated = o.cases;
  options.false_positive_cases = o.false_positives;
  options.until_first_false_positive = o.until_first;
  options.seed = o.seed;
  options.jobs = o.jobs;
  options.only = o.only;
  read_shard(o.shard, options);
  const auto start = std::chrono::steady_clock::now();
  options.case_progress = [&](int64_t done, int64_t all) {
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    progress.show(
        fmt::format("gate: {} of {} cases on the production kernel, {} left", done, all,
                    span_text(seconds / static_cast<double>(done) * static_cast<double>(all - done))));
  };
  options.stop = StopSignal::requested;
  options.progress = [&](const GateRow& row, size_t done, size_t all) {
    progress.show(fmt::format("gate: {} of {}, {} {}: {}", done, all, name(row.kind), row.name,
                              row.passed ? "as it should be" : "FAILED"));
  };
  const Gate result = run_gate(make_checker(), options);
  progress.done();
  fmt::print("{}", o.json ? to_json(result) + "\n" : gate_table(result));
  return result.passed() ? ExitCode::clean : ExitCode::gate_failed;
}

} // namespace

void add_gate(CLI::App& app, ExitCode& code) {
  auto o = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "gate", "measure the oracle: every planted fault killed, every odd legal case passed");
  command->group("Fuzzing");
  command->add_flag("--quick", o->quick, "witnesses and odd cases only, without generated cases");
  command->add_option("--cases", o->cases, "generated cases at most until a fault must be found")
      ->check(CLI::Range(1, 1000000));
  command->add_flag("--until-first", o->until_first,
                    "the first false positive ends their count: how soon a kernel is found to be wrong");
  command
      ->add_option("--false-positives", o->false_positives,
                   "generated cases on the production kernel, none of which may be a finding")
      ->check(CLI::Range(0, 100000000));
  command->add_option("--shard", o->shard,
                      "i/n: only every n-th of these cases, from the i-th on; 0 <= i < n");
  command->add_option("--jobs", o->jobs, "processes for these cases")->check(CLI::Range(1, 256));
  command
      ->add_option("--only", o->only,
                   "rows: must-kill, must-pass, must-survive, false-positives or names, several with commas")
      ->delimiter(',');
  command->add_option("--seed", o->seed, "of the generated cases");
  command->add_flag("--json", o->json, "the table as JSON");
  command->footer(
      "example: mqalab gate --quick\nexit: 0 the gate is open, 30 a row failed or it was stopped");
  command->callback([o, &code] { code = gate(*o); });
}

} // namespace mqalab
