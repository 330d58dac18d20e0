// The program `mqalab`: every subcommand of the lab.
#include "fuzz/commands.hpp"

int main(int argc, char** argv) {
  return mqalab::run_command_line(argc, argv, [](CLI::App& app, mqalab::ExitCode& code) {
    mqalab::add_check(app, code);
    mqalab::add_run(app, code);
    mqalab::add_faults(app, code);
    mqalab::add_devices(app, code);
  });
}
