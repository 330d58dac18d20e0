// The subcommands of `mqalab` that live in this room.  Each add_* registers one; its callback leaves the exit
// code.
#pragma once
#include "fuzz/commands.hpp"

#include <functional>

namespace mqalab {

void add_tune(CLI::App&, ExitCode&);
void add_lookup(CLI::App&, ExitCode&);
void add_db(CLI::App&, ExitCode&);
void add_bench(CLI::App&, ExitCode&);
void add_doctor(CLI::App&, ExitCode&);

// Runs `action`; a database that cannot be used is bad input, a device or a disk that fails is a degraded
// machine.
ExitCode with_advice(const char* command, const std::function<ExitCode()>& action);

} // namespace mqalab
