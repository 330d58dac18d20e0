// The file of a bisection: what it holds is known again, and it is nobody else's.
#include "fuzz/bisect_state.hpp"
#include "fuzz/commands.hpp"

#include <gmock/gmock.h>

#include <cstdlib>

namespace mqalab {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

const nlohmann::json kQuestion{{"mode", "git"}, {"good", "a"}, {"bad", "b"}};
const Observation kFailure{Observation::Saw::failure,
                           {VerdictClass::untouched, "untouched", "rows from", "staged"},
                           "untouched: \"7\"",
                           "f00"};
const Observation kPass{Observation::Saw::pass, {}, "passes", ""};

class State : public testing::Test {
protected:
  fs::path folder, file;
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "mqalab-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder = pattern, file = folder / "state.jsonl";
  }
  void TearDown() override { fs::remove_all(folder); }
  std::string refusal(const nlohmann::json& question) const {
    try {
      BisectState state(file, question);
    } catch (const UsageError& e) {
      return e.what();
    }
    return "";
  }
  void record_two() const {
    BisectState state(file, kQuestion);
    state.record("x", kFailure);
    state.record("x", kPass);
  }
};

TEST_F(State, KnowsItsRunsAgain) {
  record_two();
  EXPECT_THAT(read_whole(file), HasSubstr("\"saw\":\"failure\""));
  BisectState state(file, kQuestion);
  EXPECT_EQ(state.resumed(), 2u);
  ASSERT_EQ(state.runs("x").size(), 2u);
  const Observation& failure = state.runs("x").front();
  EXPECT_EQ(failure.saw, Observation::Saw::failure);
  EXPECT_EQ(failure.signature, kFailure.signature);
  EXPECT_EQ(failure.text, kFailure.text);
  EXPECT_EQ(failure.library, kFailure.library);
  EXPECT_EQ(state.runs("x").back().saw, Observation::Saw::pass);
  EXPECT_TRUE(state.runs("y").empty());
}

TEST_F(State, WithoutAFileLivesInMemory) {
  BisectState state("", kQuestion);
  state.record("x", kPass);
  EXPECT_EQ(state.runs("x").size(), 1u);
}

TEST_F(State, ALineThatAKillCutShortIsGone) {
  record_two();
  const std::string whole = read_whole(file);
  for (size_t cut = 1; cut < whole.size(); ++cut) {
    write_whole(file, std::string_view(whole).substr(0, whole.size() - cut));
    {
      BisectState state(file, kQuestion);
      EXPECT_LT(state.runs("x").size(), 2u);
      while (state.runs("x").size() < 2) state.record("x", kPass);
    }
    EXPECT_EQ(BisectState(file, kQuestion).runs("x").size(), 2u) << cut;
  }
}

TEST_F(State, AnotherQuestionIsRefusedByWhatDiffers) {
  record_two();
  const std::string before = read_whole(file);
  nlohmann::json other = kQuestion;
  other["good"] = "c";
  EXPECT_THAT(refusal(other), HasSubstr("good was \"a\", is \"c\""));
  EXPECT_EQ(read_whole(file), before);
  EXPECT_EQ(refusal(kQuestion), "");
}

TEST_F(State, AForeignFileIsRefusedAndLeftAlone) {
  for (const std::string text : {"no newline", "{\"heads\": 8}\n", "a\nb"}) {
    write_whole(file, text);
    EXPECT_THAT(refusal(kQuestion), HasSubstr("is not the state of a bisection"));
    EXPECT_EQ(read_whole(file), text);
  }
}

TEST_F(State, IsInUseOnce) {
  const BisectState state(file, kQuestion);
  EXPECT_THAT(refusal(kQuestion), HasSubstr("another bisection uses it"));
}

TEST_F(State, APathThatCannotBeWrittenIsBadUsage) {
  file = folder / "none" / "state.jsonl";
  EXPECT_THAT(refusal(kQuestion), HasSubstr("cannot be opened for writing"));
}

TEST_F(State, ADigestTellsFilesApart) {
  write_whole(folder / "a", "one"), write_whole(folder / "b", "two"), write_whole(folder / "c", "one");
  EXPECT_NE(digest_of(folder / "a"), digest_of(folder / "b"));
  EXPECT_EQ(digest_of(folder / "a"), digest_of(folder / "c"));
}

} // namespace
} // namespace mqalab
