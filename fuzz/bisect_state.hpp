// What a bisection has observed so far, in a file: the same command goes on from there.  Runs are kept as
// they were seen, not as answers, so that --repeat and --any-failure may be others next time.
#pragma once
#include "fuzz/disk.hpp"
#include "fuzz/signature.hpp"

#include <nlohmann/json.hpp>

#include <map>
#include <memory>
#include <vector>

namespace mqalab {

// One run of the case on one subject.
struct Observation {
  enum class Saw : uint8_t {
    pass,
    failure,
    nothing,   // the configuration is refused, the library is none
    no_subject // it does not build: no other run would see more
  };
  Saw saw = Saw::nothing;
  Signature signature; // of a failure
  std::string text;    // the failure, or why nothing was seen
  std::string library; // a digest of the file that ran; "" without one
};

class BisectState {
public:
  // `path` may be empty: kept in memory only.  Throws UsageError for a file that belongs to another question,
  // is no such file, or is in use.
  BisectState(const std::filesystem::path& path, const nlohmann::json& question);
  ~BisectState();
  BisectState(const BisectState&) = delete;
  const std::vector<Observation>& runs(const std::string& subject) { return runs_[subject]; }
  void record(const std::string& subject, const Observation&);
  size_t resumed() const { return resumed_; } // runs that the file held

private:
  void lock();
  void load(const nlohmann::json& question);

  std::filesystem::path path_;
  int lock_ = -1;
  std::unique_ptr<Journal> journal_;
  std::map<std::string, std::vector<Observation>> runs_;
  size_t resumed_ = 0;
};

// FNV-1a of a file's bytes, in hex: which build it was, not who wrote it.
std::string digest_of(const std::filesystem::path&);

} // namespace mqalab
