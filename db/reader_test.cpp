// The library against files that it should not trust: cut at every length, bits flipped, foreign, newer,
// quarantined, stale, uncertified.  None may crash it, and none may be served.
#include "db/publish.hpp"
#include "db/sqlite.hpp"
#include "db/store.hpp"
#include "db/test_content.hpp"
#include "kernels/database.hpp"
#include "kernels/serving_table.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <random>
#include <sstream>

namespace mqalab {
namespace {

using namespace testing;
using ::testing::HasSubstr;

class Reader : public ::testing::Test {
protected:
  Reader() : folder_("reader") {
    Store::create(folder_ / "a.db").replace(tuned());
    publish(folder_ / "a.db", path_);
    std::ifstream file(path_, std::ios::binary);
    std::stringstream all;
    all << file.rdbuf();
    good_ = all.str();
  }
  void write(const std::string& bytes) { std::ofstream(path_, std::ios::binary | std::ios::trunc) << bytes; }
  std::string why() {
    std::string text;
    return mqa::read_database(path_, &text) ? "usable" : text;
  }
  // What a problem is given after `sql` was run on the published file (whose digest goes, or it would be
  // refused whole).
  mqa::Answer answer_after(const std::string& sql, const std::string& hash = kHash, bool simulated = true) {
    write(good_);
    Connection(path_, Access::write).exec(("DELETE FROM meta WHERE name = 'digest';" + sql).c_str());
    std::string text;
    const auto file = mqa::read_database(path_, &text);
    EXPECT_TRUE(file.has_value()) << text;
    first_rejection_ = file->first_rejection;
    const mqa::ServingTable table({*file}, hash);
    const mqa::Answer* answer = table.find(*mqa::parse_problem_key(kProblem), kDevice.key, simulated);
    return answer ? *answer : mqa::Answer{};
  }

