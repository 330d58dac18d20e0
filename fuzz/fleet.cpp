#include "fuzz/fleet.hpp"
#include "fuzz/disk.hpp"
#include "fuzz/fault_fit.hpp"
#include "fuzz/features.hpp"
#include "fuzz/fields.hpp"
#include "fuzz/generator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace mqalab {
namespace {

constexpr int kSeedCases = 32;      // generated cases that a worker starts with
constexpr int kCaseTimeout_s = 120; // one check; a hang is a finding
constexpr int kMostRestarts = 50;
constexpr int kLibFuzzerTimeout = 70, kDiskFull = 20;

} // namespace

Fleet::Fleet(const CampaignOptions& options) : options_(options), folder_(options.out / "workers") {
  std::filesystem::create_directories(folder_);
  std::filesystem::create_directories(options_.out / "corpus");
  for (int number = 0; number < options_.workers; ++number) {
    const std::filesystem::path seeds = folder_ / fmt::format("{}.seeds", number);
    std::filesystem::create_directories(seeds);
    Random random(options_.seed + static_cast<uint64_t>(number) * 0x10001u);
    for (int i = 0; i < kSeedCases; ++i) {
      Case c =
          options_.fault ? generate_case(random, operation_of(*options_.fault)) : generate_any_case(random);
      if (options_.fault) fit_fault(c, *options_.fault);
      const auto record = encode(c);
      write_whole(seeds / fmt::format("{:02}", i),
                  {reinterpret_cast<const char*>(record.data()), record.size()});
    }
  }
}

std::vector<std::string> Fleet::command(int number, uint64_t seed) const {
  std::vector<std::string> words{fuzzer_program().string(),
                                 (options_.out / "corpus").string(),
                                 (folder_ / fmt::format("{}.seeds", number)).string(),
                                 fmt::format("-seed={}", seed % 0x7fffffff + 1),
                                 fmt::format("-max_len={}", kMostRecord_bytes / 2),
                                 "-len_control=0",
                                 "-rss_limit_mb=0",
                                 fmt::format("-timeout={}", kCaseTimeout_s),
                                 "-reload=1",
                                 "-detect_leaks=0",
                                 fmt::format("-artifact_prefix={}/", folder_.string()),
                                 "--out=" + options_.out.string(),
                                 fmt::format("--worker={}", number)};
  if (options_.runs > 0)
    words.push_back(fmt::format("-runs={}", (options_.runs + options_.workers - 1) / options_.workers));
  if (options_.fault) words.push_back("--fault=" + std::string(options_.fault->name));
  const Guide guide = options_.guide.value_or(number % 2 == 0 ? Guide::both : Guide::edges);
  words.push_back(fmt::format("--guide={}", name(guide)));
  return words;
}

void Fleet::launch(int number, uint64_t seed) {
  const std::filesystem::path status = folder_ / fmt::format("{}.status", number),
                              found = folder_ / fmt::format("{}.found", number);
  StatusFile shared(status, true);
  Journal touch(found); // exists before anybody reads it
  std::ifstream journal(found, std::ios::binary);
  workers_.push_back({number, WorkerProcess(command(number, seed), folder_ / fmt::format("{}.log", number)),
                      std::move(shared), std::move(journal)});
}

void Fleet::start() {
  started_ns_ = monotonic_ns();
  for (int number = 0; number < options_.workers; ++number)
    launch(number, options_.seed + static_cast<uint64_t>(number));
}

void Fleet::take_lines(Worker& worker, std::vector<Found>& found) {
  std::string line;
  worker.journal.clear();
  while (true) {
    const auto before = worker.journal.tellg();
    if (!std::getline(worker.journal, line) ||
        worker.journal.eof()) { // a line without its end is still being written
      worker.journal.clear();
      worker.journal.seekg(before);
      return;
    }
    if (auto entry = from_line(line)) found.push_back(std::move(*entry));
  }
}

