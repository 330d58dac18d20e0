// See tuner.hpp.  Odd: in the simulator all trials of a problem share one session for ever, since modelled
// costs are comparable over time; on hardware a session is one run of interleaved rounds.
#include "tune/tuner.hpp"

#include "fuzz/device.hpp"
#include "tune/gate.hpp"
#include "tune/search.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <map>

namespace mqalab {
namespace {

constexpr int64_t kMostAttempts = 2; // then what runs when the process dies is taken to be what kills it

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

uint64_t fnv(const std::string& text) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const unsigned char c : text) hash = (hash ^ c) * 0x100000001b3u;
  return hash;
}

const mqa::DeviceFacts& current_device() {
  std::string error;
  const mqa::DeviceFacts* facts = mqa::device_facts(&error);
  if (!facts) throw DeviceError(error);
  return *facts;
}

std::string compiler() {
#ifdef __clang__
  return "clang " __clang_version__;
#else
  return "gcc " __VERSION__;
#endif
}

Environment environment(const std::string& policy) {
  char host[256] = "";
  ::gethostname(host, sizeof host - 1);
  int driver = 0, runtime = 0;
  static_cast<void>(hipDriverGetVersion(&driver));
  static_cast<void>(hipRuntimeGetVersion(&runtime));
  return {host, std::to_string(driver), std::to_string(runtime), policy};
}

// One problem's tuning.
class Contest {
public:
  Contest(Store& store, Oracle& oracle, const TuneProblem& problem, const TuneOptions& options,
          Clock::time_point start)
      : store_(store), oracle_(oracle), problem_(problem), options_(options), start_(start),
        device_{current_device().key, current_device().simulated}, hash_(mqa_kernel_hash()),
        candidates_(options.space ? options.space(problem.shape) : device_space(problem.shape)) {
    outcome_.key = problem.key;
    outcome_.candidates = candidates_.size();
  }

  // False: stopped before the end.
  bool run() {
    describe();
    begun_ = Clock::now();
    for (size_t i = 0; i < candidates_.size(); ++i) {
      if (stop()) return finish(false);
      try_candidate(i);
      report(i + 1);
    }
    const bool complete = race();
    return finish(complete);
  }
  const ProblemOutcome& outcome() const { return outcome_; }

private:
  void describe() {
    const mqa::DeviceFacts& d = current_device();
    store_.describe(device_, Device{d.compute_units, d.wave_size, d.lds_bytes});
    store_.describe(hash_, Build{mqa_version(), compiler(), space_hash()});
    store_.describe_problem(problem_.key, problem_.weight);
    known_ = store_.content(problem_.key);
    for (const auto& [uuid, t] : known_.trials)
      if (t.device == device_ && t.kernel_hash == hash_) tried_[t.config] = t.status;
  }

  bool stop() const {
    return options_.stop() ||
           (options_.budget_seconds > 0 && seconds_since(start_) > options_.budget_seconds);
  }

  CostMeter& meter() {
    if (!meter_) meter_ = cost_meter(problem_.shape);
    return *meter_;
  }

  void try_candidate(size_t index) {
    const Candidate& candidate = candidates_[index];
    const std::string text = config_text(candidate.config);
    const CertificateKey key{problem_.key, text, hash_, device_};
    const bool quarantined = is_quarantined(known_, key);
    if (const auto held = tried_.find(text); held != tried_.end())
      return resume(index, held->second == "ok" && !quarantined);
    if (quarantined) return skip(index);
    if (store_.begin(problem_.key, text, options_.shard.text()) > kMostAttempts)
      return reject(index, "fault", fmt::format("the process died {} times while this ran", kMostAttempts),
                    "");
    const Certification result = certify(oracle_, problem_.shape, candidate);
    if (!result.passed()) return reject(index, result.status, result.evidence, result.replay);
    store_.certify(key, {kOracleVersion, result.cases, result.edge_shapes, now_utc()});
    accept(index);
  }

  void resume(size_t index, bool certified) {
    ++outcome_.resumed;
    if (certified)
      passed_.push_back(index), ++outcome_.passed;
    else
      ++outcome_.failed;
  }

  void skip(size_t index) {
    conclude(index, trial_of(candidates_[index], "skipped", "quarantined before it was tried"));
    ++outcome_.failed;
  }

  // Certified.  In the simulator its cost is taken now, on hardware in the race.
  void accept(size_t index) {
    Trial trial = trial_of(candidates_[index], "ok", "");
    if (meter().deterministic()) {
      trial.samples[0] = {0, 0, meter().microseconds(candidates_[index])};
      trial.reason = meter().note();
    }
    conclude(index, trial);
    ++outcome_.passed;
    passed_.push_back(index);
  }

  void reject(size_t index, const std::string& status, const std::string& evidence,
              const std::string& replay) {
    const std::string text = config_text(candidates_[index].config);
    options_.progress(fmt::format("{}: {}: not certified: {}: {}", problem_.key, text, status, evidence));
    if (status != "invalid" && status != "launch_failed")
      store_.quarantine({text, problem_.key, device_.key, hash_, status}, {evidence, replay, now_utc()});
    conclude(index, trial_of(candidates_[index], status, evidence));
    ++outcome_.failed;
  }

