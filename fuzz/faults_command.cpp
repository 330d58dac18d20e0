// mqalab faults: the kernels that are wrong on purpose, by which the oracle is measured.
#include "fuzz/case_names.hpp"
#include "fuzz/commands.hpp"
#include "fuzz/fault_fit.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cstdio>
#include <memory>

namespace mqalab {
namespace {

std::string_view kind_name(FaultKind kind) {
  return kind == FaultKind::must_kill ? "must_kill" : "must_survive";
}

void print_json() {
  auto list = nlohmann::json::array();
  for (const Fault& f : faults())
    list.push_back({{"name", f.name},
                    {"operation", name_of(operation_of(f))},
                    {"kind", kind_name(f.kind)},
                    {"breaks", f.breaks},
                    {"sees", f.sees},
                    {"witness", nlohmann::json::parse(f.witness)}});
  fmt::print("{}\n", list.dump(2));
}

void print_table() {
  constexpr const char* kRow = "{:<28} {:<26} {:<13} {:<10} {}\n";
  fmt::print(fmt::runtime(kRow), "name", "operation", "kind", "sees", "what it changes");
  for (const Fault& f : faults())
    fmt::print(fmt::runtime(kRow), f.name, name_of(operation_of(f)), kind_name(f.kind), f.sees, f.breaks);
}

} // namespace

void add_faults(CLI::App& app, ExitCode& code) {
  auto json = std::make_shared<bool>(false);
  CLI::App* command = app.add_subcommand("faults", "list the planted faults");
  command->group("Checking");
  command->add_flag("--json", *json, "with a case that kills (or survives) each");
  command->footer("example: mqalab check case.json --fault mask_le");
  command->callback([json, &code] {
    if (*json)
      print_json();
    else
      print_table();
    code = ExitCode::clean;
  });
}

} // namespace mqalab
