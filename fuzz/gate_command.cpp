// mqalab gate: must kill, must pass, must survive.
#include "fuzz/commands.hpp"
#include "fuzz/gate.hpp"
#include "fuzz/progress.hpp"
#include "fuzz/stop_signal.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <memory>

namespace mqalab {
namespace {

struct Options {
  bool quick = false, json = false;
  int64_t cases = 2000;
  uint64_t seed = 1;
};

ExitCode gate(const Options& o) {
  const StopSignal stop;
  Progress progress;
  GateOptions options;
  options.quick = o.quick;
  options.most_generated = o.cases;
  options.seed = o.seed;
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
  command->add_option("--seed", o->seed, "of the generated cases");
  command->add_flag("--json", o->json, "the table as JSON");
  command->footer(
      "example: mqalab gate --quick\nexit: 0 the gate is open, 30 a row failed or it was stopped");
  command->callback([o, &code] { code = gate(*o); });
}

} // namespace mqalab
