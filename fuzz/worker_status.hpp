// What a fuzzing process shows to the coordinator: a small file that both map.  It outlives the process, so
// the case in flight is known even when the process died of it.
#pragma once
#include "fuzz/case.hpp"
#include "fuzz/features.hpp"

#include <atomic>
#include <filesystem>
#include <optional>

namespace mqalab {

inline constexpr size_t kEdgeMap_bytes = 65536;
inline constexpr size_t kMostRecord_bytes = 8192;

struct WorkerStatus {
  std::atomic<uint64_t> cases, rejected, undecided, findings;
  std::atomic<uint64_t> pairs, machine_edges;                 // distinct so far
  std::atomic<uint64_t> first_finding_ns, first_finding_case; // CLOCK_MONOTONIC; 0: none yet
  std::atomic<uint32_t> disk_full;
  std::atomic<uint32_t> in_flight_bytes; // of the record being checked; 0: none
  uint8_t in_flight[kMostRecord_bytes];
  uint8_t pairs_seen[kFeatureBytes];
  uint8_t edges_seen[kEdgeMap_bytes];
};

uint64_t monotonic_ns();

class StatusFile {
public:
  // Creates (all zero) or opens the file.  Throws DiskError.
  StatusFile(const std::filesystem::path&, bool create);
  ~StatusFile();
  StatusFile(StatusFile&&) noexcept;
  StatusFile& operator=(StatusFile&&) = delete;
  WorkerStatus* operator->() const { return status_; }
  WorkerStatus& operator*() const { return *status_; }
  // The case that was being checked when the process ended.
  std::optional<std::vector<uint8_t>> in_flight() const;

private:
  WorkerStatus* status_;
};

} // namespace mqalab
