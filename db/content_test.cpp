// The laws of merging, tried on every pair and triple of a few hundred small contents.
#include "db/content.hpp"
#include "db/content_io.hpp"
#include "db/test_content.hpp"

#include <gtest/gtest.h>

#include <random>

namespace mqalab {
namespace {

using namespace testing;

// A random part of a small universe: the same uuid may come with fewer samples, keys may conflict.
Content random_content(std::mt19937& random) {
  const auto coin = [&] { return random() % 2 == 0; };
  std::map<std::string, Trial> trials;
  for (int i = 0; i < 6; ++i) {
    if (coin()) continue;
    Trial t = trial(config(i, i % 2 ? 256 : 128), {10.0 - i, 10.5 - i, 9.5 - i}, i == 0);
    t.session = i < 3 ? "one" : "two";
    if (coin()) t.samples.erase(2);
    trials["uuid" + std::to_string(i)] = t;
  }
  Content c = content(trials);
  if (coin()) c.certificates.clear();
  if (coin()) c.quarantines[{config(1), "", "", "", "finding"}] = {coin() ? "a" : "b", "replay", "now"};
  if (coin()) c.history.insert({kProblem, "d", kHash, "model", coin() ? "t1" : "t2", config(0), "first"});
  c.problems[kProblem] = coin() ? 1 : 3;
  c.generation = static_cast<int64_t>(random() % 3);
  recompute_best(c);
  return c;
}

TEST(Merge, IsIdempotentCommutativeAndAssociative) {
  std::mt19937 random(7);
  for (int i = 0; i < 300; ++i) {
    const Content a = random_content(random), b = random_content(random), c = random_content(random);
    ASSERT_EQ(merged(a, a), a) << "set " << i;
    ASSERT_EQ(merged(a, b), merged(b, a)) << "set " << i;
    ASSERT_EQ(merged(merged(a, b), c), merged(a, merged(b, c))) << "set " << i;
  }
}

TEST(Merge, UnitesTheSamplesOfOneTrial) {
  const Content early = content({{"a", trial(config(0), {10}, true)}});
  const Content late = content({{"a", trial(config(0), {10, 11}, true)}});
  EXPECT_EQ(merged(early, late).trials.at("a").samples.size(), 2u);
}

TEST(Merge, ForgetsNoQuarantineAndLetsItBeatSpeed) {
  Content other;
  other.quarantines[{config(4), "", "", "", "finding"}] = {"wrong at 2049", "mqalab replay x", "now"};
  const Content all = merged(tuned(), other);
  EXPECT_EQ(tuned().best.begin()->second.config, config(4));
  EXPECT_EQ(all.best.begin()->second.config, config(2));
}

TEST(Merge, RecomputesTheBestInsteadOfCopyingIt) {
  Content lie = tuned();
  lie.best.begin()->second.config = config(0);
  EXPECT_EQ(merged(lie, lie).best.begin()->second.config, config(4));
}

TEST(Best, NeedsACertificate) {
  Content c = tuned();
  c.certificates.erase({kProblem, config(4), kHash, kDevice});
  recompute_best(c);
  EXPECT_EQ(c.best.begin()->second.config, config(2));
}

TEST(Published, HoldsOnlyWhatIsServedAndEveryQuarantine) {
  Content c = tuned();
  c.quarantines[{config(64), "", "", "", "finding"}] = {"e", "r", "t"};
  const Content out = published(c);
  EXPECT_TRUE(out.trials.empty());
  EXPECT_EQ(out.certificates.size(), 1u);
  EXPECT_EQ(out.quarantines, c.quarantines);
}

TEST(Json, BringsBackWhatWasExported) {
  Content c = tuned();
  c.generation = 5;
  c.quarantines[{config(64), kProblem, "d", kHash, "finding"}] = {"quote \" and \n line", "r", "t"};
  c.history.insert({kProblem, "d", kHash, "model", "t1", config(0), "first"});
  EXPECT_EQ(content_from_json(to_json(c), "memory"), c);
}

TEST(Json, NamesWhatIsWrongWithAForeignText) {
  for (const char* text :
       {"", "{", "[]", "{}", "{\"format\": \"other\"}", "{\"format\": \"mqalab-database-1\"}"})
    try {
      content_from_json(text, "file.json");
      ADD_FAILURE() << text;
    } catch (const DatabaseError& e) {
      EXPECT_NE(std::string(e.what()).find("file.json: not an export"), std::string::npos) << e.what();
    }
}

} // namespace
} // namespace mqalab
