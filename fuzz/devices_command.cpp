// mqalab devices: what this build can run on.
#include "fuzz/commands.hpp"
#include "fuzz/device.hpp"
#include "fuzz/probe.hpp"

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
  std::vector<UnitReport> units; // as the probe found them
};

std::vector<Device> all_devices() {
  int count = 0;
  if (hipGetDeviceCount(&count) != hipSuccess) count = 0;
  std::vector<Device> devices;
  for (int i = 0; i < count; ++i) {
    std::string error;
    hipDeviceProp_t properties{};
    if (hipSetDevice(i) != hipSuccess || hipGetDeviceProperties(&properties, i) != hipSuccess) continue;
    if (const mqa::DeviceFacts* facts = mqa::device_facts(&error)) {
      devices.push_back({i, properties.name, *facts, {}});
      for (const Unit unit : units()) devices.back().units.push_back(probed(unit));
    }
  }
  return devices;
}

const char* flavour(const mqa::DeviceFacts& f) { return f.fnuz ? "e4m3fnuz" : "e4m3fn"; }

nlohmann::json to_json(const UnitAnswers& a) {
  nlohmann::json answers{{"product_bits", a.product_bits},
                         {"beside_accumulator_bits", a.beside_accumulator_bits},
                         {"accumulator_bits", a.accumulator_bits},
                         {"product", name(a.product)},
                         {"other_half", name(a.other_half)},
                         {"accumulator", name(a.accumulator)},
                         {"sum", name(a.sum)},
                         {"fused_with_first", fmt::format("{:08x}", a.fused_with_first)},
                         {"fused_with_last", fmt::format("{:08x}", a.fused_with_last)},
                         {"subnormals", a.subnormals_kept ? "kept" : "flushed"}};
  if (a.flavour) {
    answers["fp8"] = a.flavour == MQA_E4M3FN ? "e4m3fn" : "e4m3fnuz";
    answers["negative_zero"] = a.negative_zero_is_nan ? "NaN" : "0";
  }
  return answers;
}

nlohmann::json to_json(const UnitReport& r) {
  nlohmann::json unit{{"unit", name(r.unit)}, {"accumulation", name(r.found.accumulation)}};
  if (r.answers) unit["answers"] = to_json(*r.answers);
  if (!r.found.reason.empty()) unit["reason"] = r.found.reason;
  return unit;
}

nlohmann::json to_json(const Device& d) {
  auto units = nlohmann::json::array();
  for (const UnitReport& unit : d.units) units.push_back(to_json(unit));
  return {{"ordinal", d.ordinal},
          {"key", d.facts.key},
          {"name", d.name},
          {"compute_units", d.facts.compute_units},
          {"wave_size", d.facts.wave_size},
          {"lds_bytes", d.facts.lds_bytes},
          {"native_fp8", flavour(d.facts)},
          {"simulated", d.facts.simulated},
          {"units", units}};
}

std::string to_text(const UnitReport& r) {
  std::string line = fmt::format("   {}: {}", name(r.unit), name(r.found.accumulation));
  if (!r.found.reason.empty()) line += fmt::format(" ({})", r.found.reason);
  return r.answers ? fmt::format("{}\n      {}", line, text(*r.answers)) : line;
}

ExitCode list_devices(bool json) {
  const std::vector<Device> devices = all_devices();
  auto list = nlohmann::json::array();
  for (const Device& d : devices) {
    list.push_back(to_json(d));
    if (json) continue;
    fmt::print("{}: {}\n   {}{}, {} CUs, wave {}, LDS {} bytes, native FP8 {}\n", d.ordinal, d.facts.key,
               d.name, d.facts.simulated ? " (simulated)" : "", d.facts.compute_units, d.facts.wave_size,
               d.facts.lds_bytes, flavour(d.facts));
    for (const UnitReport& unit : d.units) fmt::print("{}\n", to_text(unit));
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
