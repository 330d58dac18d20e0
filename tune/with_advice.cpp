// Which exit code an error of the database or the device is.
#include "db/sqlite.hpp"
#include "fuzz/device.hpp"
#include "tune/commands.hpp"

#include <fmt/format.h>

#include <cstdio>

namespace mqalab {

ExitCode with_advice(const char* command, const std::function<ExitCode()>& action) try {
  return action();
} catch (const DatabaseError& e) {
  fmt::print(stderr, "mqalab {}: {}\n", command, e.what());
  return e.out_of_space ? ExitCode::degraded : ExitCode::bad_input;
} catch (const DeviceError& e) {
  fmt::print(stderr, "mqalab {}: {}\n", command, e.what());
  return ExitCode::degraded;
}

} // namespace mqalab
