// What the loaded databases answer: an immutable open-addressing table from (problem, device) to a
// configuration.  Built once at load; find() allocates nothing, locks nothing and cannot fail.
#pragma once
#include "kernels/database.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace mqa {

struct Answer {
  mqa_config config{0, 0, 0, 0};
  mqa_source source = MQA_SOURCE_DEFAULT;
  int64_t row_id = -1;
  char reason[sizeof(mqa_choice::reason)] = "";
};

class ServingTable {
public:
  // Precedence for one problem and device: a usable row over a quarantined over a stale one; then the highest
  // generation; then the first file.  A quarantine in any file counts for the rows of all.
  ServingTable(const std::vector<DatabaseFile>& files, std::string_view kernel_hash);

  // nullptr: no row names this problem, on any device.
  const Answer* find(const ProblemKey&, std::string_view device, bool simulated) const noexcept;
  size_t served() const noexcept { return served_; } // rows that some device is given

private:
  static constexpr int32_t kAnyDevice = -1;
  struct Device {
    std::string key;
    bool simulated;
  };
  struct Slot {
    ProblemKey problem{};
    int32_t device = kAnyDevice;
    int32_t answer = -1; // -1: a free slot
  };
  struct Candidate {
    const TunedRow* row;
    const DatabaseFile* file;
    mqa_source source;
    std::string cause;
  };
  int32_t device_index(std::string_view key, bool simulated) const noexcept;
  const Slot& probe(const ProblemKey&, int32_t device) const noexcept;
  void offer(const ProblemKey&, int32_t device, const Candidate&);
  void offer_mismatch(const TunedRow&);
  void insert(const ProblemKey&, int32_t device, Answer);

  std::vector<Device> devices_;
  std::vector<Slot> slots_; // a power of two, at most half full
  std::vector<Answer> answers_;
  std::vector<int64_t> generations_; // of each answer, while building
  size_t served_ = 0;
};

} // namespace mqa
