// mqalab-fuzzer: the libFuzzer planner.  decode -> legality -> Oracle::check -> features, all in one process
// with the simulator.  With --out a finding is data: it goes to the journal and fuzzing goes on.  Without, it
// aborts in the stock manner, so that libFuzzer's own tools work on a single case.
//   mqalab-fuzzer CORPUS... [libFuzzer flags] --out=DIR --worker=N [--fault=NAME]
//   [--guide=both|edges|pairs|none]
#include "fuzz/disk.hpp"
#include "fuzz/fault_fit.hpp"
#include "fuzz/features.hpp"
#include "fuzz/found.hpp"
#include "fuzz/generator.hpp"
#include "fuzz/guide.hpp"
#include "fuzz/large_budget.hpp"
#include "fuzz/mutator.hpp"
#include "fuzz/oracle.hpp"
#include "fuzz/thresholds.hpp"
#include "fuzz/worker_status.hpp"

#ifdef MQALAB_SIM
#include <amdsim/control.h>
#endif
#include <fmt/format.h>

#include <csignal>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <sys/prctl.h>
#include <unistd.h>

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace mqalab {
namespace {

constexpr size_t kEdgesAt = (kFeatureBytes + 63) / 64 * 64;
// libFuzzer reads and clears this section around every input: feature pairs first, then the machine code's
// edges.  `used`: nobody here reads it, and the linker would drop it.
__attribute__((used, retain,
               section("__libfuzzer_extra_counters"))) uint8_t extra_counters[kEdgesAt + kEdgeMap_bytes];
// What one check showed, guided by it or not.
uint8_t features[kFeatureBytes], edges[kEdgeMap_bytes];

constexpr int kKeepOut = -1; // libFuzzer: do not add this input to the corpus
constexpr int kExitDiskFull = 20, kExitBadUsage = 2;
constexpr int kMostRecordsOfOneBug = 20;

struct Planner {
  Oracle oracle;
  const Fault* fault = nullptr;
  Guide guide = Guide::both;
  KernelWords words;
  LargeBudget large;
  std::optional<StatusFile> status;
  std::unique_ptr<Journal> journal;
  std::map<std::string, int> recorded;
};
std::unique_ptr<Planner> planner;

[[noreturn]] void leave(int code, const std::string& message) {
  fmt::print(stderr, "mqalab-fuzzer: {}\n", message);
  _exit(code);
}

std::string flag_value(const char* argument, std::string_view flag) {
  const std::string_view text(argument);
  return text.starts_with(flag) ? std::string(text.substr(flag.size())) : std::string();
}

void read_flags(int argc, char** argv) {
  std::string out, worker = "0";
  for (int i = 1; i < argc; ++i) {
    if (const std::string v = flag_value(argv[i], "--out="); !v.empty()) out = v;
    if (const std::string v = flag_value(argv[i], "--worker="); !v.empty()) worker = v;
    if (const std::string v = flag_value(argv[i], "--fault="); !v.empty()) {
      planner->fault = find_fault(v);
      if (!planner->fault)
        leave(kExitBadUsage, fmt::format("no planted fault is called {}; try: mqalab faults", v));
    }
    if (const std::string v = flag_value(argv[i], "--guide="); !v.empty())
      planner->guide = guide_named(v).value_or(Guide::both);
  }
  if (out.empty()) return;
  const std::filesystem::path folder = std::filesystem::path(out) / "workers";
  const std::filesystem::path status = folder / (worker + ".status");
  planner->status.emplace(status, !std::filesystem::exists(status)); // the coordinator has it mapped already
  planner->journal = std::make_unique<Journal>(folder / (worker + ".found"));
}

// ---- after a check ----

template <class Bytes> uint64_t count_new(Bytes& seen, const uint8_t* now, size_t bytes) {
  uint64_t fresh = 0;
  for (size_t i = 0; i < bytes; i += 8) {
    uint64_t eight = 0;
    std::memcpy(&eight, now + i, std::min<size_t>(8, bytes - i));
    if (eight == 0) continue;
    for (size_t j = i; j < std::min(i + 8, bytes); ++j)
      if (now[j] && !seen[j]) seen[j] = 1, ++fresh;
  }
  return fresh;
}

void publish(const Verdict& verdict) {
  WorkerStatus& s = **planner->status;
  s.pairs += count_new(s.pairs_seen, features, kFeatureBytes);
  s.machine_edges += count_new(s.edges_seen, edges, kEdgeMap_bytes);
  ++s.cases;
  s.rejected += verdict.verdict == VerdictClass::rejected;
  s.undecided += verdict.verdict == VerdictClass::none;
}

void record(const Case& c, const Verdict& verdict) {
  WorkerStatus& s = **planner->status;
  if (s.findings++ == 0) {
    s.first_finding_case = s.cases.load();
    s.first_finding_ns = monotonic_ns();
  }
  if (++planner->recorded[verdict.signature.text()] > kMostRecordsOfOneBug) return;
  planner->journal->append(to_line({encode(c), verdict.signature, verdict.message}));
}

void begin(const std::vector<uint8_t>& record) {
  WorkerStatus& s = **planner->status;
  if (record.size() > kMostRecord_bytes) return;
  std::memcpy(s.in_flight, record.data(), record.size());
  s.in_flight_bytes = static_cast<uint32_t>(record.size());
}

void watch_edges(uint8_t* map) {
#ifdef MQALAB_SIM
  amdsim_coverage_into(map, kEdgeMap_bytes);
#else
  (void)map;
#endif
}

Verdict check(const Case& c) {
  std::memset(edges, 0, sizeof edges);
  std::memset(features, 0, sizeof features);
  watch_edges(edges);
  const Verdict verdict = planner->oracle.check(c, planner->fault);
  watch_edges(nullptr);
  return verdict;
}

// Taken or not, never how often: trip counts of loops would multiply the corpus and show nothing new.
void guide_engine() {
  if (by_pairs(planner->guide)) std::memcpy(extra_counters, features, sizeof features);
  if (!by_edges(planner->guide)) return;
  for (size_t i = 0; i < kEdgeMap_bytes; ++i) extra_counters[kEdgesAt + i] = edges[i] != 0;
}

void show_features(const Case& c, const Verdict& verdict) {
  const Problem problem = resolve(c);
  count_features(features, classify(problem, c, verdict.launched.config), c, verdict);
  thresholds_crossed(problem, verdict.launched.config);
}

// 0: keep when it shows something new.
int test_case(const Case& c) {
  if (why_outside_contract(c).empty() && !why_illegal(c).empty()) return kKeepOut; // beyond the lab's limits
  if (planner->status) begin(encode(c));
  const Verdict verdict = check(c);
  if (verdict.verdict != VerdictClass::rejected && verdict.verdict != VerdictClass::none)
    show_features(c, verdict);
  guide_engine();
  if (planner->status) publish(verdict);
  if (is_finding(verdict.verdict)) {
    if (!planner->journal) {
      fmt::print(stderr, "{}\n{}\n", verdict.message, to_json(c));
      std::abort();
    }
    record(c, verdict);
  }
  if (planner->status) (*planner->status)->in_flight_bytes = 0;
  return verdict.verdict == VerdictClass::ok || verdict.verdict == VerdictClass::rejected ? 0 : kKeepOut;
}

uint64_t word_from_engine(uint64_t word) {
  uint8_t bytes[sizeof word];
  std::memcpy(bytes, &word, sizeof word);
  LLVMFuzzerMutate(bytes, sizeof bytes, sizeof bytes);
  std::memcpy(&word, bytes, sizeof word);
  return word;
}

size_t put(Case c, uint8_t* out, size_t max_size) {
  planner->large.spend(c);
  if (planner->fault) fit_fault(c, *planner->fault);
  const std::vector<uint8_t> record = encode(c);
  if (record.size() > max_size) return 0;
  std::memcpy(out, record.data(), record.size());
  return record.size();
}

} // namespace
} // namespace mqalab

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  using namespace mqalab;
  prctl(PR_SET_PDEATHSIG, SIGTERM); // never outlive the coordinator
#ifdef MQALAB_SIM
  amdsim_quiet(1);
#endif
  try {
    planner = std::make_unique<Planner>();
    read_flags(*argc, *argv);
  } catch (const DiskError& error) {
    leave(kExitDiskFull, error.what());
  }
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace mqalab;
  try {
    return test_case(decode({data, size}));
  } catch (const DiskError& error) {
    if (planner->status) (*planner->status)->disk_full = 1;
    leave(kExitDiskFull, error.what());
  }
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned int seed) {
  using namespace mqalab;
  Random random(seed);
  const Words words = planner->guide == Guide::none ? Words{} : planner->words.now();
  const size_t written = put(mutate(decode({data, size}), random, word_from_engine, words), data, max_size);
  return written ? written : size;
}

extern "C" size_t LLVMFuzzerCustomCrossOver(const uint8_t* data1, size_t size1, const uint8_t* data2,
                                            size_t size2, uint8_t* out, size_t max_size, unsigned int seed) {
  using namespace mqalab;
  Random random(seed);
  return put(cross(decode({data1, size1}), decode({data2, size2}), random), out, max_size);
}
