// The end of a campaign, for people and for machines.
#include "fuzz/campaign.hpp"
#include "fuzz/progress.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace mqalab {
namespace {

using nlohmann::json;

const char* end_name(CampaignResult::End end) {
  switch (end) {
  case CampaignResult::End::clean: return "clean";
  case CampaignResult::End::findings: return "findings";
  case CampaignResult::End::gate_failed: return "gate failed";
  case CampaignResult::End::disk_full: return "disk full";
  case CampaignResult::End::broken: break;
  }
  return "broken";
}

std::string finding_text(const StoredFinding& finding) {
  std::string text = fmt::format("\n  {}  (seen {} times, minimised: {})\n", finding.signature.text(),
                                 finding.seen, finding.minimized);
  if (!finding.law.empty()) text += fmt::format("    law:     {}\n", finding.law);
  text += fmt::format("    minimal: {}\n", to_json(finding.minimal, -1));
  text += fmt::format("    replay:  {}/replay.sh\n", finding.folder.string());
  return text;
}

std::string coverage_text(const CampaignResult& result) {
  const double share = result.pairs_possible ? 100.0 * static_cast<double>(result.pairs) /
                                                   static_cast<double>(result.pairs_possible)
                                             : 0;
  std::string text = fmt::format("coverage: {} feature pairs of {} ({:.0f} %), {} edges of machine code",
                                 result.pairs, result.pairs_possible, share, result.machine_edges);
  if (result.growth.size() < 2) return text + "\n";
  text += "; edges over time:";
  const size_t step = std::max<size_t>(result.growth.size() / 6, 1);
  for (size_t i = 0; i < result.growth.size(); i += step)
    text += fmt::format(" {:.1f} s {}", result.growth[i].seconds, result.growth[i].machine_edges);
  return text + "\n";
}

std::string detection_text(const CampaignOptions& options, const CampaignResult& result) {
  if (!options.fault) return "";
  if (result.seconds_to_detection < 0)
    return fmt::format("fault {}: not found in {} cases\n", options.fault->name, result.cases);
  return fmt::format("fault {}: detected after {:.2f} s and {} cases\n", options.fault->name,
                     result.seconds_to_detection, result.cases_to_detection);
}

} // namespace

std::string summary_text(const CampaignOptions& options, const CampaignResult& result) {
  std::string text = detection_text(options, result);
  const double rate = result.seconds > 0 ? static_cast<double>(result.cases) / result.seconds : 0;
  text += fmt::format(
      "{} cases in {} ({:.0f}/s, {} workers, seed {}); {} refused, {} without a verdict, {} restarts\n",
      result.cases, span_text(result.seconds), rate, options.workers, options.seed, result.rejected,
      result.undecided, result.restarts);
  text += coverage_text(result);
  if (result.interrupted) text += "stopped on request; the same command goes on from here\n";
  if (!result.trouble.empty()) text += result.trouble + "\n";
  if (result.findings.empty()) return text + "no finding\n";
  text += fmt::format("{} finding{} in {}:", result.findings.size(), result.findings.size() == 1 ? "" : "s",
                      (options.out / "findings").string());
  for (const StoredFinding& finding : result.findings) text += finding_text(finding);
  return text;
}

std::string summary_json(const CampaignOptions& options, const CampaignResult& result) {
  json growth = json::array(), findings = json::array();
  for (const GrowthPoint& p : result.growth)
    growth.push_back(
        {{"seconds", p.seconds}, {"cases", p.cases}, {"pairs", p.pairs}, {"machine_edges", p.machine_edges}});
  for (const StoredFinding& f : result.findings)
    findings.push_back({{"folder", f.folder.filename().string()},
                        {"signature", f.signature.text()},
                        {"law", f.law},
                        {"message", f.message},
                        {"minimized", f.minimized},
                        {"seen", f.seen},
                        {"fault", f.fault},
                        {"minimal", json::parse(to_json(f.minimal))}});
  const json all{
      {"end", end_name(result.end)},
      {"interrupted", result.interrupted},
      {"trouble", result.trouble},
      {"fault", options.fault ? std::string(options.fault->name) : ""},
      {"seed", options.seed},
      {"workers", options.workers},
      {"guide", options.guide ? std::string(name(*options.guide)) : "in turn"},
      {"cases", result.cases},
      {"seconds", result.seconds},
      {"rejected", result.rejected},
      {"undecided", result.undecided},
      {"findings_met", result.findings_met},
      {"restarts", result.restarts},
      {"seconds_to_detection", result.seconds_to_detection},
      {"cases_to_detection", result.cases_to_detection},
      {"pairs", result.pairs},
      {"pairs_possible", result.pairs_possible},
      {"pairs_never_seen", result.pairs_never_seen},
      {"machine_edges", result.machine_edges},
      {"growth", growth},
      {"findings", findings},
      {"build",
       {{"version", mqa_version()}, {"kernel_hash", mqa_kernel_hash()}, {"device", mqa_device_key()}}}};
  return all.dump(2, ' ', false, json::error_handler_t::replace);
}

} // namespace mqalab
