// What a tuning database says, free of ids, paths and order: two files with the same content say the same.
// Merging is defined here, on values: union by natural key, and where two files differ on one key the greater
// value wins, which makes it associative, commutative and idempotent.
#pragma once
#include <compare>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace mqalab {

struct DeviceId {
  std::string key;        // mqa_device_key()
  bool simulated = false; // the simulator of that device, not the device
  auto operator<=>(const DeviceId&) const = default;
};
struct Device {
  int64_t compute_units = 0, wave_size = 0, lds_bytes = 0;
  auto operator<=>(const Device&) const = default;
};
struct Build {
  std::string library, compiler, space_hash;
  auto operator<=>(const Build&) const = default;
};
struct Environment {
  std::string host, driver, runtime, policy; // policy: cold, hot, model
  auto operator<=>(const Environment&) const = default;
};

struct Sample {
  int64_t ordinal = 0, round = 0;
  double microseconds = 0;
  auto operator<=>(const Sample&) const = default;
};
struct Trial {
  std::string session, problem, config, kernel_hash, status, origin, reason, at;
  DeviceId device;
  Environment environment;
  bool is_default = false;
  int64_t seed = 0;
  std::map<int64_t, Sample> samples; // by ordinal
  auto operator<=>(const Trial&) const = default;
};

struct CertificateKey {
  std::string problem, config, kernel_hash;
  DeviceId device;
  auto operator<=>(const CertificateKey&) const = default;
};
struct Certificate {
  int64_t oracle_version = 1, cases = 0;
  std::string edge_shapes, at;
  auto operator<=>(const Certificate&) const = default;
};

// Empty problem, device or kernel_hash: every one.
struct QuarantineKey {
  std::string config, problem, device, kernel_hash, kind;
  auto operator<=>(const QuarantineKey&) const = default;
};
struct Quarantine {
  std::string evidence, replay, at;
  auto operator<=>(const Quarantine&) const = default;
};

struct HistoryEntry {
  std::string problem, device, kernel_hash, policy, at, config, reason;
  auto operator<=>(const HistoryEntry&) const = default;
};

struct BestKey {
  std::string problem, kernel_hash, policy;
  DeviceId device;
  auto operator<=>(const BestKey&) const = default;
};
struct Best {
  std::string config, origin, tie_set, trial_uuid;
  double ratio = 1, ratio_low = 1, ratio_high = 1, microseconds = 0, default_microseconds = 0;
  auto operator<=>(const Best&) const = default;
};

struct Content {
  int64_t generation = 0;
  std::map<DeviceId, Device> devices;
  std::map<std::string, Build> builds;    // by kernel hash
  std::map<std::string, double> problems; // weight by key
  std::map<std::string, Trial> trials;    // by uuid
  std::map<CertificateKey, Certificate> certificates;
  std::map<QuarantineKey, Quarantine> quarantines;
  std::set<HistoryEntry> history;
  std::map<BestKey, Best> best; // derived: see recompute_best
  auto operator<=>(const Content&) const = default;
};

Content merged(const Content&, const Content&);

// Replaces `best` by what samples, certificates and quarantines say.
void recompute_best(Content&);
bool is_quarantined(const Content&, const CertificateKey&);

// What a published file holds: the best rows, their certificates, what those refer to, and every quarantine.
Content published(const Content&);

} // namespace mqalab
