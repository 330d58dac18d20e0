// mqalab check: one case, one verdict.
#include "fuzz/commands.hpp"
#include "fuzz/oracle.hpp"
#include "fuzz/production.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <memory>

namespace mqalab {
namespace {

struct CheckOptions {
  std::string path, config, fault, lib, relation = "drawn";
  int repeat = 1;
  bool json = false, contract = false;
};

ExitCode exit_code(const Verdict& v, bool contract) {
  if (is_finding(v.verdict)) return ExitCode::findings;
  if (v.verdict == VerdictClass::none) return ExitCode::degraded;
  return v.verdict == VerdictClass::rejected && !contract ? ExitCode::bad_input : ExitCode::clean;
}

void print_cells(const Verdict& v) {
  for (const BadCell& c : v.first_bad)
    fmt::print("  {:<26} expected {:<14} got {:<14} {}\n", place_text(c),
               v.verdict == VerdictClass::touched ? "no write" : shown(c.expected), shown(c.got), c.note);
}

void print(const Verdict& v) {
  const std::string recall = v.recall < 0 ? "" : fmt::format("recall {:.4g} (worst row)", v.recall);
  if (v.verdict == VerdictClass::ok) {
    fmt::print("ok: {} cells are as the contract wants them", v.cells_checked);
    if (v.worst_error_ratio > 0)
      fmt::print("; the largest error is {:.2g} of its bound", v.worst_error_ratio);
    fmt::print("{}{}\n", recall.empty() ? "" : "; ", recall);
  } else {
    fmt::print("{}\n", v.message);
  }
  print_cells(v);
  if (v.verdict != VerdictClass::ok && !recall.empty()) fmt::print("  {}\n", recall);
  if (v.launched.config.chunk_k) fmt::print("  launched: {}\n", config_text(v.launched.config));
}

// Legal or not is the library's to say; what the lab itself cannot check is bad input.
Case in_lab_limits(const std::string& path, const std::string& config) {
  Case c = load_case(path);
  apply_config(c.config, config);
  if (const std::string why = why_illegal(c); !why.empty() && why_outside_contract(c).empty())
    throw CaseError(fmt::format("{}: {}", path, why));
  return c;
}

OracleOptions relation_options(const std::string& wanted, const Case& c) {
  const auto options = options_with_relations(wanted);
  if (!options) {
    std::string allowed = "drawn, none, all";
    for (size_t i = 0; i < kRelations; ++i) allowed += fmt::format(", {}", name(static_cast<Relation>(i)));
    throw CaseError(fmt::format("--relation is {}; allowed: {}", wanted, allowed));
  }
  if (options->relations != OracleOptions::Relations::named || !why_illegal(c).empty()) return *options;
  if (const std::string why = why_no_partner(options->relation, c); !why.empty())
    throw CaseError(fmt::format(
        "--relation {} says nothing of this case: {}; allowed: another relation, or all", wanted, why));
  return *options;
}

// Said on stderr, so that a log of checks tells which build each was about.
void launch_from(const std::string& lib) {
  use_library(lib);
  fmt::print(stderr, "mqalab check: {}: version {}, kernels {}\n", lib, production().version(),
             production().kernel_hash());
}

ExitCode check(const CheckOptions& o) {
  const Fault* fault = fault_named(o.fault);
  if (fault && !o.lib.empty())
    throw UsageError("--lib is given with --fault; allowed: one of them, planted faults are in no library");
  if (!o.lib.empty()) launch_from(o.lib);
  Case c;
  if (o.contract)
    c = in_lab_limits(o.path, o.config);
  else
    c = legal_case(o.path, o.config);
  OracleOptions options = relation_options(o.relation, c);
  options.repeats = o.repeat;
  Oracle oracle;
  const Verdict v = oracle.check(c, fault, options);
  if (o.json)
    fmt::print("{}\n", to_json(v));
  else
    print(v);
  return exit_code(v, o.contract);
}

} // namespace

void add_check(CLI::App& app, ExitCode& code) {
  auto o = std::make_shared<CheckOptions>();
  CLI::App* command = app.add_subcommand("check", "run one case and judge it");
  command->group("Checking");
  command->add_option("CASE", o->path, "case file (JSON); {} is the smallest case")->required();
  command->add_option("--config", o->config,
                      "configuration over the case's: variant, chunk_k, split_kv, wave_per_eu as k=v,...");
  command->add_option("--repeat", o->repeat, "launches that must agree bitwise")
      ->check(CLI::Range(1, 1000000));
  command->add_option("--fault", o->fault,
                      "a planted fault (`mqalab faults`) instead of the production kernel");
  command->add_option("--lib", o->lib, "the production kernel of this libmqa.so instead of the one built in");
  command->add_option("--relation", o->relation,
                      "metamorphic relation to try: its name, all, none, or drawn from the case");
  command->add_flag("--contract", o->contract,
                    "the case may be illegal; then the library must refuse it cleanly");
  command->add_flag("--json", o->json, "the verdict as JSON");
  command->footer(
      "example: mqalab check case.json --config chunk_k=128,split_kv=2 --repeat 5\n"
      "exit: 0 the case is right, 10 it is not, 2 bad input or a refused configuration, 20 no verdict");
  command->callback([o, &code] { code = check(*o); });
}

} // namespace mqalab
