// Precedence between rows, and that a full table finds everything it holds and nothing else.
#include "kernels/serving_table.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mqa {
namespace {

using ::testing::HasSubstr;

TunedRow row(int64_t id, int split_kv, uint32_t batch = 1) {
  TunedRow r;
  r.id = id, r.problem.batch_bucket = batch, r.config = {MQA_VARIANT_STAGED, 256, split_kv, 2};
  r.device = "gfx942", r.kernel_hash = "hash", r.certified = true, r.ratio = 0.5;
  r.problem_text = to_string(r.problem), r.config_text = "split_kv=" + std::to_string(split_kv);
  return r;
}
DatabaseFile file(int64_t generation, std::vector<TunedRow> rows) {
  DatabaseFile f;
  f.path = "/some/where/f.db", f.generation = generation, f.rows = std::move(rows);
  return f;
}
Answer ask(const std::vector<DatabaseFile>& files, std::string_view device = "gfx942",
           bool simulated = false) {
  const ServingTable table(files, "hash");
  const Answer* answer = table.find(row(0, 0).problem, device, simulated);
  return answer ? *answer : Answer{};
}

TEST(ServingTable, GivesTheHighestGenerationWhateverTheOrderOfFiles) {
  EXPECT_EQ(ask({file(1, {row(1, 4)}), file(2, {row(2, 8)})}).config.split_kv, 8);
  EXPECT_EQ(ask({file(2, {row(2, 8)}), file(1, {row(1, 4)})}).config.split_kv, 8);
}

TEST(ServingTable, GivesTheFirstFileAmongEqualGenerations) {
  EXPECT_EQ(ask({file(1, {row(1, 4)}), file(1, {row(2, 8)})}).config.split_kv, 4);
}

TEST(ServingTable, ServesARowToItsOwnOperationOnly) {
  std::vector<TunedRow> rows;
  for (int i = 0; i < 5; ++i) {
    TunedRow r = row(i, 1 + i);
    r.problem.operation = static_cast<KeyOperation>(i);
    r.problem_text = to_string(r.problem);
    if (r.problem.operation != KeyOperation::ragged) rows.push_back(r);
  }
  const ServingTable table({file(1, rows)}, "hash");
  for (int i = 0; i < 5; ++i) {
    ProblemKey problem = row(0, 0).problem;
    problem.operation = static_cast<KeyOperation>(i);
    const Answer* answer = table.find(problem, "gfx942", false);
    if (problem.operation == KeyOperation::ragged) {
      EXPECT_EQ(answer, nullptr);
      continue;
    }
    ASSERT_NE(answer, nullptr) << to_string(problem);
    EXPECT_EQ(answer->config.split_kv, 1 + i);
  }
}

TEST(ServingTable, PrefersAnOlderUsableRowToANewerStaleOne) {
  TunedRow stale = row(2, 8);
  stale.kernel_hash = "other";
  EXPECT_EQ(ask({file(1, {row(1, 4)}), file(2, {stale})}).config.split_kv, 4);
  EXPECT_EQ(ask({file(2, {stale})}).source, MQA_SOURCE_STALE);
  EXPECT_THAT(ask({file(2, {stale})}).reason, HasSubstr("tune again"));
}

TEST(ServingTable, LetsAQuarantineInAnyFileCountForAll) {
  DatabaseFile campaign = file(0, {});
  campaign.quarantines.push_back({"split_kv=8", "", "", "", "finding"});
  EXPECT_EQ(ask({file(2, {row(2, 8)}), campaign}).source, MQA_SOURCE_QUARANTINED);
  EXPECT_EQ(ask({file(2, {row(2, 8)}), file(1, {row(1, 4)}), campaign}).config.split_kv, 4)
      << "the older certified row";
}

TEST(ServingTable, LimitsAQuarantineToWhatItNames) {
  DatabaseFile f = file(1, {row(1, 8)});
  f.quarantines = {{"split_kv=8", "another problem", "", "", "k"},
                   {"split_kv=8", "", "gfx950", "", "k"},
                   {"split_kv=8", "", "", "other", "k"}};
  EXPECT_EQ(ask({f}).source, MQA_SOURCE_EXACT);
  f.quarantines.push_back({"split_kv=8", f.rows[0].problem_text, "gfx942", "hash", "k"});
  EXPECT_EQ(ask({f}).source, MQA_SOURCE_QUARANTINED);
}

TEST(ServingTable, SaysWhichDeviceTheRowsAreFor) {
  EXPECT_EQ(ask({file(1, {row(1, 4)})}, "gfx950").source, MQA_SOURCE_MISMATCH);
  EXPECT_THAT(ask({file(1, {row(1, 4)})}, "gfx950").reason, HasSubstr("gfx942"));
  EXPECT_EQ(ask({file(1, {row(1, 4)})}, "gfx942", true).source, MQA_SOURCE_MISMATCH);
}

TEST(ServingTable, KnowsNothingOfAnEmptyDatabase) {
  EXPECT_EQ(ask({}).source, MQA_SOURCE_DEFAULT);
  EXPECT_EQ(ask({file(1, {})}).row_id, -1);
}

TEST(ServingTable, FindsEachOfThousandsOfRows) {
  std::vector<TunedRow> rows;
  for (int i = 0; i < 5000; ++i) rows.push_back(row(i, i % 100 + 1, static_cast<uint32_t>(i + 1)));
  const ServingTable table({file(1, rows)}, "hash");
  EXPECT_EQ(table.served(), rows.size());
  for (const TunedRow& r : rows) ASSERT_EQ(table.find(r.problem, "gfx942", false)->row_id, r.id);
  EXPECT_EQ(table.find(row(0, 0, 6000).problem, "gfx942", false), nullptr);
}

} // namespace
} // namespace mqa
