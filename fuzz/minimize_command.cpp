// mqalab minimize: a failing case made small, with its law.
#include "fuzz/commands.hpp"
#include "fuzz/disk.hpp"
#include "fuzz/law.hpp"
#include "fuzz/minimize.hpp"
#include "fuzz/oracle.hpp"
#include "fuzz/progress.hpp"
#include "fuzz/stop_signal.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cstdio>
#include <memory>

namespace mqalab {
namespace {

struct Options {
  std::string path, out, fault;
  int64_t checks = 4000;
  bool json = false;
};

void report(const Options& o, const Minimized& result, const Law& law, const Verdict& verdict) {
  if (o.json) {
    nlohmann::json boundaries = nlohmann::json::array();
    for (const Boundary& b : law.boundaries)
      boundaries.push_back(
          {{"axis", b.axis}, {"last_passing", b.last_passing}, {"first_failing", b.first_failing}});
    const nlohmann::json all{{"minimal", nlohmann::json::parse(to_json(result.smallest))},
                             {"finished", result.finished},
                             {"checks", result.checks + law.checks},
                             {"law", law.text},
                             {"boundaries", boundaries},
                             {"verdict", nlohmann::json::parse(to_json(verdict))}};
    fmt::print("{}\n", all.dump(2));
    return;
  }
  fmt::print("{}\n{}\n", verdict.message, to_json(result.smallest));
  for (const Boundary& b : law.boundaries)
    fmt::print("{}: last passing {}, first failing {}\n", b.axis, b.last_passing, b.first_failing);
  if (!law.text.empty()) fmt::print("law: {}\n", law.text);
  fmt::print("{} checks, {} steps{}\n", result.checks + law.checks, result.accepted,
             result.finished ? "" : "; stopped early, the best so far");
}

ExitCode minimize_case(const Options& o) {
  const Fault* fault = fault_named(o.fault);
  const Case start = legal_case(o.path, "");
  Oracle oracle;
  const Verdict first = oracle.check(start, fault);
  if (!is_finding(first.verdict)) {
    fmt::print(stderr,
               "mqalab minimize: {}: the case does not fail: {}\n  allowed: a case that `mqalab check` exits "
               "10 for\n",
               o.path,
               first.verdict == VerdictClass::ok ? "every cell is as the contract wants it" : first.message);
    return ExitCode::bad_input;
  }
  const StopSignal stop;
  Progress progress;
  const OracleOptions asked = options_for(first.signature);
  const auto check = [&](const Case& c) { return oracle.check(c, fault, asked); };
  const SameBug same = [&](const Case& c) { return same_bug(check(c).signature, first.signature); };
  MinimizeOptions options;
  options.most_checks = o.checks;
  options.stop = StopSignal::requested;
  options.progress = [&](const Case& best, int64_t checks) {
    progress.show(fmt::format("{} checks: {}", checks, to_json(best, -1)));
    if (!o.out.empty()) write_whole(o.out, to_json(best) + "\n"); // a kill -9 keeps the best so far, too
  };
  const Minimized result = minimize(start, same, options);
  const Law law = find_law(result.smallest, observing(check, first.signature), options);
  progress.done();
  if (!o.out.empty()) write_whole(o.out, to_json(result.smallest) + "\n");
  report(o, result, law, check(result.smallest));
  return ExitCode::findings;
}

} // namespace

void add_minimize(CLI::App& app, ExitCode& code) {
  auto o = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("minimize", "make a failing case small and state the law of its boundary");
  command->group("Fuzzing");
  command->add_option("CASE", o->path, "case file (JSON) that fails")->required();
  command->add_option("-o,--out", o->out, "where to put the minimal case; kept up to date while it shrinks");
  command->add_option("--fault", o->fault,
                      "a planted fault (`mqalab faults`) instead of the production kernel");
  command->add_option("--checks", o->checks, "at most so many checks")->check(CLI::Range(1, 1000000));
  command->add_flag("--json", o->json, "result as JSON");
  command->footer("example: mqalab minimize case.json -o min.json --fault out_offset_32\n"
                  "exit: 10 minimised (it fails), 2 the case does not fail, 20 the disk is full");
  command->callback([o, &code] {
    try {
      code = minimize_case(*o);
    } catch (const DiskError& error) {
      fmt::print(stderr, "mqalab minimize: {}\n", error.what());
      code = ExitCode::degraded;
    }
  });
}

} // namespace mqalab
