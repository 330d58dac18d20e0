// mqalab doctor: what decides which configuration production gets here, in one page.
#include "db/store.hpp"
#include "kernels/database.hpp"
#include "kernels/launch.hpp"
#include "tune/commands.hpp"

#include <fmt/format.h>
#include <hip/hip_runtime_api.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <sstream>

namespace mqalab {
namespace {

struct Fact {
  std::string subject, value;
  bool good = true;
};

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value && *value ? value : "(not set)";
}

Fact device_fact() {
  std::string error;
  const mqa::DeviceFacts* d = mqa::device_facts(&error);
  if (!d) return {"device", error + "; check the driver, or use the sim preset", false};
  return {"device",
          fmt::format("{}, {} CUs, wave {}, {} bytes of LDS, FP8 {}{}", d->key, d->compute_units,
                      d->wave_size, d->lds_bytes, d->fnuz ? "e4m3fnuz" : "e4m3fn",
                      d->simulated ? ", simulated" : ""),
          true};
}

Fact driver_fact() {
  int driver = 0, runtime = 0, devices = 0;
  const bool known = hipDriverGetVersion(&driver) == hipSuccess &&
                     hipRuntimeGetVersion(&runtime) == hipSuccess &&
                     hipGetDeviceCount(&devices) == hipSuccess;
  return {"runtime", fmt::format("driver {}, runtime {}, {} devices", driver, runtime, devices), known};
}

// How many of a file's rows these kernels on this device would be given, and what keeps the others.
Fact database_fact(const std::string& path) {
  std::string why;
  const auto file = mqa::read_database(path, &why);
  if (!file) return {"database", why, false};
  const std::string device = mqa_device_key(), hash = mqa_kernel_hash();
  size_t stale = 0, foreign = 0, quarantined = 0, served = 0;
  for (const mqa::TunedRow& row : file->rows) {
    bool out = false;
    for (const auto& q : file->quarantines) out = out || q.covers(row);
    if (row.kernel_hash != hash)
      ++stale;
    else if (row.device != device)
      ++foreign;
    else if (out)
      ++quarantined;
    else
      ++served;
  }
  std::string text =
      fmt::format("{}: {} rows served here, {} stale, {} for other devices, {} quarantined, {} unusable",
                  path, served, stale, foreign, quarantined, file->rejected);
  if (stale > 0) text += "; tune again to serve the stale ones";
  return {"database", text, stale == 0 && file->rejected == 0};
}

Fact folder_fact() {
  const std::string here = std::filesystem::current_path().string();
  const bool writable = ::access(here.c_str(), W_OK) == 0;
  std::error_code error;
  const auto space = std::filesystem::space(here, error);
  return {
      "folder",
      fmt::format("{}: {}, {} MiB free", here, writable ? "writable" : "not writable", space.available >> 20),
      writable && !error && space.available > (uintmax_t{256} << 20)};
}

std::vector<Fact> facts(const std::string& database) {
  std::vector<Fact> all{device_fact(),
                        driver_fact(),
                        {"kernels", fmt::format("{}, library {}", mqa_kernel_hash(), mqa_version()), true},
                        folder_fact()};
  for (const char* name : {"MQALAB_DB", "MQALAB_DB_MODE", "MQALAB_LOG"})
    all.push_back({name, variable(name), true});
  std::istringstream paths(database.empty() && std::getenv("MQALAB_DB") ? std::getenv("MQALAB_DB")
                                                                        : database);
  for (std::string path; std::getline(paths, path, ':');)
    if (!path.empty()) all.push_back(database_fact(path));
  return all;
}

ExitCode doctor(const std::string& database, bool json) {
  bool good = true;
  nlohmann::json list = nlohmann::json::array();
  for (const Fact& f : facts(database)) {
    good = good && f.good;
    if (json)
      list.push_back({{"subject", f.subject}, {"value", f.value}, {"good", f.good}});
    else
      fmt::print("{} {:<15} {}\n", f.good ? "ok  " : "LOOK", f.subject, f.value);
  }
  if (json) fmt::print("{}\n", list.dump(2));
  return good ? ExitCode::clean : ExitCode::degraded;
}

} // namespace

void add_doctor(CLI::App& app, ExitCode& code) {
  struct Options {
    std::string database;
    bool json = false;
  };
  auto o = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("doctor", "device, driver, database and folder, in one page");
  command->group("Tuning");
  command->add_option("--db", o->database, "databases to look at, separated by ':' (default: MQALAB_DB)");
  command->add_flag("--json", o->json, "as JSON");
  command->footer("example: mqalab doctor --db tuned.db\nexit: 0 all is well, 20 something deserves a look");
  command->callback(
      [o, &code] { code = with_advice("doctor", [&] { return doctor(o->database, o->json); }); });
}

} // namespace mqalab
