// See decide.hpp.  Odd: a session without the default (it failed its gate) is scored against the median of
// its finalists.
#include "db/decide.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

namespace mqalab {
namespace {

using Rounds = std::map<int64_t, double>; // median time by round

struct Contender {
  std::vector<double> session_ratios, ratios, microseconds;
  std::string trial_uuid, origin;
  bool is_default = false;
  double ratio = 1, low = 1, high = 1;
};

Rounds rounds_of(const Trial& trial) {
  std::map<int64_t, std::vector<double>> times;
  for (const auto& [ordinal, sample] : trial.samples) times[sample.round].push_back(sample.microseconds);
  Rounds rounds;
  for (auto& [round, values] : times) rounds[round] = median(values);
  return rounds;
}

// 95 % interval of the median from order statistics; the extremes when there are too few values for one.
std::pair<double, double> interval(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const double n = static_cast<double>(values.size());
  const auto rank = static_cast<size_t>(std::max(0.0, std::floor((n - 1.96 * std::sqrt(n)) / 2)));
  return {values[rank], values[values.size() - 1 - rank]};
}

struct Finalist {
  const Series* series;
  Rounds rounds;
};

std::vector<Finalist> finalists(const std::vector<const Series*>& session) {
  std::vector<Finalist> all;
  size_t most = 0;
  for (const Series* series : session) {
    all.push_back({series, rounds_of(*series->trial)});
    most = std::max(most, all.back().rounds.size());
  }
  std::erase_if(all, [most](const Finalist& f) { return f.rounds.size() < most; });
  return all;
}

// What a round is measured against: the default's time, or the finalists' median.
Rounds yardstick(const std::vector<Finalist>& all) {
  for (const Finalist& f : all)
    if (f.series->trial->is_default) return f.rounds;
  std::map<int64_t, std::vector<double>> times;
  for (const Finalist& f : all)
    for (const auto& [round, time] : f.rounds) times[round].push_back(time);
  Rounds medians;
  for (auto& [round, values] : times) medians[round] = median(values);
  return medians;
}

void score_session(const std::vector<const Series*>& session, std::map<std::string, Contender>& contenders) {
  const auto all = finalists(session);
  const Rounds base = yardstick(all);
  for (const Finalist& f : all) {
    std::vector<double> ratios, times;
    for (const auto& [round, time] : f.rounds) {
      times.push_back(time);
      if (const auto at = base.find(round); at != base.end()) ratios.push_back(time / at->second);
    }
    if (ratios.empty()) continue;
    Contender& c = contenders[f.series->trial->config];
    c.session_ratios.push_back(median(ratios));
    c.ratios.insert(c.ratios.end(), ratios.begin(), ratios.end());
    c.microseconds.push_back(median(times));
    c.trial_uuid = std::max(c.trial_uuid, f.series->uuid);
    c.origin = f.series->trial->origin;
    c.is_default = c.is_default || f.series->trial->is_default;
  }
}

std::map<std::string, Contender> scored(const std::vector<Series>& series) {
  std::map<std::string, std::vector<const Series*>> sessions;
  size_t most = 0;
  for (const Series& s : series) {
    sessions[s.trial->session].push_back(&s);
    most = std::max(most, rounds_of(*s.trial).size());
  }
  // A session that was cut short says little once another came to its end.
  std::erase_if(sessions, [most](const auto& entry) {
    return 2 * finalists(entry.second).front().rounds.size() < most;
  });
  std::map<std::string, Contender> contenders;
  for (const auto& [id, session] : sessions) score_session(session, contenders);
  for (auto& [config, c] : contenders) {
    c.ratio = median(c.session_ratios);
    std::tie(c.low, c.high) = interval(c.ratios);
  }
  return contenders;
}

using Entry = std::pair<const std::string, Contender>;

std::vector<const Entry*> within_noise(const std::map<std::string, Contender>& contenders,
                                       const Entry& fastest) {
  const double half_width = (fastest.second.high - fastest.second.low) / (2 * fastest.second.ratio);
  const double tie = std::clamp(half_width, kTie, 0.05);
  std::vector<const Entry*> ties;
  for (const Entry& entry : contenders)
    if (entry.second.ratio <= fastest.second.ratio * (1 + tie)) ties.push_back(&entry);
  std::sort(ties.begin(), ties.end(),
            [](const Entry* a, const Entry* b) { return canonically_before(a->first, b->first); });
  return ties;
}

const Entry* find_default(const std::map<std::string, Contender>& contenders) {
  const auto at =
      std::find_if(contenders.begin(), contenders.end(), [](const Entry& e) { return e.second.is_default; });
  return at == contenders.end() ? nullptr : &*at;
}

} // namespace

double median(std::vector<double> values) {
  const size_t middle = values.size() / 2;
  std::sort(values.begin(), values.end());
  return values.size() % 2 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

int64_t config_field(const std::string& config, const std::string& name) {
  const std::string text = "," + config;
  const size_t at = text.find("," + name + "=");
  return at == std::string::npos ? 0 : std::atoll(text.c_str() + at + name.size() + 2);
}

bool canonically_before(const std::string& config, const std::string& other) {
  const auto order = [](const std::string& c) {
    return std::make_tuple(config_field(c, "split_kv"), config_field(c, "chunk_k"),
                           config_field(c, "wave_per_eu"), c);
  };
  return order(config) < order(other);
}

Best decide(const std::vector<Series>& series) {
  const auto contenders = scored(series);
  const auto faster = [](const Entry& a, const Entry& b) { return a.second.ratio < b.second.ratio; };
  const Entry& fastest = *std::min_element(contenders.begin(), contenders.end(), faster);
  const Entry* incumbent = find_default(contenders);
  const auto ties = within_noise(contenders, fastest);
  const bool beaten = fastest.second.ratio < 1 - kMargin && fastest.second.high < 1;
  const Entry& winner = incumbent && !beaten ? *incumbent : *ties.front();
  Best best;
  best.config = winner.first;
  best.origin = winner.second.origin;
  for (const Entry* tie : ties) best.tie_set += (best.tie_set.empty() ? "" : " ") + tie->first;
  best.trial_uuid = winner.second.trial_uuid;
  best.ratio = winner.second.ratio, best.ratio_low = winner.second.low, best.ratio_high = winner.second.high;
  best.microseconds = median(winner.second.microseconds);
  best.default_microseconds =
      incumbent ? median(incumbent->second.microseconds) : best.microseconds / best.ratio;
  return best;
}

} // namespace mqalab
