// The subcommands of `mqalab` that live in this room.  Each add_* registers one; its callback leaves the exit
// code.
#pragma once
#include "fuzz/case.hpp"
#include "fuzz/fault.hpp"

#include <CLI/CLI.hpp>

#include <functional>
#include <stdexcept>
#include <string>

namespace mqalab {

enum class ExitCode : int {
  clean = 0,
  our_bug = 1,
  bad_input = 2,
  findings = 10,
  degraded = 20,
  gate_failed = 30
};

// Bad usage, found by us and not by the option parser: exit 2.  "WHAT is GIVEN; allowed: A; try: T" is
// printed in lines.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

void add_check(CLI::App&, ExitCode&);
void add_run(CLI::App&, ExitCode&);
void add_faults(CLI::App&, ExitCode&);
void add_devices(CLI::App&, ExitCode&);
void add_gate(CLI::App&, ExitCode&);
void add_practice(CLI::App&, ExitCode&);
void add_fuzz(CLI::App&, ExitCode&);
void add_minimize(CLI::App&, ExitCode&);
void add_bisect(CLI::App&, ExitCode&);
void add_replay(CLI::App&, ExitCode&);
void add_report(CLI::App&, ExitCode&);
void add_scenario(CLI::App&, ExitCode&);
void add_serve_checks(CLI::App&, ExitCode&); // for our own processes, not in the help

// Parses and runs: prints help, turns errors into one message and an exit code.  `add` registers the
// subcommands.
int run_command_line(int argc, const char* const* argv, const std::function<void(CLI::App&, ExitCode&)>& add);

// Checks of numbers on the command line; CLI11's own let NaN through.
CLI::Validator finite_above_zero();
CLI::Validator finite_from_zero();

// nullptr for an empty name; throws UsageError with the nearest names for an unknown one.
const Fault* fault_named(const std::string& name);
// "k=v,..." over `config`; throws UsageError.
void apply_config(mqa_config& config, const std::string& text);
// Loads a case, puts --config on top and refuses what check and run cannot do.
Case legal_case(const std::string& path, const std::string& config);
std::string config_text(const mqa_config&);

} // namespace mqalab
