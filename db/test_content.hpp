// Small contents for tests: a problem, a device, and trials of a few configurations.
#pragma once
#include "db/content.hpp"

#include <unistd.h>

#include <filesystem>
#include <string>

namespace mqalab::testing {

inline const std::string kProblem =
    "paged_mqa_logits/v1/b1/mml2048/n1/h32/d128/bs16/planar/e4m3fn/untouched/dense";
inline const std::string kHash = "0123456789abcdef";
inline const DeviceId kDevice{"gfx942:304cu:64wave:65536lds", true};

inline std::string config(int split_kv, int chunk_k = 256) {
  return "variant=staged,chunk_k=" + std::to_string(chunk_k) + ",split_kv=" + std::to_string(split_kv) +
         ",wave_per_eu=2";
}

inline Trial trial(const std::string& configuration, std::vector<double> microseconds,
                   bool is_default = false) {
  Trial t;
  t.session = "session", t.problem = kProblem, t.config = configuration, t.kernel_hash = kHash,
  t.status = "ok";
  t.origin = "modelled", t.at = "2026-01-01T00:00:00Z", t.device = kDevice, t.is_default = is_default;
  t.environment = {"host", "driver", "runtime", "model"};
  for (size_t i = 0; i < microseconds.size(); ++i)
    t.samples[static_cast<int64_t>(i)] = {static_cast<int64_t>(i), static_cast<int64_t>(i), microseconds[i]};
  return t;
}

// Describes subjects, adds the trials, certifies every configuration, and decides.
inline Content content(const std::map<std::string, Trial>& trials) {
  Content c;
  c.devices[kDevice] = {304, 64, 65536};
  c.builds[kHash] = {"0.1.0", "clang", "space"};
  c.problems[kProblem] = 1;
  c.trials = trials;
  for (const auto& [uuid, t] : trials)
    c.certificates[{t.problem, t.config, t.kernel_hash, t.device}] = {1, 9, "lengths 0, 1", "now"};
  recompute_best(c);
  return c;
}

// Split 4 is twice as fast as the default, split 2 a little faster.
inline Content tuned() {
  return content({{"a", trial(config(0), {10}, true)},
                  {"b", trial(config(2), {9}, false)},
                  {"c", trial(config(4), {5}, false)}});
}

// A folder that goes away with the test.
struct Folder {
  std::filesystem::path path;
  explicit Folder(const std::string& name)
      : path(std::filesystem::temp_directory_path() / ("mqalab_" + name + "_" + std::to_string(::getpid()))) {
    std::filesystem::remove_all(path);
    std::filesystem::create_directories(path);
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  std::string operator/(const std::string& file) const { return (path / file).string(); }
};

} // namespace mqalab::testing
