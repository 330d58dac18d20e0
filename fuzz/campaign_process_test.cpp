// Campaigns as a user starts them: mqalab as a process with worker processes.  MQALAB_PROGRAM is set by the
// build.
#include "fuzz/disk.hpp"
#include "fuzz/finding.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <csignal>
#include <cstdlib>
#include <sys/wait.h>
#include <unistd.h>

namespace mqalab {
namespace {

namespace fs = std::filesystem;

struct Folder {
  fs::path path = fs::temp_directory_path() / ("mqalab-process-test-" + std::to_string(::getpid()));
  Folder() { fs::create_directories(path); }
  ~Folder() { fs::remove_all(path); }
};

pid_t start(std::vector<std::string> words) {
  words.insert(words.begin(), MQALAB_PROGRAM);
  const pid_t child = fork();
  if (child != 0) return child;
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  if (!std::freopen("/dev/null", "w", stderr) || !std::freopen("/dev/null", "w", stdout)) _exit(126);
  execv(arguments[0], arguments.data());
  _exit(127);
}
int exit_code(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}
int run(std::vector<std::string> words) { return exit_code(start(std::move(words))); }

int64_t inputs(const fs::path& out) {
  const fs::path corpus = out / "corpus";
  if (!fs::exists(corpus)) return 0;
  return std::distance(fs::directory_iterator(corpus), fs::directory_iterator{});
}
// As long as a loaded machine needs.
void wait_for_inputs(const fs::path& out, int64_t count) {
  for (int seconds = 0; seconds < 120 && inputs(out) <= count; ++seconds) sleep(1);
}

nlohmann::json summary(const fs::path& out) {
  return nlohmann::json::parse(read_whole(out / "summary.json"));
}

TEST(Campaign, FindsTheLostRowsMinimisesThemAndStatesTheLaw) {
  const Folder folder;
  EXPECT_EQ(run({"fuzz", "--fault", "out_offset_32", "--seconds", "60", "--seed", "1", "--out", folder.path}),
            10);
  const auto findings = read_findings(folder.path);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].law, "row * logits_stride * 4 >= 2^31");
  EXPECT_EQ(findings[0].fault, "out_offset_32");
  EXPECT_GE(summary(folder.path)["seconds_to_detection"], 0);
  EXPECT_EQ(run({"replay", findings[0].folder}), 10);
  EXPECT_EQ(run({"report", folder.path, "-o", folder.path / "report.html"}), 0);
  EXPECT_NE(read_whole(folder.path / "report.html").find("logits_stride * 4 &gt;= 2^31"), std::string::npos);
}

TEST(Campaign, AControlIsNotFound) {
  const Folder folder;
  EXPECT_EQ(run({"fuzz", "--fault", "product_rounded", "--runs", "200", "--seed", "1", "--out", folder.path}),
            0);
  EXPECT_GE(summary(folder.path)["cases"], 200);
}

TEST(Campaign, MachineCodeCoverageGrowsAndIsLogged) {
  const Folder folder;
  ASSERT_EQ(run({"fuzz", "--no-gate", "--seconds", "4", "--seed", "1", "--out", folder.path}), 0);
  const auto growth = summary(folder.path)["growth"];
  ASSERT_GE(growth.size(), 3u);
  EXPECT_GT(growth.back()["machine_edges"], growth.front()["machine_edges"]);
  EXPECT_GT(growth.back()["pairs"], 500);
}

TEST(Campaign, CtrlCKeepsEverythingAndTheNextStartGoesOn) {
  const Folder folder;
  const pid_t child = start({"fuzz", "--no-gate", "--minutes", "10", "--seed", "1", "--out", folder.path});
  wait_for_inputs(folder.path, 20);
  kill(child, SIGINT);
  EXPECT_EQ(exit_code(child), 0);
  EXPECT_TRUE(summary(folder.path)["interrupted"]);
  const int64_t corpus = inputs(folder.path);
  EXPECT_GT(corpus, 20);
  EXPECT_EQ(run({"fuzz", "--no-gate", "--seconds", "1", "--seed", "2", "--out", folder.path}), 0);
  EXPECT_GE(inputs(folder.path), corpus);
}

TEST(Campaign, AFolderInUseIsRefusedAndItsCampaignGoesOn) {
  const Folder folder;
  const pid_t first = start({"fuzz", "--no-gate", "--minutes", "10", "--seed", "1", "--out", folder.path});
  wait_for_inputs(folder.path, 0);
  EXPECT_EQ(run({"fuzz", "--no-gate", "--seconds", "1", "--seed", "2", "--out", folder.path}), 2);
  kill(first, SIGINT);
  EXPECT_EQ(exit_code(first), 0);
}

TEST(Campaign, AFolderOfAnotherSubjectIsRefused) {
  const Folder folder;
  ASSERT_EQ(run({"fuzz", "--fault", "scale_twice", "--seconds", "20", "--out", folder.path}), 10);
  EXPECT_EQ(run({"fuzz", "--no-gate", "--seconds", "1", "--out", folder.path}), 2);
}

TEST(Campaign, BadUsageIsRefused) {
  EXPECT_EQ(run({"fuzz", "--fault", "no_such_fault"}), 2);
  EXPECT_EQ(run({"fuzz", "--minutes", "-1"}), 2);
  EXPECT_EQ(run({"fuzz", "--minutes", "nan"}), 2);
  EXPECT_EQ(run({"fuzz", "--colour"}), 2);
  EXPECT_EQ(run({"replay", "/no/such/folder"}), 2);
  EXPECT_EQ(run({"minimize", "/no/such/case.json"}), 2);
}

TEST(Gate, IsOpen) { EXPECT_EQ(run({"gate", "--quick"}), 0); }

} // namespace
} // namespace mqalab
