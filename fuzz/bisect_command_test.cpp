// mqalab bisect as a user starts it: over a git history whose builds are copies of a doctored library, over
// such libraries, over configuration fields.  MQALAB_PROGRAM and DOCTORED_LIBRARY are set by the build.
#include "fuzz/disk.hpp"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace mqalab {
namespace {

using testing::HasSubstr;
using testing::UnorderedElementsAre;
using Json = nlohmann::json;
using Words = std::vector<std::string>;
namespace fs = std::filesystem;

struct Ended {
  int code;
  std::string out, err;
  Json json() const { return Json::parse(out); }
};

// `does` of a library: see doctored_library_test_support.cpp; "broken" is a revision that does not build.
class Bisect : public testing::Test {
protected:
  fs::path folder;
  void SetUp() override {
    for (const char* variable : {"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"}) ::unsetenv(variable);
    std::string pattern = (fs::temp_directory_path() / "mqalab-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder = pattern;
    fs::create_directories(folder / "tmp"), fs::create_directories(folder / "repo");
  }
  void TearDown() override { fs::remove_all(folder); }

  pid_t start(Words words) const {
    words.insert(words.begin(), {MQALAB_PROGRAM, "bisect"});
    const pid_t child = fork();
    if (child != 0) return child;
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    ::setenv("TMPDIR", (folder / "tmp").c_str(), 1);
    if (!std::freopen((folder / "out").c_str(), "w", stdout) ||
        !std::freopen((folder / "err").c_str(), "w", stderr))
      _exit(126);
    execv(arguments[0], arguments.data());
    _exit(127);
  }
  Ended end_of(pid_t child) const {
    int status = 0;
    waitpid(child, &status, 0);
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    return {code, read_whole(folder / "out"), read_whole(folder / "err")};
  }
  Ended bisect(Words words) const { return end_of(start(std::move(words))); }

  std::string failing_case(const std::string& more = "") const {
    const fs::path path = folder / "case.json";
    write_whole(path, "{\"max_model_len\": 512, \"context_lens\": [512]" + more + "}");
    return path.string();
  }
  std::string library(const std::string& file, const std::string& does) const {
    const fs::path path = folder / file;
    fs::copy_file(DOCTORED_LIBRARY, path);
    write_whole(path.string() + ".does", does);
    return path.string();
  }
  Words libraries(const Words& all) const {
    Words paths;
    for (const std::string& does : all) paths.push_back(library(std::to_string(paths.size()) + ".so", does));
    return paths;
  }
  Ended bisect_libraries(const Words& all, const Words& more = {}) const {
    Words words{failing_case(), "--json", "--libs"};
    for (const std::string& path : libraries(all)) words.push_back(path);
    words.insert(words.end(), more.begin(), more.end());
    return bisect(words);
  }

  std::string git(const std::string& words) const {
    const fs::path out = folder / "git.out";
    const std::string command = "git -C '" + (folder / "repo").string() +
                                "' -c user.name=a -c user.email=a@b -c commit.gpgsign=false " + words +
                                " > '" + out.string() + "' 2>&1";
    EXPECT_EQ(std::system(command.c_str()), 0) << words << ": " << read_whole(out);
    return read_whole(out);
  }
  void commit(const std::string& does, const std::string& title) const {
    write_whole(folder / "repo/does", does), write_whole(folder / "repo/title", title);
    git("add -A");
    git("commit -q -m '" + title + "'");
  }
  // Revision i is called "revision i" and tagged ri.
  void history(const Words& all) const {
    git("init -q -b trunk");
    write_whole(folder / "repo/.gitignore", "/out/\n");
    for (size_t i = 0; i < all.size(); ++i) {
      commit(all[i], "revision " + std::to_string(i));
      git("tag r" + std::to_string(i));
    }
  }
  Words revisions(const std::string& good, const std::string& bad) const {
    const std::string build =
        "mkdir -p out && test $(cat does) != broken && cp does out/libmqa.so.does && cp '" +
        std::string(DOCTORED_LIBRARY) + "' out/libmqa.so";
    return {failing_case(), "--json", "--repo",     (folder / "repo").string(),
            "--good",       good,     "--bad",      bad,
            "--build",      build,    "--lib-path", "out/libmqa.so"};
  }
  void nothing_is_left() const {
    EXPECT_TRUE(fs::is_empty(folder / "tmp"));
    const std::string trees = git("worktree list --porcelain");
    EXPECT_EQ(trees.find("worktree "), trees.rfind("worktree ")) << trees;
  }
};

Words asked(const Json& json, const std::string& answer) {
  Words titles;
  for (const Json& a : json["asked"])
    if (a["answer"] == answer) titles.push_back(a["why"]);
  return titles;
}

TEST_F(Bisect, FindsTheFirstBadRevisionPastOnesThatDoNotBuild) {
  history({"right", "right", "right", "right", "right", "broken", "right", "short", "broken", "short"});
  const Ended e = bisect(revisions("r0", "trunk"));
  ASSERT_EQ(e.code, 10) << e.err;
  const Json json = e.json();
  ASSERT_TRUE(json["decided"]) << e.out;
  EXPECT_THAT(json["first_bad"]["title"], HasSubstr("revision 7"));
  EXPECT_THAT(json["last_good"][0]["title"], HasSubstr("revision 6"));
  EXPECT_THAT(json["failure"]["message"], HasSubstr("untouched"));
  EXPECT_LT(json["runs"], 7);
  EXPECT_THAT(e.err, HasSubstr("suspects left, about"));
  nothing_is_left();
}

TEST_F(Bisect, ARevisionMayBringItsOwnProgram) {
  history({"right", "short", "short"});
  Words words = revisions("r0", "r2");
  words[9] += " && printf '#!/bin/sh\\nexec \"%s\" \"$@\" --lib \"%s\"\\n' '" + std::string(MQALAB_PROGRAM) +
              "' \"$PWD/out/libmqa.so\" > out/mqalab && chmod +x out/mqalab";
  words[10] = "--program", words[11] = "out/mqalab";
  const Ended e = bisect(words);
  ASSERT_EQ(e.code, 10) << e.err;
  EXPECT_THAT(e.json()["first_bad"]["title"], HasSubstr("revision 1"));
}

// By date the good side comes after the bad one.
TEST_F(Bisect, FollowsAMergeToTheSideThatBroughtTheFailure) {
  history({"right", "right"});
  git("checkout -q -b side");
  commit("short", "side 1");
  commit("short", "side 2");
  git("checkout -q trunk");
  commit("right", "trunk 2");
  git("merge -q --no-ff -X theirs -m merged side");
  EXPECT_EQ(git("show HEAD:does"), "short");
  const Ended e = bisect(revisions("r0", "trunk"));
  ASSERT_EQ(e.code, 10) << e.err;
  EXPECT_THAT(e.json()["first_bad"]["title"], HasSubstr("side 1"));
  nothing_is_left();
}

TEST_F(Bisect, WhatGivesNoAnswerLeavesARange) {
  const Ended e = bisect_libraries({"right", "right", "refuses", "crashes", "short", "short"});
  ASSERT_EQ(e.code, 10) << e.err;
  const Json json = e.json();
  EXPECT_FALSE(json["decided"]);
  EXPECT_TRUE(json["first_bad"].is_null());
  EXPECT_EQ(json["suspects"].size(), 3u);
  for (const std::string& why : asked(json, "skip")) EXPECT_THAT(why, HasSubstr("fails in another way"));
}

TEST_F(Bisect, ALibraryOfAnotherInterfaceGivesNoAnswer) {
  const Ended e = bisect_libraries({"right", "structs", "version", "short"});
  ASSERT_EQ(e.code, 10) << e.err;
  EXPECT_THAT(asked(e.json(), "skip"),
              UnorderedElementsAre(HasSubstr("was built with other structs"), HasSubstr("is version 9.0.0")));
}

TEST_F(Bisect, AnyFailureTakesACrashForOne) {
  const Ended e = bisect_libraries({"right", "right", "crashes", "short", "short"}, {"--any-failure"});
  ASSERT_EQ(e.code, 10) << e.err;
  EXPECT_THAT(e.json()["first_bad"]["name"], HasSubstr("2.so"));
}

TEST_F(Bisect, AHangIsFoundWithinTheTimeGiven) {
  const Ended e = bisect_libraries({"right", "right", "hangs", "hangs"}, {"--timeout", "5"});
  ASSERT_EQ(e.code, 10) << e.err;
  EXPECT_THAT(e.json()["first_bad"]["name"], HasSubstr("2.so"));
  EXPECT_THAT(e.json()["failure"]["message"], HasSubstr("hang: "));
}

TEST_F(Bisect, AFailureOfEveryThirdProcessIsFoundByRepeats) {
  const Ended e = bisect_libraries({"right", "right", "flaky", "flaky"}, {"--repeat", "3"});
  ASSERT_EQ(e.code, 10) << e.err;
  EXPECT_THAT(e.json()["first_bad"]["name"], HasSubstr("2.so"));
}

TEST_F(Bisect, EndsThatAreNoneAreRefusedAndNamed) {
  const Words paths = libraries({"right", "short"});
  const Ended passes = bisect({failing_case(), "--libs", paths[0], paths[0]});
  EXPECT_EQ(passes.code, 2);
  EXPECT_THAT(passes.err, HasSubstr("its last one, " + paths[0] + ": passes\n  allowed: "));
  const Ended fails = bisect({failing_case(), "--libs", paths[1], paths[1]});
  EXPECT_EQ(fails.code, 2);
  EXPECT_THAT(fails.err, HasSubstr("its first one, " + paths[1] + ": fails, too: untouched"));
}

TEST_F(Bisect, NamesTheFieldThatTheFailureNeeds) {
  const std::string with_config =
      failing_case(R"(, "config": {"variant": "staged", "chunk_k": 128, "split_kv": 2})");
  const Ended e = bisect({with_config, "--json", "--config", "--lib", library("a.so", "splits")});
  ASSERT_EQ(e.code, 10) << e.err;
  EXPECT_EQ(e.json()["needed"], (Json{{"split_kv", "2"}}));
  EXPECT_EQ(e.json()["not_needed"], (Json{{"variant", "staged"}, {"chunk_k", "128"}}));
  EXPECT_TRUE(e.json()["unclear"].empty());
  const Ended none = bisect({with_config, "--config", "--lib", library("b.so", "short")});
  EXPECT_EQ(none.code, 2);
  EXPECT_THAT(none.err, HasSubstr("the failure needs none of the fields"));
}

TEST_F(Bisect, GoesOnWhereItWasStopped) {
  history({"right", "right", "hangs", "short", "short"});
  Words words = revisions("r0", "r4");
  const fs::path state = folder / "state.jsonl";
  words.insert(words.end(), {"--state", state.string()});
  const auto lines = [&] {
    const std::string text = read_whole(state);
    return std::count(text.begin(), text.end(), '\n');
  };
  const pid_t child = start(words);
  for (int tenths = 0; tenths < 1200 && lines() < 3; ++tenths) usleep(100'000); // the header and the ends
  usleep(500'000);
  EXPECT_EQ(bisect(words).code, 2) << "the state is in use";
  kill(child, SIGINT);
  const Ended stopped = end_of(child);
  EXPECT_EQ(stopped.code, 20);
  EXPECT_EQ(lines(), 3);
  nothing_is_left();

  words.insert(words.end(), {"--skip", "r2"});
  const Ended resumed = bisect(words);
  ASSERT_EQ(resumed.code, 10) << resumed.err;
  EXPECT_EQ(resumed.json()["suspects"].size(), 2u);
  EXPECT_EQ(resumed.json()["runs"], 2);
  EXPECT_EQ(bisect(words).json()["runs"], 0);
  words[5] = "r1";
  const Ended other = bisect(words);
  EXPECT_EQ(other.code, 2);
  EXPECT_THAT(other.err, HasSubstr("another question: good was"));
}

TEST_F(Bisect, BadUsageIsRefusedInWords) {
  history({"right", "short"});
  const std::string ok = failing_case(), repo = (folder / "repo").string();
  const auto says = [&](Words words, const std::string& what) {
    const Ended e = bisect(std::move(words));
    EXPECT_EQ(e.code, 2) << what;
    EXPECT_THAT(e.err, HasSubstr(what));
  };
  says({ok}, "nothing is to be bisected");
  says({ok, "--config", "--good", "r0"}, "more than one thing");
  says({ok, "--good", "r0", "--repo", repo}, "one end is missing");
  says({ok, "--good", "r0", "--bad", "r1", "--repo", repo}, "--build is missing");
  says({ok, "--good", "r0", "--bad", "r7", "--repo", repo, "--build", "true"}, "--bad r7: ");
  says({ok, "--good", "r1", "--bad", "r0", "--repo", repo, "--build", "true"}, "no ancestor of --bad r0");
  says({ok, "--good", "r0", "--bad", "r1", "--repo", folder / "tmp", "--build", "true"}, "--repo ");
  says({ok, "--good", "r0", "--bad", "r1", "--repo", repo, "--build", "echo no; false"}, "exit code 1: no");
  says({ok, "--libs", "one.so"}, "--libs names 1");
  says({ok, "--libs", "one.so", "two.so"}, "--libs one.so: there is no such file");
  says({ok, "--config"}, "sets no configuration field");
  says({folder / "none.json", "--config"}, "none.json");
  nothing_is_left();
}

} // namespace
} // namespace mqalab
