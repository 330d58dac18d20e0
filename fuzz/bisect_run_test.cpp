// Subjects that are shell scripts: what their ends say, how often they are asked, and which ends are
// accepted.
#include "fuzz/bisect_run.hpp"
#include "fuzz/commands.hpp"

#include <gmock/gmock.h>

#include <csignal>
#include <cstdlib>

namespace mqalab {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

std::string verdict(VerdictClass verdict, const std::string& pattern = "") {
  Verdict v;
  v.verdict = verdict, v.message = std::string(name(verdict)) + ": " + pattern;
  v.signature = {verdict, pattern, "all"};
  return to_json(v);
}
const std::string kOk = verdict(VerdictClass::ok), kUntouched = verdict(VerdictClass::untouched, "untouched"),
                  kZero = verdict(VerdictClass::value, "zero");

ChildEnd exited(int code, const std::string& out, const std::string& err = "") {
  return {{code, 0}, false, out, err};
}

TEST(Seen, IsWhatTheVerdictSays) {
  EXPECT_EQ(seen(exited(0, kOk), 1).saw, Observation::Saw::pass);
  const Observation failure = seen(exited(10, kUntouched), 1);
  EXPECT_EQ(failure.saw, Observation::Saw::failure);
  EXPECT_EQ(failure.signature.verdict, VerdictClass::untouched);
  EXPECT_EQ(seen(exited(2, verdict(VerdictClass::rejected)), 1).saw, Observation::Saw::nothing);
}

TEST(Seen, ACrashAndAHangAreFailures) {
  const Observation crash = seen({{0, SIGSEGV}, false, "", ""}, 1);
  EXPECT_EQ(crash.saw, Observation::Saw::failure);
  EXPECT_EQ(crash.signature.verdict, VerdictClass::fault);
  EXPECT_THAT(crash.text, HasSubstr("SIGSEGV"));
  const Observation hang = seen({{}, true, "", ""}, 7);
  EXPECT_EQ(hang.signature.verdict, VerdictClass::hang);
  EXPECT_THAT(hang.text, HasSubstr("7 s"));
}

TEST(Seen, ACrashAfterAGoodVerdictIsNoPass) {
  EXPECT_EQ(seen({{0, SIGABRT}, false, kOk, ""}, 1).saw, Observation::Saw::failure);
}

TEST(Seen, ARefusalIsNoAnswerAndSaysWhy) {
  const Observation run = seen(exited(2, "",
                                      "mqalab check: a.so: version 0.1\nmqalab check: a.so: lacks mqa_top_k\n"
                                      "  allowed: another\n  try:     that\n"),
                               1);
  EXPECT_EQ(run.saw, Observation::Saw::nothing);
  EXPECT_EQ(run.text, "mqalab check: a.so: lacks mqa_top_k");
  EXPECT_EQ(seen(exited(127, ""), 1).text, "the check ended with exit code 127");
}

TEST(Seen, TroubleWithTheMachineSaysNothingOfTheSubject) {
  EXPECT_THROW(seen(exited(20, ""), 1), MachineTrouble);
  EXPECT_THROW(seen(exited(20, verdict(VerdictClass::none)), 1), MachineTrouble);
  EXPECT_THROW(seen({{0, SIGKILL}, false, "", ""}, 1), MachineTrouble);
}

// A subject is a script that finds in $0 how many processes ran before it.
class Interviewed : public testing::Test {
protected:
  fs::path folder;
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "mqalab-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder = pattern;
    children = std::make_unique<Children>(folder, "");
    state = std::make_unique<BisectState>("", nlohmann::json::object());
  }
  void TearDown() override { fs::remove_all(folder); }
  Interview interview(InterviewOptions options = {}) {
    return Interview(
        *state, *children,
        [this](const Subject& s) {
          ++prepared;
          if (!scripts.contains(s.name)) return Prepared{{}, {}, "does not build"};
          return Prepared{{"/bin/sh", "-c", scripts[s.name], std::to_string(ran++)}, {}, ""};
        },
        options);
  }
  static Subject named(const std::string& name) { return {name, "title of " + name}; }
  static std::string prints(const std::string& verdict, int code) {
    return "cat <<'E'\n" + verdict + "\nE\nexit " + std::to_string(code);
  }
  std::string refusal(Interview& i, const std::string& bad, const std::string& good) {
    try {
      i.require_bad(named(bad), "--bad", "a"), i.require_good(named(good), "--good", "b");
    } catch (const UsageError& e) {
      return e.what();
    }
    return "";
  }
  std::unique_ptr<Children> children;
  std::unique_ptr<BisectState> state;
  std::map<std::string, std::string> scripts{
      {"pass", prints(kOk, 0)}, {"untouched", prints(kUntouched, 10)}, {"zero", prints(kZero, 10)}};
  int prepared = 0, ran = 0;
};

