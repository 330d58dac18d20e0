// mqalab devices: what this build can run on.
#include "fuzz/commands.hpp"
#include "fuzz/oracle.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cstdio>
#include <memory>

namespace mqalab {
namespace {

struct Device {
  int ordinal = 0;
  std::string name;
  mqa::DeviceFacts facts;
};

std::vector<Device> all_devices() {
  int count = 0;
  if (hipGetDeviceCount(&count) != hipSuccess) count = 0;
  std::vector<Device> devices;
  for (int i = 0; i < count; ++i) {
    std::string error;
    hipDeviceProp_t properties{};
    if (hipSetDevice(i) != hipSuccess || hipGetDeviceProperties(&properties, i) != hipSuccess) continue;
    if (const mqa::DeviceFacts* facts = mqa::device_facts(&error))
      devices.push_back({i, properties.name, *facts});
  }
  return devices;
}

const char* flavour(const mqa::DeviceFacts& f) { return f.fnuz ? "e4m3fnuz" : "e4m3fn"; }

nlohmann::json to_json(const Device& d, std::string_view accumulation) {
  return {{"ordinal", d.ordinal},
          {"key", d.facts.key},
          {"name", d.name},
          {"compute_units", d.facts.compute_units},
          {"wave_size", d.facts.wave_size},
          {"lds_bytes", d.facts.lds_bytes},
          {"native_fp8", flavour(d.facts)},
          {"simulated", d.facts.simulated},
          {"accumulation", accumulation}};
}

ExitCode list_devices(bool json) {
  const std::vector<Device> devices = all_devices();
  const std::string_view accumulation = name(declared_policy().accumulation);
  auto list = nlohmann::json::array();
  for (const Device& d : devices) {
    list.push_back(to_json(d, accumulation));
    if (json) continue;
    fmt::print("{}: {}\n   {}{}, {} CUs, wave {}, LDS {} bytes, native FP8 {}, accumulation {}\n", d.ordinal,
               d.facts.key, d.name, d.facts.simulated ? " (simulated)" : "", d.facts.compute_units,
               d.facts.wave_size, d.facts.lds_bytes, flavour(d.facts), accumulation);
  }
  if (json) fmt::print("{}\n", list.dump(2));
  if (!devices.empty()) return ExitCode::clean;
  fmt::print(stderr, "mqalab devices: none was found; a build with the preset sim needs none\n");
  return ExitCode::degraded;
}

} // namespace

void add_devices(CLI::App& app, ExitCode& code) {
  auto json = std::make_shared<bool>(false);
  CLI::App* command = app.add_subcommand("devices", "the devices this build can run on, and their keys");
  command->group("Machine");
  command->add_flag("--json", *json, "as JSON");
  command->footer("example: mqalab devices --json");
  command->callback([json, &code] { code = list_devices(*json); });
}

} // namespace mqalab
