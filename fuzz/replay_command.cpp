// mqalab replay: a finding, once more.  mqalab report: a campaign as one HTML file.
#include "fuzz/commands.hpp"
#include "fuzz/disk.hpp"
#include "fuzz/finding.hpp"
#include "fuzz/report.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <memory>

namespace mqalab {
namespace {

namespace fs = std::filesystem;

// One finding, or all of a campaign.
std::vector<StoredFinding> findings_in(const fs::path& path) {
  if (fs::exists(path / "verdict.json")) return {read_finding(path)};
  if (fs::is_directory(path / "findings")) return read_findings(path);
  throw UsageError(fmt::format(
      "DIR is {}; allowed: the folder of a finding (with case.json and verdict.json) or of a campaign; try: "
      "fuzz-out",
      path.string()));
}

ExitCode replay(const std::string& path) {
  const std::vector<StoredFinding> findings = findings_in(path);
  Oracle oracle;
  int still = 0;
  for (const StoredFinding& finding : findings) {
    const Verdict verdict =
        oracle.check(finding.minimal, fault_named(finding.fault), options_for(finding.signature));
    const bool same = same_bug(verdict.signature, finding.signature);
    still += is_finding(verdict.verdict);
    fmt::print("{}: {}\n", finding.folder.string(),
               !is_finding(verdict.verdict) ? "gone: the case passes now"
               : same                       ? "still there: " + verdict.message
                                            : "fails in another way now: " + verdict.message);
  }
  if (findings.empty()) fmt::print("{}: no finding\n", path);
  return still ? ExitCode::findings : ExitCode::clean;
}

ExitCode report(const std::string& path, const std::string& out) {
  write_whole(out, report_html(path));
  fmt::print("{}\n", out);
  return ExitCode::clean;
}

} // namespace

void add_replay(CLI::App& app, ExitCode& code) {
  auto path = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand("replay", "run a finding again, or all findings of a campaign");
  command->group("Fuzzing");
  command->add_option("DIR", *path, "folder of a finding or of a campaign")->required();
  command->footer("example: mqalab replay fuzz-out\nexit: 0 all gone, 10 at least one still fails");
  command->callback([path, &code] { code = replay(*path); });
}

void add_report(CLI::App& app, ExitCode& code) {
  auto path = std::make_shared<std::string>(), out = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand("report", "a campaign as one self-contained HTML file");
  command->group("Fuzzing");
  command->add_option("DIR", *path, "the campaign's folder")->required();
  command->add_option("-o,--out", *out, "the HTML file")->required();
  command->footer("example: mqalab report fuzz-out -o report.html");
  command->callback([path, out, &code] {
    try {
      code = report(*path, *out);
    } catch (const DiskError& error) {
      fmt::print(stderr, "mqalab report: {}\n", error.what());
      code = ExitCode::degraded;
    }
  });
}

} // namespace mqalab
