// See search.hpp.  The score is the median of the ratios to the round's median contender, so that a drift
// which all contenders of a round see cancels.
#include "tune/search.hpp"

#include "db/decide.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <random>

namespace mqalab {
namespace {

class Halving {
public:
  Halving(size_t contenders, const HalvingOptions& options, const std::function<double(size_t)>& time,
          const std::function<bool(const std::vector<Timing>&)>& on_round)
      : options_(options), time_(time), on_round_(on_round), random_(options.seed), alive_(contenders) {
    std::iota(alive_.begin(), alive_.end(), size_t{0});
  }

  std::vector<Timing> run() {
    if (!play_rounds(1)) return all_;
    drop_hopeless();
    int rounds = 2;
    for (size_t target = alive_.size(); target > options_.keep; rounds *= 2) {
      target = std::max(options_.keep, target / options_.eta);
      keep_best(target);
      if (!play_rounds(rounds)) return all_;
    }
    keep_best(options_.finalists);
    play_rounds(options_.final_rounds);
    return all_;
  }

private:
  bool play_rounds(int count) {
    scores_.clear();
    for (int i = 0; i < count; ++i)
      if (!play_round()) return false;
    return true;
  }

  bool play_round() {
    std::shuffle(alive_.begin(), alive_.end(), random_);
    std::vector<Timing> round;
    std::vector<double> times;
    for (const size_t contender : alive_) {
      round.push_back({contender, round_, time_(contender)});
      times.push_back(round.back().microseconds);
    }
    const double middle = median(times);
    for (const Timing& t : round) scores_[t.contender].push_back(t.microseconds / middle);
    all_.insert(all_.end(), round.begin(), round.end());
    ++round_;
    return on_round_(round);
  }

  double score(size_t contender) const { return median(scores_.at(contender)); }

  void drop_hopeless() {
    double best = score(alive_.front());
    for (const size_t contender : alive_) best = std::min(best, score(contender));
    std::erase_if(alive_, [&](size_t c) {
      return c != options_.default_index && !(score(c) <= options_.hopeless * best);
    });
  }

  void keep_best(size_t count) {
    std::sort(alive_.begin(), alive_.end(),
              [&](size_t a, size_t b) { return std::pair(score(a), a) < std::pair(score(b), b); });
    if (alive_.size() <= count) return;
    const bool saved = std::find(alive_.begin() + static_cast<std::ptrdiff_t>(count), alive_.end(),
                                 options_.default_index) != alive_.end();
    alive_.resize(count);
    if (saved) alive_.push_back(options_.default_index);
  }

  const HalvingOptions options_;
  const std::function<double(size_t)>& time_;
  const std::function<bool(const std::vector<Timing>&)>& on_round_;
  std::mt19937_64 random_;
  std::vector<size_t> alive_;
  std::map<size_t, std::vector<double>> scores_; // of the current stage
  std::vector<Timing> all_;
  int64_t round_ = 0;
};

} // namespace

std::vector<Timing> halve(size_t contenders, const HalvingOptions& options,
                          const std::function<double(size_t)>& time,
                          const std::function<bool(const std::vector<Timing>&)>& on_round) {
  if (contenders == 0) return {};
  return Halving(contenders, options, time, on_round).run();
}

} // namespace mqalab
