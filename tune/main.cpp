// The program `mqalab`: every subcommand of the lab.
#include "tune/commands.hpp"

int main(int argc, char** argv) {
  return mqalab::run_command_line(argc, argv, [](CLI::App& app, mqalab::ExitCode& code) {
    mqalab::add_check(app, code);
    mqalab::add_run(app, code);
    mqalab::add_faults(app, code);
    mqalab::add_devices(app, code);
    mqalab::add_gate(app, code);
    mqalab::add_practice(app, code);
    mqalab::add_fuzz(app, code);
    mqalab::add_minimize(app, code);
    mqalab::add_bisect(app, code);
    mqalab::add_replay(app, code);
    mqalab::add_report(app, code);
    mqalab::add_scenario(app, code);
    mqalab::add_serve_checks(app, code);
    mqalab::add_tune(app, code);
    mqalab::add_lookup(app, code);
    mqalab::add_db(app, code);
    mqalab::add_bench(app, code);
    mqalab::add_doctor(app, code);
  });
}
