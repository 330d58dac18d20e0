// The tuning run on a tiny space: certified, decided, resumed, and never fooled by a planted fault.
#include "db/publish.hpp"
#include "db/test_content.hpp"
#include "tune/tuner.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mqalab {
namespace {

using testing::Folder;
using ::testing::HasSubstr;

TuneProblem problem() {
  return problems_from_json("{\"heads\": 8, \"block_size\": 16, \"max_model_len\": 300}", "test").front();
}

std::vector<Candidate> small_space(const Case&) {
  return {{{MQA_VARIANT_STAGED, 256, 0, 2}, true, nullptr},
          {{MQA_VARIANT_STAGED, 64, 1, 2}, false, nullptr},
          {{MQA_VARIANT_STAGED, 64, 4, 2}, false, nullptr}};
}

TuneOptions options() {
  TuneOptions o;
  o.space = small_space;
  return o;
}

class Tuner : public ::testing::Test {
protected:
  TuneOutcome run(const TuneOptions& o) {
    Store store = Store::open_or_create(folder_ / "t.db");
    return tune(store, oracle_, {problem()}, o);
  }
  Content content() { return Store::open(folder_ / "t.db", Access::read).content(); }
  Folder folder_{"tuner"};
  Oracle oracle_;
};

TEST_F(Tuner, CertifiesAndCostsEveryConfigurationAndServesOne) {
  const TuneOutcome outcome = run(options());
  ASSERT_EQ(outcome.problems.size(), 1u);
  EXPECT_EQ(outcome.problems[0].passed, 3u);
  EXPECT_FALSE(outcome.problems[0].best.config.empty());
  const Content c = content();
  EXPECT_EQ(c.certificates.size(), 3u);
  EXPECT_EQ(c.best.size(), 1u);
  for (const auto& [uuid, trial] : c.trials) EXPECT_FALSE(trial.samples.empty()) << trial.config;
  EXPECT_EQ(publish(folder_ / "t.db", folder_ / "p.db").rows, 1);
}

TEST_F(Tuner, NeverCertifiesAPlantedFaultHoweverFast) {
  TuneOptions o = options();
  o.space = [](const Case& c) {
    auto all = small_space(c);
    all.push_back({{MQA_VARIANT_STAGED, 128, 2, 2}, false, find_fault("split_drops_rest")});
    return all;
  };
  const std::string fake = "variant=staged,chunk_k=128,split_kv=2,wave_per_eu=2";
  const TuneOutcome outcome = run(o);
  EXPECT_EQ(outcome.failed(), 1u);
  EXPECT_NE(outcome.problems[0].best.config, fake);
  const Content c = content();
  for (const auto& [key, certificate] : c.certificates) EXPECT_NE(key.config, fake);
  ASSERT_EQ(c.quarantines.size(), 1u) << "recorded, not merely skipped";
  EXPECT_EQ(c.quarantines.begin()->first.config, fake);
  EXPECT_THAT(c.quarantines.begin()->second.replay, HasSubstr("max_model_len"));
  for (const auto& [uuid, trial] : c.trials)
    if (trial.config == fake) EXPECT_EQ(trial.status, "wrong_result");
}

TEST_F(Tuner, ContinuesWhereItWasStopped) {
  TuneOptions o = options();
  int asked = 0;
  o.stop = [&] { return ++asked > 2; };
  EXPECT_TRUE(run(o).stopped);
  EXPECT_EQ(content().trials.size(), 2u);
  const TuneOutcome rest = run(options());
  EXPECT_FALSE(rest.stopped);
  EXPECT_EQ(rest.problems[0].resumed, 2u);
  EXPECT_EQ(content().trials.size(), 3u);
  EXPECT_EQ(run(options()).problems[0].resumed, 3u) << "a third run has nothing to do";
  EXPECT_EQ(content().trials.size(), 3u);
}

TEST_F(Tuner, GivesTheSameAnswerWhetherStoppedOrNot) {
  TuneOptions o = options();
  int asked = 0;
  o.stop = [&] { return ++asked > 1; };
  run(o);
  const std::string resumed = run(options()).problems[0].best.config;
  std::filesystem::remove(folder_ / "t.db");
  EXPECT_EQ(run(options()).problems[0].best.config, resumed);
}

TEST_F(Tuner, TakesWhatKilledTheProcessTwiceForAFault) {
  const std::string text = "variant=staged,chunk_k=64,split_kv=4,wave_per_eu=2";
  {
    Store store = Store::create(folder_ / "t.db");
    store.begin(problem().key, text, "1/1");
    store.begin(problem().key, text, "1/1");
  }
  EXPECT_EQ(run(options()).failed(), 1u);
  EXPECT_EQ(content().quarantines.begin()->first.config, text);
  EXPECT_THAT(content().quarantines.begin()->second.evidence, HasSubstr("process died"));
}

TEST_F(Tuner, LeavesAQuarantinedConfigurationAlone) {
  {
    Store store = Store::create(folder_ / "t.db");
    store.quarantine({"variant=staged,chunk_k=64,split_kv=4,wave_per_eu=2", "", "", "", "finding"},
                     {"wrong", "", "now"});
  }
  EXPECT_EQ(run(options()).problems[0].failed, 1u);
  EXPECT_EQ(content().certificates.size(), 2u);
}

TEST(Shards, ShareProblemsWithoutGapOrOverlap) {
  for (int i = 0; i < 100; ++i) {
    int owners = 0;
    for (int shard = 1; shard <= 7; ++shard) owners += Shard{shard, 7}.owns("key" + std::to_string(i));
    EXPECT_EQ(owners, 1);
  }
}

} // namespace
} // namespace mqalab
