// Decisions on samples whose right answer is known.
#include "db/decide.hpp"
#include "db/test_content.hpp"

#include <gtest/gtest.h>

namespace mqalab {
namespace {

using namespace testing;

Best best_of(const std::vector<Trial>& trials) {
  std::vector<Series> series;
  for (size_t i = 0; i < trials.size(); ++i) series.push_back({&trials[i], "uuid" + std::to_string(i)});
  return decide(series);
}

TEST(Decide, TakesTheFastest) {
  const Best best = best_of({trial(config(0), {10}, true), trial(config(8), {4})});
  EXPECT_EQ(best.config, config(8));
  EXPECT_DOUBLE_EQ(best.ratio, 0.4);
  EXPECT_DOUBLE_EQ(best.default_microseconds, 10);
}

TEST(Decide, KeepsTheDefaultUnlessItIsBeatenByTheMargin) {
  EXPECT_EQ(best_of({trial(config(0), {10}, true), trial(config(8), {9.9})}).config, config(0));
  EXPECT_EQ(best_of({trial(config(0), {10}, true), trial(config(8), {9.7})}).config, config(8));
}

TEST(Decide, KeepsTheDefaultWhenTheIntervalReachesIt) {
  EXPECT_EQ(best_of({trial(config(0), {10, 10, 10}, true), trial(config(8), {9, 9, 11})}).config, config(0));
}

TEST(Decide, SettlesATieByTheCanonicalOrderWhateverTheOrderOfTrials) {
  const std::vector<Trial> trials{trial(config(0), {10}, true), trial(config(16), {5.00}),
                                  trial(config(4, 512), {5.02}), trial(config(4, 128), {5.03}),
                                  trial(config(2), {5.20})};
  EXPECT_EQ(best_of(trials).config, config(4, 128));
  EXPECT_EQ(best_of({trials[3], trials[4], trials[2], trials[1], trials[0]}).config, config(4, 128));
}

TEST(Decide, CancelsADriftThatAllContendersSaw) {
  // The clock falls by half: later rounds are slower for everyone; only the ratio tells.
  EXPECT_EQ(best_of({trial(config(0), {10, 15, 20}, true), trial(config(8), {9, 13.5, 18})}).config,
            config(8));
}

TEST(Decide, IgnoresConfigurationsThatDroppedOutEarly) {
  const Best best =
      best_of({trial(config(0), {10, 10, 10}, true), trial(config(8), {1}), trial(config(4), {8, 8, 8})});
  EXPECT_EQ(best.config, config(4)) << "one lucky probe must not win";
}

TEST(Decide, ForgetsASessionThatWasCutShort) {
  Trial lucky = trial(config(8), {1}), probe = trial(config(0), {10}, true);
  lucky.session = probe.session = "cut short";
  const Best best =
      best_of({trial(config(0), {10, 10, 10}, true), trial(config(4), {8, 8, 8}), lucky, probe});
  EXPECT_EQ(best.config, config(4));
}

TEST(Decide, WorksWithoutADefault) {
  EXPECT_EQ(best_of({trial(config(2), {10}), trial(config(4), {5})}).config, config(4));
}

TEST(Canonical, ComparesNumbersAndNotTheirDigits) {
  EXPECT_TRUE(canonically_before(config(2), config(16)));
  EXPECT_FALSE(canonically_before(config(16), config(2)));
  EXPECT_TRUE(canonically_before(config(2, 64), config(2, 1024)));
}

} // namespace
} // namespace mqalab
