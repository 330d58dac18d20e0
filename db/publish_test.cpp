// Publishing replaces a file whole or not at all.
#include "db/publish.hpp"
#include "db/sqlite.hpp"
#include "db/store.hpp"
#include "db/test_content.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <fstream>
#include <sstream>

namespace mqalab {
namespace {

using namespace testing;

void author(const std::string& path, const Content& content) { Store::create(path).replace(content); }

std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream all;
  all << file.rdbuf();
  return all.str();
}

int files_in(const Folder& folder) {
  int count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder.path)) ++count;
  return count;
}

TEST(Publish, KeepsTheServedRowsAndNothingElse) {
  const Folder folder("publish");
  author(folder / "a.db", tuned());
  const Publication result = publish(folder / "a.db", folder / "p.db");
  EXPECT_EQ(result.rows, 1);
  EXPECT_EQ(result.generation, 1);
  EXPECT_EQ(result.digest.size(), 16u);
  const Content out = Store::open(folder / "p.db", Access::read).content();
  EXPECT_EQ(out.best, tuned().best);
  EXPECT_TRUE(out.trials.empty());
}

TEST(Publish, RaisesTheGenerationEachTime) {
  const Folder folder("generation");
  author(folder / "a.db", tuned());
  publish(folder / "a.db", folder / "p.db");
  EXPECT_EQ(publish(folder / "a.db", folder / "p.db").generation, 2);
}

TEST(Publish, LeavesNoTemporaryFileAndNoJournal) {
  const Folder folder("clean");
  author(folder / "a.db", tuned());
  publish(folder / "a.db", folder / "p.db");
  EXPECT_EQ(files_in(folder), 3) << "a.db, its lock, p.db";
  EXPECT_EQ(bytes_of(folder / "p.db")[18], 1) << "2 would be WAL mode";
}

TEST(Publish, KeepsTheOldFileWhenItFails) {
  const Folder folder("fails");
  author(folder / "a.db", tuned());
  publish(folder / "a.db", folder / "p.db");
  const std::string before = bytes_of(folder / "p.db");
  EXPECT_THROW(publish(folder / "absent.db", folder / "p.db"), DatabaseError);
  EXPECT_THROW(publish(folder / "a.db", folder / "absent/p.db"), DatabaseError);
  EXPECT_THROW(publish(folder / "a.db", folder / "a.db"), DatabaseError);
  EXPECT_EQ(bytes_of(folder / "p.db"), before);
  EXPECT_EQ(files_in(folder), 3);
}

TEST(Publish, ReplacesNoPipe) {
  const Folder folder("pipe");
  author(folder / "a.db", tuned());
  const std::string pipe = folder / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THROW(publish(folder / "a.db", pipe), DatabaseError);
  EXPECT_TRUE(std::filesystem::is_fifo(pipe));
}

TEST(Publish, ShowsAReaderTheOldFileOrTheNewOne) {
  const Folder folder("atomic");
  author(folder / "a.db", tuned());
  publish(folder / "a.db", folder / "p.db");
  const pid_t writer = ::fork();
  if (writer == 0) {
    for (int i = 0; i < 20; ++i) publish(folder / "a.db", folder / "p.db");
    ::_exit(0);
  }
  int reads = 0;
  for (int status = 0; ::waitpid(writer, &status, WNOHANG) == 0; ++reads)
    ASSERT_EQ(Store::open(folder / "p.db", Access::read).content().best.size(), 1u);
  EXPECT_GT(reads, 0);
}

} // namespace
} // namespace mqalab
