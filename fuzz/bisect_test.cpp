// Bisection over histories that are made up: whom it asks, what it finds, what it says when it cannot know.
#include "fuzz/bisect.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <random>
#include <set>

namespace mqalab {
namespace {

using Subjects = std::vector<size_t>;
using Truth = std::function<Answer(size_t)>;

// Asks until there is nothing to ask; every subject at most once.
Bisection bisected(const History& history, const Truth& truth, size_t* asked = nullptr) {
  Bisection bisection(history);
  std::set<size_t> seen;
  while (const auto subject = bisection.next()) {
    EXPECT_TRUE(seen.insert(*subject).second) << *subject << " is asked twice";
    bisection.tell(*subject, truth(*subject));
  }
  if (asked) *asked = seen.size();
  return bisection;
}

TEST(Bisection, FindsEveryFirstBadOneInLogarithmicallyManySteps) {
  for (size_t count = 2; count <= 70; ++count)
    for (size_t first_bad = 1; first_bad < count; ++first_bad) {
      size_t asked = 0;
      const Bisection b = bisected(
          straight_history(count), [&](size_t i) { return i < first_bad ? Answer::good : Answer::bad; },
          &asked);
      ASSERT_TRUE(b.decided());
      EXPECT_EQ(b.suspects().back(), first_bad);
      EXPECT_EQ(b.last_good(), Subjects{first_bad - 1});
      EXPECT_LE(asked, size_t(std::bit_width(count - 2)));
    }
}

TEST(Bisection, TheEndsAreNotAskedAgain) {
  EXPECT_FALSE(Bisection(straight_history(2)).next().has_value());
  EXPECT_EQ(Bisection(straight_history(3)).next(), size_t{1});
}

TEST(Bisection, SaysHowManyStepsAreLeft) {
  Bisection b(straight_history(17));
  EXPECT_EQ(b.steps_left(), 4);
  b.tell(8, Answer::good);
  EXPECT_EQ(b.steps_left(), 3);
}

TEST(Bisection, SkipsAroundWhatCannotBeAsked) {
  // The middle is skipped; the first bad one lies far from it and is found all the same.
  const Bisection b = bisected(straight_history(100), [](size_t i) {
    return i >= 45 && i <= 55 ? Answer::skip : i < 80 ? Answer::good : Answer::bad;
  });
  ASSERT_TRUE(b.decided());
  EXPECT_EQ(b.suspects().back(), 80u);
}

TEST(Bisection, ALongRowOfSkipsIsLeapt) {
  size_t asked = 0;
  const Bisection b = bisected(
      straight_history(1000),
      [](size_t i) { return i >= 300 && i < 700 ? Answer::skip
                            : i < 900           ? Answer::good
                                                : Answer::bad; },
      &asked);
  EXPECT_EQ(b.suspects(), Subjects{900});
  EXPECT_LE(asked, 25u);
}

TEST(Bisection, AFirstBadOneAmongSkippedOnesIsARange) {
  const Bisection b = bisected(straight_history(20), [](size_t i) {
    return i >= 7 && i <= 9 ? Answer::skip : i < 9 ? Answer::good : Answer::bad;
  });
  EXPECT_FALSE(b.decided());
  EXPECT_EQ(b.suspects(), (Subjects{7, 8, 9, 10}));
  EXPECT_EQ(b.last_good(), Subjects{6});
}

TEST(Bisection, EverythingSkippedIsTheWholeRange) {
  size_t asked = 0;
  const Bisection b = bisected(straight_history(9), [](size_t) { return Answer::skip; }, &asked);
  EXPECT_EQ(asked, 7u);
  EXPECT_EQ(b.suspects().size(), 8u);
}

//      1 - 2 - 3
//    /           \.
//  0 - 4 - 5 - 6 - 7 - 8        7 merges
const History kMerge{{}, {0}, {1}, {2}, {0}, {4}, {5}, {3, 6}, {7}};
bool comes_from(size_t subject, size_t origin) {
  if (subject == origin) return true;
  for (const size_t parent : kMerge[subject])
    if (comes_from(parent, origin)) return true;
  return false;
}

// A straight order of these nine has goods behind bads; the graph does not.
TEST(Bisection, FindsTheFirstBadOneOnEitherSideOfAMerge) {
  for (size_t culprit = 1; culprit < kMerge.size(); ++culprit) {
    const Bisection b =
        bisected(kMerge, [&](size_t i) { return comes_from(i, culprit) ? Answer::bad : Answer::good; });
    ASSERT_TRUE(b.decided()) << culprit;
    EXPECT_EQ(b.suspects().back(), culprit);
    EXPECT_EQ(b.last_good(), kMerge[culprit]);
  }
}

TEST(Settled, OneBadRunIsEnoughAndGoodNeedsAll) {
  using enum Answer;
  const auto of = [](std::vector<Answer> runs) { return settled(runs, 3); };
  EXPECT_EQ(of({}), std::nullopt);
  EXPECT_EQ(of({good, good}), std::nullopt);
  EXPECT_EQ(of({good, good, good}), good);
  EXPECT_EQ(of({good, bad}), bad);
  EXPECT_EQ(of({skip, good}), std::nullopt);
  EXPECT_EQ(of({good, skip, good}), skip);
  EXPECT_EQ(of({skip, bad}), bad);
}

// A bug that shows in one run of two: fifteen runs make a bad revision pass once in 30,000.
TEST(Settled, RepeatsCarryABisectionThroughAFlakyBug) {
  std::mt19937 random(1);
  for (size_t first_bad = 1; first_bad < 60; ++first_bad) {
    const Bisection b = bisected(straight_history(60), [&](size_t i) {
      std::vector<Answer> runs;
      while (!settled(runs, 15)) runs.push_back(i >= first_bad && random() % 2 ? Answer::bad : Answer::good);
      return *settled(runs, 15);
    });
    EXPECT_EQ(b.suspects(), Subjects{first_bad});
  }
}

NeededSwitches needed(size_t count, const std::function<Answer(const std::vector<bool>&)>& truth) {
  return needed_switches(count, truth);
}

TEST(NeededSwitches, AreThoseWithoutWhichTheFailureIsGone) {
  const auto result =
      needed(4, [](const std::vector<bool>& on) { return on[1] && on[3] ? Answer::bad : Answer::good; });
  EXPECT_EQ(result.needed, (Subjects{1, 3}));
  EXPECT_TRUE(result.unclear.empty());
}

TEST(NeededSwitches, OfTwoCausesOneIsLeft) {
  const auto result =
      needed(3, [](const std::vector<bool>& on) { return on[0] || on[2] ? Answer::bad : Answer::good; });
  EXPECT_EQ(result.needed, Subjects{2});
}

// 0 cannot be turned off before 1 is.
TEST(NeededSwitches, AreLookedAtAgainWhenOthersAreOff) {
  const auto result = needed(3, [](const std::vector<bool>& on) {
    if (!on[0] && on[1]) return Answer::good;
    return on[2] ? Answer::bad : Answer::good;
  });
  EXPECT_EQ(result.needed, Subjects{2});
}

TEST(NeededSwitches, WhatGivesNoAnswerIsUnclear) {
  const auto result = needed(3, [](const std::vector<bool>& on) {
    return !on[1] ? Answer::skip : on[2] ? Answer::bad : Answer::good;
  });
  EXPECT_EQ(result.needed, Subjects{2});
  EXPECT_EQ(result.unclear, Subjects{1});
}

} // namespace
} // namespace mqalab
