// The authoring file: what is committed stays, one writer at a time, bad files are refused with advice.
#include "db/content_io.hpp"
#include "db/store.hpp"
#include "db/test_content.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <fstream>

namespace mqalab {
namespace {

using namespace testing;
using ::testing::HasSubstr;

std::string error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const DatabaseError& e) {
    return e.what();
  }
  return "no error";
}

void fill(Store& store, const Content& c) {
  for (const auto& [id, device] : c.devices) store.describe(id, device);
  for (const auto& [hash, build] : c.builds) store.describe(hash, build);
  for (const auto& [key, weight] : c.problems) store.describe_problem(key, weight);
  for (const auto& [uuid, t] : c.trials) store.add_trial(uuid, t);
  for (const auto& [key, certificate] : c.certificates) store.certify(key, certificate);
}

TEST(Store, KeepsWhatWasAddedStepByStep) {
  const Folder folder("store");
  {
    Store store = Store::create(folder / "t.db");
    fill(store, tuned());
    store.refresh_best(kProblem);
  }
  Content read = Store::open(folder / "t.db", Access::read).content();
  EXPECT_EQ(read.history.size(), 1u);
  read.history.clear();
  EXPECT_EQ(read, tuned());
}

TEST(Store, WritesAndReadsAnyContent) {
  const Folder folder("replace");
  Content c = tuned();
  c.generation = 3;
  c.quarantines[{config(64), kProblem, "d", kHash, "finding"}] = {"e", "r", "t"};
  Store store = Store::create(folder / "t.db");
  store.replace(c);
  EXPECT_EQ(store.content(), c);
  store.replace(content({}));
  EXPECT_EQ(store.content(), content({}));
}

TEST(Store, AddsSamplesToATrialThatIsThere) {
  const Folder folder("grow");
  Store store = Store::create(folder / "t.db");
  fill(store, content({{"a", trial(config(0), {10}, true)}}));
  store.add_trial("a", trial(config(0), {10, 11}, true));
  EXPECT_EQ(store.content().trials.at("a").samples.size(), 2u);
}

TEST(Store, RefusesASecondWriterAndNamesTheFirst) {
  const Folder folder("writers");
  const Store first = Store::create(folder / "t.db");
  const std::string said = error_of([&] { Store::open(folder / "t.db", Access::write); });
  EXPECT_THAT(said, HasSubstr("is being written by process " + std::to_string(::getpid())));
  EXPECT_THAT(said, HasSubstr("merge"));
  EXPECT_NO_THROW(Store::open(folder / "t.db", Access::read)) << "readers are welcome";
}

TEST(Store, RefusesWhatIsNotItsOwnWithAdvice) {
  const Folder folder("foreign");
  const std::string path = folder / "t.db";
  EXPECT_THAT(error_of([&] { Store::open(path, Access::read); }), HasSubstr("no such file"));
  std::ofstream(path) << "not a database, but long enough to look like a page of one "
                      << std::string(4096, 'x');
  EXPECT_THAT(error_of([&] { Store::open(path, Access::write); }), HasSubstr("not an SQLite database"));
  std::filesystem::remove(path);
  Connection(path, Access::create).exec("CREATE TABLE t (a)");
  EXPECT_THAT(error_of([&] { Store::open(path, Access::write); }), HasSubstr("not a tuning database"));
  Connection(path, Access::write).exec("PRAGMA application_id = 0x4d514144; PRAGMA user_version = 99");
  EXPECT_THAT(error_of([&] { Store::open(path, Access::write); }), HasSubstr("schema version 99"));
  EXPECT_THAT(error_of([&] { Store::create(path); }), HasSubstr("exists already"));
}

TEST(Store, LosesNoFinishedStepToKill9) {
  const Folder folder("kill");
  const pid_t child = ::fork();
  if (child == 0) {
    Store store = Store::create(folder / "t.db");
    fill(store, tuned());
    store.begin(kProblem, config(32), "1/1");
    ::raise(SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  Store store = Store::open(folder / "t.db", Access::write);
  EXPECT_EQ(store.content().trials.size(), 3u);
  EXPECT_EQ(store.begin(kProblem, config(32), "1/1"), 2) << "the journal names what was running";
}

TEST(Store, IsOneFileAtRest) {
  const Folder folder("rest");
  {
    fill(*std::make_unique<Store>(Store::create(folder / "t.db")), tuned());
  }
  EXPECT_FALSE(std::filesystem::exists(folder / "t.db-wal"));
  std::ifstream file(folder / "t.db", std::ios::binary);
  char header[20];
  file.read(header, sizeof header);
  EXPECT_EQ(header[18], 1) << "2 would be WAL mode";
}

TEST(Store, WithdrawsTheBestOfAQuarantinedConfiguration) {
  const Folder folder("withdraw");
  Store store = Store::create(folder / "t.db");
  fill(store, tuned());
  store.refresh_best(kProblem);
  store.quarantine({config(4), "", "", "", "finding"}, {"wrong at 2049", "replay", "now"});
  store.refresh_best("");
  EXPECT_EQ(store.content().best.begin()->second.config, config(2));
}

TEST(Schema, KeepsOneRowForOneNaturalKey) {
  const Folder folder("unique");
  Store store = Store::create(folder / "t.db");
  fill(store, tuned());
  fill(store, tuned());
  EXPECT_EQ(store.connection().scalar("SELECT count(*) FROM trial"), 3);
  EXPECT_EQ(store.connection().scalar("SELECT count(*) FROM config"), 3);
  EXPECT_THROW(store.connection().exec(
                   "INSERT INTO trial SELECT 99, uuid, session, 77, config_id, device_id, build_id, "
                   "environment_id, status, origin, is_default, seed, reason, at FROM trial"),
               DatabaseError);
}

} // namespace
} // namespace mqalab
