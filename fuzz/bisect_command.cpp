// mqalab bisect: the first revision or library that fails a case, or the configuration fields that the
// failure needs.
#include "fuzz/bisect_session.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <memory>

namespace mqalab {
namespace {

void require(bool wanted, const std::string& what, const std::string& allowed) {
  if (!wanted) throw UsageError(fmt::format("{}; allowed: {}; try: mqalab bisect --help", what, allowed));
}

ExitCode bisect(const BisectOptions& o) {
  const bool git = !o.git.good.empty() || !o.git.bad.empty();
  require(git + !o.libs.empty() + o.config == 1,
          git || !o.libs.empty() || o.config ? "more than one thing is to be bisected"
                                             : "nothing is to be bisected",
          "one of --good REV --bad REV, --libs FILE..., --config");
  require(o.config || (o.lib.empty() && o.fault.empty()), "--lib or --fault is given without --config",
          "with --config only, builds bring their own kernels");
  require(!o.config || o.skip.empty(), "--skip is given with --config", "with revisions or libraries");
  if (o.config) return bisect_config(o);
  if (!git) return bisect_libraries(o);
  require(!o.git.good.empty() && !o.git.bad.empty(), "one end is missing", "both --good REV and --bad REV");
  require(!o.git.build.empty(), "--build is missing",
          "a command for sh that builds a revision in its working tree");
  return bisect_revisions(o);
}

ExitCode bisect_or_stop(const BisectOptions& o) {
  const std::string again = o.state.empty() ? "; with --state FILE the same command would go on from there"
                                            : "; the same command goes on from there";
  try {
    return bisect(o);
  } catch (const Stopped& e) {
    fmt::print(stderr, "mqalab bisect: {}{}\n", e.what(), again);
  } catch (const MachineTrouble& e) {
    fmt::print(stderr, "mqalab bisect: no verdict, which says nothing of the kernels: {}{}\n", e.what(),
               again);
  } catch (const DiskError& e) {
    fmt::print(stderr, "mqalab bisect: {}\n", e.what());
  }
  return ExitCode::degraded;
}

void add_build_options(CLI::App& command, BisectOptions& o) {
  command.add_option("--good", o.git.good, "revision that passes; an ancestor of --bad");
  command.add_option("--bad", o.git.bad, "revision that fails");
  command.add_option("--repo", o.git.repo, "folder of the git repository");
  command.add_option("--build", o.git.build,
                     "for sh, in a working tree apart; what git ignores stays from one revision to the next");
  CLI::Option* lib = command.add_option("--lib-path", o.git.lib_path,
                                        "the library that a build makes, relative to the tree");
  command
      .add_option("--program", o.git.program,
                  "the mqalab that a build makes, to check with instead: for revisions with another C API")
      ->excludes(lib);
  command.add_option("--build-timeout", o.git.build_seconds, "seconds until a build counts as failed")
      ->check(finite_above_zero());
  command.add_option("--libs", o.libs, "built libraries, oldest first; the first passes, the last fails");
  command.add_option("--skip", o.skip, "revisions or libraries that are not asked");
}

} // namespace

void add_bisect(CLI::App& app, ExitCode& code) {
  auto o = std::make_shared<BisectOptions>();
  CLI::App* command = app.add_subcommand(
      "bisect",
      "the first revision or library that fails a case, or the configuration that the failure needs");
  command->group("Fuzzing");
  command->add_option("CASE", o->path, "case file (JSON) that fails")->required();
  add_build_options(*command, *o);
  command->add_flag("--config", o->config,
                    "which configuration fields of the case the failure needs, against automatic ones");
  command->add_option("--lib", o->lib, "with --config: this libmqa.so instead of the kernels built in");
  command->add_option("--fault", o->fault, "with --config: a planted fault instead of them");
  command->add_option("--repeat", o->repeat, "runs that must pass before a subject is good")
      ->check(CLI::Range(1, 100000));
  command->add_flag("--any-failure", o->any_failure,
                    "every failure is bad; else another one than that of the bad end is no answer");
  command->add_option("--timeout", o->timeout, "seconds until a check counts as hung")
      ->check(finite_above_zero());
  command->add_option("--state", o->state, "file of what is known; the same command goes on from there");
  command->add_option("--log", o->log, "file for what builds and checks say");
  command->add_flag("--json", o->json, "result as JSON");
  command->footer(
      "example: mqalab bisect case.json --good v1 --bad HEAD --state bisect.jsonl \\\n"
      "           --build 'cmake --preset sim && cmake --build --preset sim --target mqa'\n"
      "         mqalab bisect case.json --libs monday.so tuesday.so wednesday.so\n"
      "         mqalab bisect case.json --config\n"
      "exit: 10 found, or narrowed down to those without an answer; 2 an end is not what it is said to be;\n"
      "      20 stopped, or the machine gave no verdict");
  command->callback([o, &code] {
    if (o->git.lib_path.empty() && o->git.program.empty()) o->git.lib_path = "build/sim/lib/libmqa.so";
    code = bisect_or_stop(*o);
  });
}

} // namespace mqalab
