// mqalab practice: what the metrics of common practice let through, beside our oracle.
#include "fuzz/commands.hpp"
#include "fuzz/practice_run.hpp"
#include "fuzz/progress.hpp"
#include "fuzz/stop_signal.hpp"

#include <fmt/format.h>

#include <fstream>
#include <memory>

namespace mqalab {
namespace {

struct Options {
  PracticeOptions compare;
  std::string path;
  bool json = false;
};

void write(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (!file)
    throw UsageError(fmt::format("-o {}: cannot be written; allowed: a file in a folder that exists; try: -o "
                                 "practice.md",
                                 path));
}

ExitCode practice(const Options& o) {
  const StopSignal stop;
  Progress progress;
  PracticeOptions options = o.compare;
  options.stop = StopSignal::requested;
  options.progress = [&](const std::string& what, size_t done, size_t all) {
    progress.show(fmt::format("practice: {} of {}, {}", done, all, what));
  };
  const Practice result = run_practice(device_bench(), options);
  progress.done();
  if (result.stopped) {
    fmt::print(stderr, "practice: stopped early; nothing was written\n");
    return ExitCode::degraded;
  }
  const std::string key = mqa_device_key();
  const std::string text =
      o.json ? to_json(result, options, key) + "\n" : practice_page(result, options, key);
  if (o.path.empty())
    fmt::print("{}", text);
  else
    write(o.path, text);
  return ExitCode::clean;
}

} // namespace

void add_practice(CLI::App& app, ExitCode& code) {
  auto o = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "practice", "what the metrics of common practice let through, beside the oracle (docs/practice.md)");
  command->group("Fuzzing");
  command->add_option("-o,--out", o->path, "the file to write; without it the page is printed");
  command->add_option("--cases", o->compare.cases, "generated cases on the production kernel")
      ->check(CLI::Range(0, 1000000));
  command->add_option("--faults", o->compare.faults, "only the first so many planted faults; 0: all")
      ->check(CLI::Range(0, 10000));
  command->add_option("--seed", o->compare.seed, "of the generated cases");
  command->add_flag("--json", o->json, "the counts and every run as JSON");
  command->footer("example: mqalab practice -o docs/practice.md\nexit: 0 it was measured, 20 it was stopped");
  command->callback([o, &code] { code = practice(*o); });
}

} // namespace mqalab
