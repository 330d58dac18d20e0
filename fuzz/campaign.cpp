#include "fuzz/campaign.hpp"
#include "fuzz/corpus.hpp"
#include "fuzz/disk.hpp"
#include "fuzz/features.hpp"
#include "fuzz/fleet.hpp"
#include "fuzz/progress.hpp"
#include "fuzz/stop_signal.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

namespace mqalab {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;
using End = CampaignResult::End;

constexpr int64_t kLowDisk_bytes = 64 << 10;
constexpr int kPoll_us = 20'000, kPollFault_us = 2'000;
constexpr double kSettle_s = 90; // of the whole budget, for making findings small
constexpr uint64_t kApart_ns = 20'000'000'000;
constexpr size_t kMostGrowthPoints = 240, kNeverSeenShown = 12;

std::string fault_name(const CampaignOptions& options) {
  return options.fault ? std::string(options.fault->name) : "";
}

// One campaign a folder: two would take each other's status files and findings for their own.  Held until the
// process ends, however it ends.
void lock_folder(const fs::path& folder) {
  fs::create_directories(folder);
  const int fd = ::open((folder / "lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (fd >= 0 && ::flock(fd, LOCK_EX | LOCK_NB) == 0) return;
  if (fd >= 0) ::close(fd);
  throw CaseError(
      fmt::format("{}: another campaign runs in this folder, or it cannot be locked; allowed: one at a time; "
                  "try: another --out, or wait for its end",
                  folder.string()));
}

// A folder belongs to one subject: a corpus and findings of another would be mixed in silently.
void claim_folder(const CampaignOptions& options) {
  lock_folder(options.out);
  fs::create_directories(options.out / "findings");
  const fs::path path = options.out / "campaign.json";
  const json known = json::parse(read_whole(path), nullptr, false);
  if (known.is_object() && known.value("fault", "") != fault_name(options))
    throw CaseError(fmt::format("{}: is the folder of a campaign on {}; allowed: a folder of the same "
                                "subject, or a new one; try: another --out",
                                options.out.string(),
                                known.value("fault", "").empty() ? "the production kernel"
                                                                 : "fault " + known.value("fault", "")));
  write_whole(path, json{{"fault", fault_name(options)},
                         {"seed", options.seed},
                         {"kernel_hash", mqa_kernel_hash()},
                         {"device", mqa_device_key()}}
                            .dump(2) +
                        "\n");
}

class Campaign {
public:
  explicit Campaign(const CampaignOptions& options)
      : options_(options),
        triage_(
            options.out, fault_name(options),
            [this](const Case& c, const OracleOptions& options) { return check(c, options); },
            [this](const Case& c, const OracleOptions& options) { return check_apart(c, options); },
            declared_policy()),
        fleet_(options) {}

  CampaignResult run() {
    try {
      if (options_.gate && !options_.fault && !pass_gate()) return result_;
      leftovers();
      regression();
      fuzz();
      settle();
    } catch (const DiskError& error) {
      give_up(End::disk_full, error.what());
    } catch (const std::runtime_error& error) {
      give_up(End::broken, error.what());
    }
    finish();
    return result_;
  }

private:
  Verdict check(const Case& c, const OracleOptions& options = {}) {
    return checker_(c, options_.fault, options);
  }

  Verdict check_apart(const Case& c, const OracleOptions& options) {
    const fs::path probe = options_.out / "workers" / "probe.json";
    write_whole(probe, to_json(c) + "\n");
    WorkerProcess process(command_to_check(probe, options_.fault, options),
                          options_.out / "workers" / "probe.log");
    const uint64_t start = monotonic_ns();
    while (!process.poll() && monotonic_ns() - start < kApart_ns && !StopSignal::requested()) ::usleep(1000);
    Verdict verdict;
    if (!process.poll())
      verdict.signature = {VerdictClass::hang, std::string(kNoAnswer), ""};
    else if (const ProcessEnd end = *process.poll(); end.signal != 0)
      verdict.signature = {VerdictClass::fault, std::string(kProcessDied), ""}, verdict.message = end.text();
    else if (end.exit_code != 0)
      verdict.signature.verdict = VerdictClass::none;
    verdict.verdict = verdict.signature.verdict;
    verdict.message = verdict.signature.text() + " " + verdict.message;
    return verdict;
  }

  bool pass_gate() {
    GateOptions gate;
    gate.quick = true;
    gate.stop = StopSignal::requested;
    gate.progress = [&](const GateRow& row, size_t done, size_t all) {
      progress_.show(fmt::format("gate: {} of {}, {}", done, all, row.name));
    };
    const Gate outcome = run_gate(checker_, gate);
    if (outcome.stopped) {
      result_.interrupted = true;
      return false;
    }
    write_whole(options_.out / "gate.json", to_json(outcome) + "\n");
    if (!outcome.passed()) {
      result_.end = End::gate_failed;
      result_.trouble = gate_table(outcome);
      return false;
    }
    progress_.keep(fmt::format("gate passed: {} rows", outcome.rows.size()));
    return true;
  }

  // Journals of a campaign that ended before its findings were sorted.
  void leftovers() {
    for (const auto& entry : fs::directory_iterator(options_.out / "workers"))
      if (entry.path().extension() == ".found") {
        std::ifstream journal(entry.path());
        for (std::string line; std::getline(journal, line);)
          if (const auto found = from_line(line)) triage_.add(*found);
        journal.close();
        fs::remove(entry.path());
      }
  }

  void regression() {
    size_t done = 0;
    for (const CorpusCase& known : regression_corpus()) {
      if (StopSignal::requested()) return;
      const Case c = case_from_json(std::string(known.json), std::string(known.name));
      const auto record = encode(c);
      write_whole(options_.out / "corpus" / fmt::format("regression-{}", known.name),
                  {reinterpret_cast<const char*>(record.data()), record.size()});
      if (options_.fault) continue; // time to detection counts what the workers do
      const Verdict verdict = check(c);
      if (is_finding(verdict.verdict))
        triage_.add(
            {record, verdict.signature, "regression " + std::string(known.name) + ": " + verdict.message});
      progress_.show(fmt::format("regression corpus: {} of {}", ++done, regression_corpus().size()));
    }
    if (!options_.fault) progress_.keep(fmt::format("regression corpus: {} cases checked", done));
  }

  void fuzz() {
    if (StopSignal::requested()) {
      result_.interrupted = true;
      return;
    }
    fleet_.start();
    while (!over()) {
      ::usleep(options_.fault ? kPollFault_us : kPoll_us);
      look();
      if (triage_.unsettled() > 0 && !options_.fault) settle();
    }
    fleet_.stop();
    look();
  }

  // One glance at the workers: new findings, growth, the status line.
  void look() {
    for (const Found& found : fleet_.collect()) {
      const size_t before = triage_.buckets().size();
      triage_.add(found);
      if (triage_.buckets().size() > before)
        progress_.keep("finding: " + found.message.substr(0, found.message.find('\n')));
    }
    fleet_.measure(result_);
    if (free_bytes(options_.out) < kLowDisk_bytes)
      throw DiskError(fmt::format("{}: less than {} KiB are left on the disk; everything found so far is "
                                  "kept; make room, then run the "
                                  "same command again to go on",
                                  options_.out.string(), kLowDisk_bytes >> 10));
    record_growth();
    progress_.show(status_line());
  }

  void record_growth() {
    auto& growth = result_.growth;
    const double step = std::max(options_.seconds / kMostGrowthPoints, 0.25);
    if (!growth.empty() && result_.seconds < growth.back().seconds + step) return;
    growth.push_back({result_.seconds, result_.cases, result_.pairs, result_.machine_edges});
  }

  std::string status_line() const {
    const double rate = result_.seconds > 0 ? static_cast<double>(result_.cases) / result_.seconds : 0;
    const std::string left = options_.runs > 0
                                 ? fmt::format("{} of {} runs", result_.cases, options_.runs)
                                 : fmt::format("{} left", span_text(options_.seconds - result_.seconds));
    return fmt::format("{} cases, {:.0f}/s, features {}, machine-code edges {}, findings {}, {}",
                       result_.cases, rate, result_.pairs, result_.machine_edges, triage_.buckets().size(),
                       left);
  }

  bool over() {
    result_.interrupted = StopSignal::requested();
    if (result_.interrupted || (options_.fault && result_.findings_met > 0)) return true;
    if (options_.runs > 0 && static_cast<int64_t>(result_.cases) >= options_.runs) return true;
    return result_.seconds >= options_.seconds || !fleet_.any_running();
  }

  // Makes what was found small; the workers go on meanwhile.
  void settle() {
    const uint64_t start = monotonic_ns();
    MinimizeOptions options;
    options.stop = [&] {
      if (fleet_.started_ns() != 0 && !result_.interrupted) progress_.show(status_line());
      return StopSignal::requested() || static_cast<double>(monotonic_ns() - start) * 1e-9 > kSettle_s;
    };
    options.progress = [&](const Case& best, int64_t checks) {
      progress_.show(fmt::format("minimising: {} checks, now {}", checks, to_json(best, -1).substr(0, 120)));
    };
    triage_.settle(options);
  }

  void give_up(End end, const std::string& why) {
    reserve_.release();
    result_.end = end;
    result_.trouble = why;
    fleet_.stop();
  }

  void finish() {
    progress_.done();
    if (fleet_.started_ns() != 0) fleet_.measure(result_);
    const auto seen = fleet_.pairs_seen();
    result_.pairs_possible = static_cast<uint64_t>(possible_pairs());
    result_.pairs_never_seen = never_seen(seen, kNeverSeenShown);
    result_.findings = read_findings(options_.out);
    if (result_.end == End::clean && !result_.findings.empty()) result_.end = End::findings;
    if (result_.end == End::clean && !result_.trouble.empty()) result_.end = End::broken;
    try {
      write_whole(options_.out / "summary.json", summary_json(options_, result_) + "\n");
    } catch (const DiskError& error) {
      if (result_.end != End::disk_full) give_up(End::disk_full, error.what());
    }
  }

  const CampaignOptions& options_;
  Checker checker_ = make_checker(); // on hardware in a process of its own, which a finding may cost
  Triage triage_;
  Fleet fleet_;
  DiskReserve reserve_{options_.out};
  Progress progress_;
  CampaignResult result_;
};

} // namespace

std::vector<std::string> command_to_check(const fs::path& file, const Fault* fault,
                                          const OracleOptions& options) {
  std::vector<std::string> command{fs::read_symlink("/proc/self/exe").string(), "check", file.string(),
                                   "--relation", relations_text(options)};
  if (fault) command.insert(command.end(), {"--fault", std::string(fault->name)});
  return command;
}

CampaignResult run_campaign(const CampaignOptions& options) {
  try {
    claim_folder(options);
    return Campaign(options).run();
  } catch (const DiskError& error) {
    CampaignResult result;
    result.end = End::disk_full;
    result.trouble = error.what();
    return result;
  } catch (const fs::filesystem_error& error) {
    CampaignResult result;
    result.end = End::disk_full;
    result.trouble = fmt::format("{}: {}", error.path1().string(), error.code().message());
    return result;
  }
}

} // namespace mqalab