  Folder folder_;
  std::string path_ = folder_ / "p.db", good_, first_rejection_;
};

TEST_F(Reader, ServesAPublishedRow) {
  const mqa::Answer answer = answer_after("");
  EXPECT_EQ(answer.source, MQA_SOURCE_EXACT);
  EXPECT_EQ(answer.config.split_kv, 4);
  EXPECT_EQ(answer.row_id, 1);
  EXPECT_THAT(answer.reason, HasSubstr("row 1 of p.db: certified"));
}

TEST_F(Reader, RefusesAFileCutAtAnyLength) {
  for (size_t length = 0; length < good_.size(); length += length < 200 || length % 4096 > 4090 ? 1 : 97) {
    write(good_.substr(0, length));
    ASSERT_NE(why(), "usable") << "cut at " << length;
  }
}

TEST_F(Reader, NeverServesSomethingElseFromAFileWithFlippedBits) {
  std::mt19937 random(11);
  const mqa::ProblemKey problem = *mqa::parse_problem_key(kProblem);
  for (int i = 0; i < 400; ++i) {
    std::string bytes = good_;
    for (int flips = 1 + i % 3; flips > 0; --flips)
      bytes[random() % bytes.size()] ^= static_cast<char>(1 << random() % 8);
    write(bytes);
    std::string text;
    const auto file = mqa::read_database(path_, &text);
    if (!file) continue;
    const mqa::ServingTable table({*file}, kHash);
    const mqa::Answer* answer = table.find(problem, kDevice.key, true);
    ASSERT_TRUE(answer && answer->config.split_kv == 4)
        << "a flip that changes the content must be seen, round " << i;
  }
}

TEST_F(Reader, SurvivesPagesOfNoise) {
  std::mt19937 random(12);
  for (int i = 0; i < 100; ++i) {
    std::string bytes = good_;
    const size_t page = random() % (bytes.size() / 4096) * 4096;
    for (size_t at = page + (page ? 0 : 100); at < page + 4096; ++at) bytes[at] = static_cast<char>(random());
    write(bytes);
    why();
  }
}

TEST_F(Reader, SaysInOneLineWhatIsWrongWithAFile) {
  std::filesystem::remove(path_);
  EXPECT_THAT(why(), HasSubstr("No such file"));
  std::filesystem::create_directory(path_);
  EXPECT_THAT(why(), HasSubstr("is a directory"));
  std::filesystem::remove(path_);
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  EXPECT_THAT(why(), HasSubstr("not a regular file"));
  std::filesystem::remove(path_);
  write("");
  EXPECT_THAT(why(), HasSubstr("is empty"));
  write(std::string(5000, 'x'));
  EXPECT_THAT(why(), HasSubstr("is not an SQLite database"));
  write(good_);
  Connection(path_, Access::write).exec("PRAGMA application_id = 1");
  EXPECT_THAT(why(), HasSubstr("of another program"));
  write(good_);
  Connection(path_, Access::write).exec("PRAGMA user_version = 2");
  EXPECT_THAT(why(), HasSubstr("schema version 2"));
  write(good_);
  Connection(path_, Access::write)
      .exec("PRAGMA journal_mode = WAL; UPDATE meta SET value = 'x' WHERE name = 'tool'");
  EXPECT_THAT(why(), HasSubstr("WAL mode"));
  EXPECT_EQ(why().find('\n'), std::string::npos);
}

TEST_F(Reader, RefusesContentThatIsNotWhatItsDigestSays) {
  write(good_);
  Connection(path_, Access::write).exec("UPDATE best SET ratio = 0.1");
  EXPECT_THAT(why(), HasSubstr("digest"));
}

TEST_F(Reader, ServesNoRowWithoutACertificate) {
  EXPECT_EQ(answer_after("DELETE FROM certificate").source, MQA_SOURCE_DEFAULT);
  EXPECT_THAT(first_rejection_, HasSubstr("no certificate"));
}

TEST_F(Reader, ServesNoIllegalOrUnknownConfiguration) {
  for (const char* sql :
       {"UPDATE config SET variant = 'magic', text = replace(text, 'staged', 'magic')",
        "UPDATE config SET chunk_k = 100, text = replace(text, '256', '100')",
        "UPDATE config SET split_kv = -1, text = replace(text, 'split_kv=4', 'split_kv=-1')",
        "UPDATE config SET wave_per_eu = 3, text = replace(text, 'eu=2', 'eu=3')",
        "UPDATE config SET split_kv = 5", "UPDATE best SET origin = 'measured'", "UPDATE best SET ratio = -1",
        "UPDATE problem SET key = 'paged_mqa_logits/v2/b1'"}) {
    EXPECT_EQ(answer_after(sql).source, MQA_SOURCE_DEFAULT) << sql;
    EXPECT_FALSE(first_rejection_.empty()) << sql;
  }
}

TEST_F(Reader, ServesNoQuarantinedConfiguration) {
  const std::string row =
      "INSERT INTO quarantine VALUES ('" + config(4) + "', '', '', '', 'finding', 'e', 'r', 'now')";
  const mqa::Answer answer = answer_after(row);
  EXPECT_EQ(answer.source, MQA_SOURCE_QUARANTINED);
  EXPECT_EQ(answer.config.split_kv, 0) << "automatic";
  EXPECT_EQ(answer_after("INSERT INTO quarantine VALUES ('" + config(8) +
                         "', '', '', '', 'finding', 'e', 'r', 'now')")
                .source,
            MQA_SOURCE_EXACT);
}

TEST_F(Reader, ServesNoRowOfOtherKernels) {
  EXPECT_EQ(answer_after("", "fedcba9876543210").source, MQA_SOURCE_STALE);
}

TEST_F(Reader, KeepsModelledRowsFromHardwareAndRowsOfOneDeviceFromAnother) {
  EXPECT_EQ(answer_after("", kHash, false).source, MQA_SOURCE_MISMATCH);
  EXPECT_EQ(answer_after("UPDATE device SET key = 'gfx942:38cu'").source, MQA_SOURCE_MISMATCH);
}

} // namespace
} // namespace mqalab