  void conclude(size_t index, const Trial& trial) {
    store_.add_trial(make_uuid(), trial);
    store_.end(problem_.key, config_text(candidates_[index].config));
    if (oracle_.device_lost())
      throw DeviceError(
          "the device is lost after a fault; every finished trial is kept, run the same command again");
  }

  Trial trial_of(const Candidate& candidate, const std::string& status, const std::string& reason) {
    Trial t;
    t.session = meter().deterministic() ? "model" : session_;
    t.problem = problem_.key, t.config = config_text(candidate.config), t.kernel_hash = hash_,
    t.status = status;
    t.origin = meter().origin(), t.reason = reason, t.at = now_utc(), t.device = device_;
    t.environment = environment(meter().policy()), t.is_default = candidate.is_default;
    t.seed = static_cast<int64_t>(options_.seed);
    return t;
  }

  // Interleaved rounds over the certified, each round committed.  Nothing to do when every cost is known.
  bool race() {
    if (passed_.empty() || meter().deterministic() || raced()) return true;
    HalvingOptions halving;
    halving.seed = options_.seed;
    std::vector<std::pair<std::string, Trial>> racers;
    for (const size_t index : passed_) {
      if (candidates_[index].is_default) halving.default_index = racers.size();
      racers.emplace_back(make_uuid(), trial_of(candidates_[index], "ok", "race"));
    }
    warm_up(passed_[halving.default_index]);
    bool complete = true;
    halve(
        racers.size(), halving, [&](size_t i) { return meter().microseconds(candidates_[passed_[i]]); },
        [&](const std::vector<Timing>& round) {
          for (const Timing& t : round) record(racers[t.contender].first, racers[t.contender].second, t);
          return complete = !stop();
        });
    return complete;
  }

  // An earlier run came to the end: some trial has the samples of a final.
  bool raced() const {
    const auto final_samples = static_cast<size_t>(HalvingOptions{}.final_rounds);
    return std::any_of(known_.trials.begin(), known_.trials.end(), [&](const auto& entry) {
      const Trial& t = entry.second;
      return t.device == device_ && t.kernel_hash == hash_ && t.samples.size() >= final_samples;
    });
  }

  void warm_up(size_t index) {
    const auto begin = Clock::now();
    while (seconds_since(begin) < 0.2) meter().microseconds(candidates_[index]);
  }

  void record(const std::string& uuid, Trial& trial, const Timing& timing) {
    const auto ordinal = static_cast<int64_t>(trial.samples.size());
    trial.samples[ordinal] = {ordinal, timing.round, timing.microseconds};
    store_.add_trial(uuid, trial);
  }

  bool finish(bool complete) {
    store_.refresh_best(problem_.key);
    const Content now = store_.content(problem_.key);
    for (const auto& [key, best] : now.best)
      if (key.device == device_ && key.kernel_hash == hash_) outcome_.best = best;
    return complete;
  }

  void report(size_t done) {
    const double left =
        seconds_since(begun_) / static_cast<double>(done) * static_cast<double>(candidates_.size() - done);
    options_.progress(fmt::format("{}: {}/{} configurations, {} certified, {} failed, {:.0f} s left",
                                  problem_.key, done, candidates_.size(), outcome_.passed, outcome_.failed,
                                  left));
  }

  Store& store_;
  Oracle& oracle_;
  const TuneProblem& problem_;
  const TuneOptions& options_;
  Clock::time_point start_, begun_;
  DeviceId device_;
  std::string hash_, session_ = make_uuid();
  std::vector<Candidate> candidates_;
  std::unique_ptr<CostMeter> meter_;
  Content known_;
  std::map<std::string, std::string> tried_; // configuration -> status
  std::vector<size_t> passed_;               // certified candidates
  ProblemOutcome outcome_;
};

} // namespace

bool Shard::owns(const std::string& problem_key) const {
  return fnv(problem_key) % static_cast<uint64_t>(count) == static_cast<uint64_t>(index - 1);
}

std::string Shard::text() const { return fmt::format("{}/{}", index, count); }

size_t TuneOutcome::failed() const {
  size_t sum = 0;
  for (const ProblemOutcome& p : problems) sum += p.failed;
  return sum;
}

std::vector<Candidate> device_space(const Case& problem) {
  return configuration_space(resolve(problem), current_device());
}

TuneOutcome tune(Store& store, Oracle& oracle, const std::vector<TuneProblem>& problems,
                 const TuneOptions& options) {
  TuneOutcome outcome;
  const auto start = Clock::now();
  for (const TuneProblem& problem : problems) {
    if (!options.shard.owns(problem.key)) continue;
    if (outcome.stopped) {
      ++outcome.left;
      continue;
    }
    Contest contest(store, oracle, problem, options, start);
    outcome.stopped = !contest.run();
    outcome.left += outcome.stopped;
    outcome.problems.push_back(contest.outcome());
  }
  return outcome;
}

} // namespace mqalab