TEST_F(Interviewed, AnotherFailureThanTheBadEndsIsNoAnswer) {
  Interview i = interview();
  EXPECT_EQ(refusal(i, "untouched", "pass"), "");
  EXPECT_EQ(i.failure().signature.verdict, VerdictClass::untouched);
  EXPECT_EQ(i.ask(named("untouched")), Answer::bad);
  EXPECT_EQ(i.ask(named("zero")), Answer::skip);
  EXPECT_THAT(i.why(named("zero")), HasSubstr("fails in another way"));
}

TEST_F(Interviewed, AnyFailureIsBadWhenTheUserSaysSo) {
  Interview i = interview({1, true, 60});
  EXPECT_EQ(refusal(i, "untouched", "pass"), "");
  EXPECT_EQ(i.ask(named("zero")), Answer::bad);
}

TEST_F(Interviewed, EndsThatAreNoneAreRefused) {
  Interview i = interview();
  EXPECT_THAT(refusal(i, "pass", "pass"), HasSubstr("--bad title of pass: passes"));
  EXPECT_THAT(refusal(i, "none", "pass"), HasSubstr("--bad title of none: does not build"));
  EXPECT_THAT(refusal(i, "untouched", "untouched"), HasSubstr("--good title of untouched: fails, too"));
  EXPECT_THAT(refusal(i, "untouched", "zero"), HasSubstr("--good title of zero: fails in another way"));
}

TEST_F(Interviewed, WhatDoesNotBuildIsSkippedAndPreparedOnce) {
  Interview i = interview({5, false, 60});
  EXPECT_EQ(i.ask(named("none")), Answer::skip);
  EXPECT_EQ(i.ask(named("none")), Answer::skip);
  EXPECT_EQ(prepared, 1);
  EXPECT_EQ(i.runs(), 0);
}

TEST_F(Interviewed, GoodTakesAllRepeatsOfOnePreparation) {
  Interview i = interview({4, false, 60});
  EXPECT_EQ(i.ask(named("pass")), Answer::good);
  EXPECT_EQ(i.runs(), 4);
  EXPECT_EQ(prepared, 1);
}

TEST_F(Interviewed, AFailureThatComesAndGoesIsMetByRepeats) {
  const fs::path count = folder / "count";
  scripts["flaky"] = "echo >> " + count.string() + "; [ $(wc -l < " + count.string() + ") -lt 3 ] && {\n" +
                     prints(kOk, 0) + "\n}\n" + prints(kUntouched, 10);
  Interview i = interview({5, false, 60});
  EXPECT_EQ(i.ask(named("flaky")), Answer::bad);
  EXPECT_EQ(i.runs(), 3);
}

TEST_F(Interviewed, WhatIsKnownIsNotRunAgainAndMoreRepeatsOnlyAdd) {
  interview({2, false, 60}).ask(named("pass"));
  Interview again = interview({3, false, 60});
  EXPECT_EQ(again.ask(named("pass")), Answer::good);
  EXPECT_EQ(again.runs(), 1);
}

TEST_F(Interviewed, AHangIsStoppedWithWhatItStarted) {
  scripts["hangs"] = "sleep 1000 & echo $! > " + (folder / "pid").string() + "; sleep 1000";
  Interview i = interview({1, false, 0.2});
  EXPECT_EQ(i.ask(named("hangs")), Answer::bad);
  EXPECT_THAT(i.why(named("hangs")), HasSubstr("hang: "));
  const int started = std::stoi(read_whole(folder / "pid"));
  const std::string status = read_whole("/proc/" + std::to_string(started) + "/stat");
  EXPECT_TRUE(status.empty() || status.find(") Z ") != std::string::npos) << status;
}

TEST_F(Interviewed, TroubleIsNotRecorded) {
  scripts["trouble"] = "exit 20";
  Interview i = interview();
  EXPECT_THROW(i.ask(named("trouble")), MachineTrouble);
  EXPECT_TRUE(state->runs("trouble").empty());
}

TEST_F(Interviewed, ASearchGoesRoundWhatItIsToldToSkip) {
  std::vector<Subject> subjects;
  for (int n = 0; n < 9; ++n) {
    subjects.push_back(named(std::to_string(n)));
    scripts[std::to_string(n)] = n < 6 ? prints(kOk, 0) : prints(kUntouched, 10);
  }
  Interview i = interview();
  i.require_bad(subjects.back(), "", ""), i.require_good(subjects.front(), "", "");
  const Bisection b = search(subjects, straight_history(9), {"4", "3"}, i,
                             [&](const Subject& s, Answer answer, const Bisection&) {
                               EXPECT_EQ(answer == Answer::skip, s.name == "4" || s.name == "3");
                             });
  ASSERT_TRUE(b.decided());
  EXPECT_EQ(b.suspects().front(), 6u);
  EXPECT_TRUE(state->runs("4").empty());
}

} // namespace
} // namespace mqalab
