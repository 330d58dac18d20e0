// mqalab fuzz: a campaign.
#include "fuzz/campaign.hpp"
#include "fuzz/commands.hpp"
#include "fuzz/stop_signal.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <memory>
#include <thread>

namespace mqalab {
namespace {

struct FuzzOptions {
  double minutes = 0, seconds = 0;
  int64_t runs = 0;
  int workers = 0;
  std::string out, fault, guide;
  uint64_t seed = 0;
  bool no_coverage = false, no_gate = false, json = false;
};

CampaignOptions campaign_options(const FuzzOptions& o) {
  CampaignOptions c;
  c.fault = fault_named(o.fault);
  c.out = !o.out.empty() ? o.out : o.fault.empty() ? "fuzz-out" : "fuzz-out-" + o.fault;
  c.runs = o.runs;
  c.seconds = o.minutes > 0 ? 60 * o.minutes : o.seconds > 0 ? o.seconds : o.runs > 0 ? 7 * 24 * 3600.0 : 600;
  c.workers = o.workers > 0 ? o.workers : static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  c.seed = o.seed ? o.seed
                  : static_cast<uint64_t>(std::chrono::system_clock::now().time_since_epoch().count()) >> 10;
  if (!o.guide.empty()) c.guide = guide_named(o.guide);
  if (o.no_coverage) c.guide = Guide::pairs;
  c.gate = !o.no_gate;
  return c;
}

ExitCode exit_code(const CampaignResult& result) {
  switch (result.end) {
  case CampaignResult::End::clean: return ExitCode::clean;
  case CampaignResult::End::findings: return ExitCode::findings;
  case CampaignResult::End::gate_failed: return ExitCode::gate_failed;
  case CampaignResult::End::disk_full:
  case CampaignResult::End::broken: break;
  }
  return ExitCode::degraded;
}

ExitCode fuzz(const FuzzOptions& o) {
  const StopSignal stop;
  const CampaignOptions options = campaign_options(o);
  fmt::print(stderr, "fuzzing {} on {}, {} workers, seed {}, into {}\n",
             o.fault.empty() ? "the production kernel" : "fault " + o.fault, mqa_device_key(),
             options.workers, options.seed, options.out.string());
  const CampaignResult result = run_campaign(options);
  fmt::print("{}", o.json ? summary_json(options, result) + "\n" : summary_text(options, result));
  return exit_code(result);
}

} // namespace

void add_fuzz(CLI::App& app, ExitCode& code) {
  auto o = std::make_shared<FuzzOptions>();
  CLI::App* command =
      app.add_subcommand("fuzz", "look for cases that break: gate, corpus, fuzzing, triage, summary");
  command->group("Fuzzing");
  command->add_option("--minutes", o->minutes, "how long to fuzz (default 10)")->check(finite_above_zero());
  command->add_option("--seconds", o->seconds, "the same in seconds")->check(finite_above_zero());
  command->add_option("--runs", o->runs, "stop after so many cases")->check(finite_above_zero());
  command->add_option("--workers", o->workers, "processes (default: one a core)")->check(CLI::Range(1, 256));
  command->add_option("--out", o->out,
                      "the campaign's folder; an existing one is continued (default fuzz-out)");
  command->add_option("--fault", o->fault,
                      "fuzz a planted fault (`mqalab faults`) and stop when it is found");
  command->add_option("--seed", o->seed, "of all random draws (default: the clock; printed)");
  command
      ->add_option(
          "--guide", o->guide,
          "what guides every worker: both, edges, pairs, none (default: both, and edges alone, in turn)")
      ->check(CLI::IsMember({"both", "edges", "pairs", "none"}));
  command->add_flag("--no-coverage", o->no_coverage,
                    "without guidance by edges of the simulated machine code");
  command->add_flag("--no-gate", o->no_gate, "start at once; nothing then says that the oracle sees faults");
  command->add_flag("--json", o->json, "the summary as JSON");
  command->footer(
      "example: mqalab fuzz --minutes 1\n         mqalab fuzz --fault out_offset_32 --minutes 1\n"
      "exit: 0 clean, 10 findings, 20 full disk or broken machine, 30 the gate is closed, 2 bad usage");
  command->callback([o, &code] { code = fuzz(*o); });
}

} // namespace mqalab
