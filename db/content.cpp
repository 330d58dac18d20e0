// Merging and what is derived from a merge.  Odd: `best` is never merged, only recomputed.
#include "db/content.hpp"

#include "db/decide.hpp"

#include <algorithm>

namespace mqalab {
namespace {

template <class Key, class Value> void join(std::map<Key, Value>& into, const std::map<Key, Value>& from) {
  for (const auto& [key, value] : from) {
    const auto [held, is_new] = into.try_emplace(key, value);
    if (!is_new) held->second = std::max(held->second, value);
  }
}

// A copy taken while a trial was still growing has fewer samples: union them.
void join_trials(std::map<std::string, Trial>& into, const std::map<std::string, Trial>& from) {
  for (const auto& [uuid, trial] : from) {
    const auto [held, is_new] = into.try_emplace(uuid, trial);
    if (is_new) continue;
    Trial left = held->second, right = trial;
    auto samples = left.samples;
    join(samples, right.samples);
    left.samples.clear(), right.samples.clear();
    held->second = std::max(left, right);
    held->second.samples = samples;
  }
}

bool matches(const std::string& pattern, const std::string& value) {
  return pattern.empty() || pattern == value;
}

CertificateKey certificate_key(const Trial& t) { return {t.problem, t.config, t.kernel_hash, t.device}; }

} // namespace

Content merged(const Content& a, const Content& b) {
  Content all = a;
  all.generation = std::max(a.generation, b.generation);
  join(all.devices, b.devices);
  join(all.builds, b.builds);
  join(all.problems, b.problems);
  join_trials(all.trials, b.trials);
  join(all.certificates, b.certificates);
  join(all.quarantines, b.quarantines);
  all.history.insert(b.history.begin(), b.history.end());
  recompute_best(all);
  return all;
}

bool is_quarantined(const Content& content, const CertificateKey& key) {
  return std::any_of(content.quarantines.begin(), content.quarantines.end(), [&](const auto& entry) {
    const QuarantineKey& q = entry.first;
    return q.config == key.config && matches(q.problem, key.problem) && matches(q.device, key.device.key) &&
           matches(q.kernel_hash, key.kernel_hash);
  });
}

void recompute_best(Content& content) {
  std::map<BestKey, std::vector<Series>> contests;
  for (const auto& [uuid, trial] : content.trials) {
    const CertificateKey key = certificate_key(trial);
    if (trial.status != "ok" || trial.samples.empty() || !content.certificates.contains(key)) continue;
    if (is_quarantined(content, key)) continue;
    contests[{trial.problem, trial.kernel_hash, trial.environment.policy, trial.device}].push_back(
        {&trial, uuid});
  }
  content.best.clear();
  for (const auto& [key, series] : contests) content.best.emplace(key, decide(series));
}

Content published(const Content& content) {
  Content out;
  out.generation = content.generation;
  out.best = content.best;
  out.quarantines = content.quarantines;
  for (const auto& [key, best] : content.best) {
    out.problems[key.problem] = content.problems.at(key.problem);
    out.devices[key.device] = content.devices.at(key.device);
    out.builds[key.kernel_hash] = content.builds.at(key.kernel_hash);
    const CertificateKey certificate{key.problem, best.config, key.kernel_hash, key.device};
    out.certificates[certificate] = content.certificates.at(certificate);
  }
  return out;
}

} // namespace mqalab
