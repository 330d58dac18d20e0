// Builds and probes the serving table.  Odd: every problem also gets an entry for "any other device", whose
// answer is the built-in default and a sentence that names the device the rows are for.
#include "kernels/serving_table.hpp"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstring>

namespace mqa {
namespace {

uint64_t mixed(uint64_t value) noexcept { // splitmix64's finaliser
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
  return value ^ (value >> 31);
}

uint64_t hash(const ProblemKey& k, int32_t device) noexcept {
  const uint64_t sizes = uint64_t{k.batch_bucket} << 32 | k.max_model_len_bucket;
  const uint64_t shape =
      uint64_t{k.next_n} << 48 | uint64_t{k.heads} << 32 | uint64_t{k.head_dim} << 16 | k.block_size;
  const uint64_t kind = static_cast<uint64_t>(k.operation) << 28 | uint64_t{k.layout} << 24 |
                        uint64_t{k.fp8} << 16 | uint64_t{k.tail} << 8 | k.stride_class;
  return mixed(mixed(sizes) ^ shape) + mixed(kind ^ static_cast<uint64_t>(device) << 32);
}

const char* file_name(const std::string& path) { return path.c_str() + path.rfind('/') + 1; }

// A usable row beats a quarantined one, and that a stale one.
int rank(mqa_source source) {
  switch (source) {
  case MQA_SOURCE_EXACT: return 3;
  case MQA_SOURCE_QUARANTINED: return 2;
  case MQA_SOURCE_STALE: return 1;
  default: return 0;
  }
}

// The kind of the quarantine that covers the row, in whichever file it stands; nullptr if none does.
const QuarantineRow* quarantine_of(const TunedRow& row, const std::vector<DatabaseFile>& files) {
  for (const DatabaseFile& file : files)
    for (const QuarantineRow& quarantine : file.quarantines)
      if (quarantine.covers(row)) return &quarantine;
  return nullptr;
}

} // namespace

ServingTable::ServingTable(const std::vector<DatabaseFile>& files, std::string_view kernel_hash) {
  size_t rows = 0;
  for (const DatabaseFile& file : files) rows += file.rows.size();
  slots_.resize(std::bit_ceil(4 * rows + 2)); // two entries a row, half full
  for (const DatabaseFile& file : files)
    for (const TunedRow& row : file.rows) {
      if (device_index(row.device, row.simulated) == kAnyDevice)
        devices_.push_back({row.device, row.simulated});
      const QuarantineRow* quarantine = quarantine_of(row, files);
      Candidate candidate{&row, &file, MQA_SOURCE_EXACT, ""};
      if (row.kernel_hash != kernel_hash)
        candidate.source = MQA_SOURCE_STALE;
      else if (quarantine)
        candidate.source = MQA_SOURCE_QUARANTINED, candidate.cause = quarantine->kind;
      offer(row.problem, device_index(row.device, row.simulated), candidate);
      offer_mismatch(row);
    }
  served_ = static_cast<size_t>(std::count_if(answers_.begin(), answers_.end(), [](const Answer& answer) {
    return answer.source == MQA_SOURCE_EXACT;
  }));
}

int32_t ServingTable::device_index(std::string_view key, bool simulated) const noexcept {
  for (size_t i = 0; i < devices_.size(); ++i)
    if (devices_[i].simulated == simulated && devices_[i].key == key) return static_cast<int32_t>(i);
  return kAnyDevice;
}

// The slot that holds (problem, device), or the free one where it would go.
const ServingTable::Slot& ServingTable::probe(const ProblemKey& problem, int32_t device) const noexcept {
  const size_t mask = slots_.size() - 1;
  for (size_t i = hash(problem, device) & mask;; i = (i + 1) & mask) {
    const Slot& slot = slots_[i];
    if (slot.answer < 0 || (slot.device == device && slot.problem == problem)) return slot;
  }
}

const Answer* ServingTable::find(const ProblemKey& problem, std::string_view device,
                                 bool simulated) const noexcept {
  const int32_t index = device_index(device, simulated);
  const Slot* slot = &probe(problem, index);
  if (slot->answer < 0 && index != kAnyDevice) slot = &probe(problem, kAnyDevice);
  return slot->answer < 0 ? nullptr : &answers_[static_cast<size_t>(slot->answer)];
}

void ServingTable::offer(const ProblemKey& problem, int32_t device, const Candidate& c) {
  Answer answer;
  answer.source = c.source;
  answer.row_id = c.row->id;
  const char* file = file_name(c.file->path);
  const long long id = c.row->id;
  char* reason = answer.reason;
  if (c.source == MQA_SOURCE_EXACT) {
    answer.config = c.row->config;
    std::snprintf(reason, sizeof answer.reason,
                  "row %lld of %.60s: certified for this problem's bucket, %s at %.2f of the default's time",
                  id, file, c.row->simulated ? "modelled" : "measured", c.row->ratio);
  } else if (c.source == MQA_SOURCE_STALE) {
    std::snprintf(reason, sizeof answer.reason,
                  "row %lld of %.60s is for kernels %.16s, not these; built-in default, tune again", id, file,
                  c.row->kernel_hash.c_str());
  } else {
    std::snprintf(reason, sizeof answer.reason, "row %lld of %.60s is quarantined (%.60s); built-in default",
                  id, file, c.cause.c_str());
  }
  const Slot& held = probe(problem, device);
  if (held.answer < 0) {
    insert(problem, device, answer);
    generations_.push_back(c.file->generation);
    return;
  }
  const auto at = static_cast<size_t>(held.answer);
  const auto standing = std::pair(rank(answers_[at].source), generations_[at]);
  if (std::pair(rank(c.source), c.file->generation) <= standing) return;
  answers_[at] = answer;
  generations_[at] = c.file->generation;
}

void ServingTable::offer_mismatch(const TunedRow& row) {
  if (probe(row.problem, kAnyDevice).answer >= 0) return;
  Answer answer;
  answer.source = MQA_SOURCE_MISMATCH;
  std::snprintf(answer.reason, sizeof answer.reason,
                "the database's rows for this problem are for %s %.90s, not this device; built-in default",
                row.simulated ? "the simulated" : "the device", row.device.c_str());
  insert(row.problem, kAnyDevice, answer);
  generations_.push_back(0);
}

void ServingTable::insert(const ProblemKey& problem, int32_t device, Answer answer) {
  Slot& slot = const_cast<Slot&>(probe(problem, device));
  slot = {problem, device, static_cast<int32_t>(answers_.size())};
  answers_.push_back(answer);
}

} // namespace mqa
