// A fuzzing campaign in one folder: gate, regression corpus, worker processes, triage, summary.  The
// coordinator never runs the case that kills a process: workers do, and what they write survives them.
#pragma once
#include "fuzz/gate.hpp"
#include "fuzz/guide.hpp"
#include "fuzz/triage.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace mqalab {

struct CampaignOptions {
  std::filesystem::path out;
  double seconds = 600;
  int64_t runs = 0; // 0: until the time is over
  int workers = 1;
  const Fault* fault = nullptr; // given: stop at the first finding
  uint64_t seed = 1;
  std::optional<Guide> guide; // of every worker; not given: both, and edges alone, in turn
  bool gate = true;
};

// How coverage grew.
struct GrowthPoint {
  double seconds = 0;
  uint64_t cases = 0, pairs = 0, machine_edges = 0;
};

struct CampaignResult {
  enum class End : uint8_t { clean, findings, gate_failed, disk_full, broken } end = End::clean;
  bool interrupted = false;
  std::string trouble; // why disk_full or broken
  uint64_t cases = 0, rejected = 0, undecided = 0, findings_met = 0;
  double seconds = 0;
  double seconds_to_detection = -1; // from the start of the workers; -1: nothing found
  uint64_t cases_to_detection = 0;
  int restarts = 0;
  std::vector<GrowthPoint> growth;
  std::vector<std::string> pairs_never_seen; // the first few
  uint64_t pairs = 0, pairs_possible = 0, machine_edges = 0;
  std::vector<StoredFinding> findings;
};

// Never throws for a full disk or a dead worker: that is in the result.
CampaignResult run_campaign(const CampaignOptions&);

// What checks the case of a file in a process of its own, which may die of it.
std::vector<std::string> command_to_check(const std::filesystem::path& file, const Fault*,
                                          const OracleOptions&);

std::string summary_text(const CampaignOptions&, const CampaignResult&);
std::string summary_json(const CampaignOptions&, const CampaignResult&);

} // namespace mqalab
