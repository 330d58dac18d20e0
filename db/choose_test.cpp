// From a published file to the choice at launch, and back to the defaults when the file is bad.
#include "db/publish.hpp"
#include "db/store.hpp"
#include "db/test_content.hpp"
#include "kernels/choose.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

namespace mqalab {
namespace {

using namespace testing;
using ::testing::HasSubstr;

// The content of the tests, made for the kernels of this build.
Content for_this_build(bool simulated) {
  std::map<std::string, Trial> trials = tuned().trials;
  for (auto& [uuid, t] : trials) {
    t.kernel_hash = mqa_kernel_hash(), t.device.simulated = simulated;
    t.origin = simulated ? "modelled" : "measured";
  }
  Content c = content(trials);
  c.builds = {{mqa_kernel_hash(), {"0.1.0", "clang", "space"}}};
  c.devices = {{{kDevice.key, simulated}, {304, 64, 65536}}};
  return c;
}

mqa::DeviceFacts facts(bool simulated) {
  mqa::DeviceFacts f;
  f.key = kDevice.key, f.simulated = simulated;
  return f;
}

mqa_paged_logits_args args() {
  mqa_paged_logits_args a{};
  a.batch = 1, a.next_n = 1, a.heads = 32, a.head_dim = 128, a.block_size = 16;
  a.max_model_len = a.logits_stride = 2000;
  return a;
}

class Choose : public ::testing::Test {
protected:
  Choose() : folder_("choose") { mqa::unload_database(); }
  ~Choose() override { mqa::unload_database(); }
  std::string publish_for(bool simulated) {
    Store::create(folder_ / "a.db").replace(for_this_build(simulated));
    publish(folder_ / "a.db", folder_ / "p.db");
    return folder_ / "p.db";
  }
  Folder folder_;
  std::string message_;
};

TEST_F(Choose, GivesTheBuiltInDefaultWithoutADatabase) {
  const mqa_choice choice = mqa::choose(mqa::problem_key(args()), facts(true));
  EXPECT_EQ(choice.source, MQA_SOURCE_DEFAULT);
  EXPECT_EQ(choice.row_id, -1);
  EXPECT_THAT(choice.reason, HasSubstr("no database is loaded"));
}

TEST_F(Choose, ServesAModelledRowToTheSimulatorOnly) {
  ASSERT_EQ(mqa::load_database(publish_for(true).c_str(), &message_), MQA_OK) << message_;
  EXPECT_EQ(mqa::choose(mqa::problem_key(args()), facts(true)).source, MQA_SOURCE_EXACT);
  EXPECT_EQ(mqa::choose(mqa::problem_key(args()), facts(true)).config.split_kv, 4);
  EXPECT_EQ(mqa::choose(mqa::problem_key(args()), facts(false)).source, MQA_SOURCE_MISMATCH);
}

TEST_F(Choose, ServesAMeasuredRowToHardwareOnly) {
  ASSERT_EQ(mqa::load_database(publish_for(false).c_str(), &message_), MQA_OK) << message_;
  EXPECT_EQ(mqa::choose(mqa::problem_key(args()), facts(false)).source, MQA_SOURCE_EXACT);
  EXPECT_EQ(mqa::choose(mqa::problem_key(args()), facts(true)).source, MQA_SOURCE_MISMATCH);
}

TEST_F(Choose, SaysWhenNoRowIsForTheProblem) {
  ASSERT_EQ(mqa::load_database(publish_for(true).c_str(), &message_), MQA_OK);
  mqa_paged_logits_args other = args();
  other.heads = 64;
  EXPECT_THAT(mqa::choose(mqa::problem_key(other), facts(true)).reason, HasSubstr("no row for this problem"));
}

TEST_F(Choose, KeepsWhatWasLoadedWhenTheNextFileIsBad) {
  ASSERT_EQ(mqa::load_database(publish_for(true).c_str(), &message_), MQA_OK);
  std::ofstream(folder_ / "bad.db") << "rubbish";
  EXPECT_EQ(mqa::load_database((folder_ / "bad.db").c_str(), &message_), MQA_BAD_DATABASE);
  EXPECT_THAT(message_, HasSubstr("bad.db"));
  EXPECT_EQ(mqa::choose(mqa::problem_key(args()), facts(true)).source, MQA_SOURCE_EXACT);
}

TEST_F(Choose, UsesTheGoodFilesOfAListAndSaysWhichIsBad) {
  const std::string paths = (folder_ / "absent.db") + ":" + publish_for(true);
  EXPECT_EQ(mqa::load_database(paths.c_str(), &message_), MQA_OK);
  EXPECT_THAT(message_, HasSubstr("absent.db"));
  EXPECT_EQ(mqa::choose(mqa::problem_key(args()), facts(true)).source, MQA_SOURCE_EXACT);
}

TEST_F(Choose, TellsTheDigestOfWhatIsLoaded) {
  EXPECT_EQ(mqa::loaded_digest(), "");
  const std::string path = publish_for(true);
  const std::string digest = publish(folder_ / "a.db", path).digest;
  ASSERT_EQ(mqa::load_database(path.c_str(), &message_), MQA_OK);
  EXPECT_EQ(mqa::loaded_digest(), digest);
}

} // namespace
} // namespace mqalab
