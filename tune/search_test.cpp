// The protocol against synthetic clocks: a space whose best is known, noise, and a drift of 11 % that wanders
// slowly.  The simpler rules stand beside it for comparison.
#include "db/decide.hpp"
#include "tune/search.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

namespace mqalab {
namespace {

// True times spread as real spaces are: few near the best, the median several times slower.
class Clock {
public:
  Clock(size_t configurations, double drift, uint64_t seed) : drift_(drift), random_(seed) {
    std::exponential_distribution<double> spread(0.8);
    for (size_t i = 0; i < configurations; ++i) truth_.push_back(10 * (1 + spread(random_)));
  }
  double operator()(size_t i) {
    ++launches;
    level_ = 0.995 * level_ + std::sqrt(1 - 0.995 * 0.995) * normal_(random_);
    return truth_[i] * std::exp(drift_ * level_ + 0.02 * normal_(random_));
  }
  double regret(size_t chosen) const {
    return truth_[chosen] / *std::min_element(truth_.begin(), truth_.end()) - 1;
  }
  size_t launches = 0;

private:
  double drift_, level_ = 0;
  std::mt19937_64 random_;
  std::normal_distribution<double> normal_;
  std::vector<double> truth_;
};

// The contender with the lowest median ratio over the rounds of the final.
size_t winner(const std::vector<Timing>& timings) {
  std::map<int64_t, std::vector<double>> rounds;
  const int64_t last = timings.back().round;
  for (const Timing& t : timings) rounds[t.round].push_back(t.microseconds);
  std::map<size_t, std::vector<double>> ratios;
  for (const Timing& t : timings)
    if (t.round > last - 16) ratios[t.contender].push_back(t.microseconds / median(rounds[t.round]));
  return std::min_element(ratios.begin(), ratios.end(),
                          [](const auto& a, const auto& b) { return median(a.second) < median(b.second); })
      ->first;
}

size_t race(Clock& clock, size_t configurations, uint64_t seed) {
  HalvingOptions options;
  options.seed = seed;
  return winner(
      halve(configurations, options, [&](size_t i) { return clock(i); }, [](const auto&) { return true; }));
}

size_t median_of_30(Clock& clock, size_t configurations) {
  std::vector<double> medians;
  for (size_t i = 0; i < configurations; ++i) {
    std::vector<double> times(30);
    for (double& time : times) time = clock(i);
    medians.push_back(median(times));
  }
  return static_cast<size_t>(std::min_element(medians.begin(), medians.end()) - medians.begin());
}

struct Score {
  double mean_regret = 0, launches = 0;
};
template <class Rule> Score play(double drift, Rule rule) {
  constexpr size_t kConfigurations = 512, kGames = 60;
  Score score;
  for (size_t game = 0; game < kGames; ++game) {
    Clock clock(kConfigurations, drift, 1000 + game);
    score.mean_regret += clock.regret(rule(clock, kConfigurations, game)) / kGames;
    score.launches += static_cast<double>(clock.launches) / kConfigurations / kGames;
  }
  return score;
}

TEST(Halving, FindsTheBestWithinThreePerMilleInThreeAndAHalfLaunchesDespiteDrift) {
  for (const double drift : {0.0, 0.01, 0.11}) {
    const Score score = play(drift, race);
    EXPECT_LE(score.mean_regret, 0.003) << "drift " << drift;
    EXPECT_LE(score.launches, 3.5) << "drift " << drift;
  }
}

TEST(Halving, BeatsThirtyRepeatsInARowUnderDrift) {
  const Score repeats = play(0.11, [](Clock& clock, size_t n, uint64_t) { return median_of_30(clock, n); });
  EXPECT_GT(repeats.mean_regret, 2 * play(0.11, race).mean_regret);
}

TEST(Halving, KeepsTheDefaultToTheEndHoweverSlow) {
  HalvingOptions options;
  options.default_index = 7;
  const auto timings = halve(
      100, options, [](size_t i) { return i == 7 ? 1e6 : 10.0 + static_cast<double>(i); },
      [](const auto&) { return true; });
  EXPECT_TRUE(
      std::any_of(timings.end() - 4, timings.end(), [](const Timing& t) { return t.contender == 7; }));
}

TEST(Halving, DropsTheHopelessAfterOneLaunch) {
  int hopeless = 0;
  halve(
      20, {}, [&](size_t i) { return hopeless += i == 5, i == 5 ? 100.0 : 10.0; },
      [](const auto&) { return true; });
  EXPECT_EQ(hopeless, 1);
}

TEST(Halving, StopsAfterTheRoundWhenAsked) {
  int rounds = 0;
  const auto timings = halve(20, {}, [](size_t) { return 1.0; }, [&](const auto&) { return ++rounds < 1; });
  EXPECT_EQ(timings.size(), 20u);
}

TEST(Halving, TimesEachContenderOnceARoundInAnOrderOfItsSeed) {
  const auto order_of = [](uint64_t seed) {
    HalvingOptions options;
    options.seed = seed;
    std::vector<size_t> order;
    halve(50, options, [&](size_t i) { return order.push_back(i), 1.0; }, [](const auto&) { return false; });
    return order;
  };
  std::vector<size_t> sorted = order_of(1), all(50);
  std::iota(all.begin(), all.end(), size_t{0});
  std::sort(sorted.begin(), sorted.end());
  EXPECT_EQ(sorted, all);
  EXPECT_EQ(order_of(1), order_of(1));
  EXPECT_NE(order_of(1), order_of(2));
}

TEST(Halving, WorksForOneContenderAndForNone) {
  EXPECT_FALSE(halve(1, {}, [](size_t) { return 1.0; }, [](const auto&) { return true; }).empty());
  EXPECT_TRUE(halve(0, {}, [](size_t) { return 1.0; }, [](const auto&) { return true; }).empty());
}

} // namespace
} // namespace mqalab