// A worker that ended by itself: its last case is a suspect, unless it was told to end.
void Fleet::mourn(Worker& worker, const ProcessEnd& end, std::vector<Found>& found) {
  if (end.exit_code == kDiskFull && end.signal == 0)
    throw DiskError(fmt::format(
        "{}: no space left, said worker {}; everything found so far is kept; make room, then run the same "
        "command again to go on",
        options_.out.string(), worker.number));
  if (end.exit_code == 0 && end.signal == 0) return; // its runs are done
  const std::string log = (folder_ / fmt::format("{}.log", worker.number)).string();
  if (++restarts_ > kMostRestarts)
    throw std::runtime_error(fmt::format(
        "workers died {} times; the machine or this build is broken; last words: {}", restarts_, log));
  const bool hang = end.signal == 0 && end.exit_code == kLibFuzzerTimeout;
  const auto suspect = worker.status.in_flight();
  if (!suspect) {
    trouble_ = fmt::format(
        "worker {} ended ({}) between two cases, a fault of the lab's own; its last words are in {}",
        worker.number, end.text(), log);
    return;
  }
  const std::string message = hang ? fmt::format("hang: no answer in {} s", kCaseTimeout_s)
                                   : fmt::format("fault: {}: {}", kProcessDied, end.text());
  found.push_back(
      {*suspect,
       {hang ? VerdictClass::hang : VerdictClass::fault, std::string(hang ? kNoAnswer : kProcessDied), ""},
       message});
}

std::vector<Found> Fleet::collect() {
  std::vector<Found> found;
  std::vector<int> dead;
  for (Worker& worker : workers_) {
    const bool was_running = worker.process.running();
    const auto end = worker.process.poll();
    take_lines(worker, found);
    if (!was_running || !end || stopping_) continue;
    mourn(worker, *end, found);
    if (end->exit_code != 0 || end->signal != 0) dead.push_back(worker.number);
  }
  for (const int number : dead) {
    const auto worker =
        std::find_if(workers_.begin(), workers_.end(), [&](const Worker& w) { return w.number == number; });
    buried_.cases += worker->status->cases;
    buried_.rejected += worker->status->rejected;
    buried_.undecided += worker->status->undecided;
    buried_.findings_met += worker->status->findings + 1;
    workers_.erase(worker);
    launch(number, options_.seed + 7919u * static_cast<uint64_t>(restarts_) + static_cast<uint64_t>(number));
    workers_.back().journal.seekg(0, std::ios::end);
  }
  return found;
}

void Fleet::stop() {
  stopping_ = true;
  for (Worker& worker : workers_) worker.process.stop();
}

bool Fleet::any_running() {
  return std::any_of(workers_.begin(), workers_.end(), [](Worker& worker) { return !worker.process.poll(); });
}

std::vector<uint8_t> Fleet::pairs_seen() const {
  std::vector<uint8_t> seen(kFeatureBytes, 0);
  for (const Worker& worker : workers_)
    for (size_t i = 0; i < seen.size(); ++i) seen[i] |= worker.status->pairs_seen[i];
  return seen;
}

void Fleet::measure(CampaignResult& result) const {
  result.cases = buried_.cases, result.rejected = buried_.rejected, result.undecided = buried_.undecided;
  result.findings_met = buried_.findings_met, result.restarts = restarts_;
  if (result.trouble.empty()) result.trouble = trouble_;
  std::vector<uint8_t> edges(kEdgeMap_bytes, 0);
  uint64_t first_ns = 0;
  for (const Worker& worker : workers_) {
    const WorkerStatus& s = *worker.status;
    result.cases += s.cases, result.rejected += s.rejected, result.undecided += s.undecided,
        result.findings_met += s.findings;
    for (size_t i = 0; i < edges.size(); ++i) edges[i] |= s.edges_seen[i];
    const uint64_t ns = s.first_finding_ns;
    if (ns != 0 && (first_ns == 0 || ns < first_ns))
      first_ns = ns, result.cases_to_detection = s.first_finding_case * workers_.size();
  }
  if (first_ns != 0) result.seconds_to_detection = static_cast<double>(first_ns - started_ns_) * 1e-9;
  const auto pairs = pairs_seen();
  result.pairs = static_cast<uint64_t>(std::count(pairs.begin(), pairs.begin() + kPairs, 1));
  result.machine_edges = static_cast<uint64_t>(std::count(edges.begin(), edges.end(), 1));
  result.seconds = static_cast<double>(monotonic_ns() - started_ns_) * 1e-9;
}

} // namespace mqalab
