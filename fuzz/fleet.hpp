// The workers of a campaign together: start, restart, what they show, what they found.
#pragma once
#include "fuzz/campaign.hpp"
#include "fuzz/worker_process.hpp"
#include "fuzz/worker_status.hpp"

#include <fstream>
#include <list>

namespace mqalab {

class Fleet {
public:
  explicit Fleet(const CampaignOptions&);

  void start();
  // Lines of the journals that are new since the last call, and the cases that workers died of.
  std::vector<Found> collect();
  void stop();
  bool any_running();

  // Sums over the workers; `result` receives cases, edges, pairs, detection.
  void measure(CampaignResult& result) const;
  std::vector<uint8_t> pairs_seen() const;
  uint64_t started_ns() const { return started_ns_; }

private:
  struct Worker {
    int number;
    WorkerProcess process;
    StatusFile status;
    std::ifstream journal;
  };
  std::vector<std::string> command(int number, uint64_t seed) const;
  void launch(int number, uint64_t seed);
  void take_lines(Worker&, std::vector<Found>&);
  void mourn(Worker&, const ProcessEnd&, std::vector<Found>&);

  const CampaignOptions& options_;
  std::filesystem::path folder_;
  std::list<Worker> workers_;
  uint64_t started_ns_ = 0;
  int restarts_ = 0;
  bool stopping_ = false;
  std::string trouble_;
  CampaignResult buried_; // counts of workers that were replaced
};

} // namespace mqalab
