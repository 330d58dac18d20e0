// What the reports say about small contents.
#include "db/test_content.hpp"
#include "tune/db_report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mqalab {
namespace {

using namespace testing;
using ::testing::HasSubstr;

TEST(Diff, IsSilentAboutEqualContents) { EXPECT_EQ(diff_text(tuned(), tuned()), ""); }

TEST(Diff, SaysFastAndSlowByTheIntervals) {
  Content slower = tuned();
  slower.quarantines[{config(4), "", "", "", "finding"}] = {"wrong", "r", "t"};
  recompute_best(slower);
  EXPECT_THAT(diff_text(tuned(), slower), HasSubstr("SLOW"));
  EXPECT_THAT(diff_text(tuned(), slower), HasSubstr("quarantined in the second only"));
  EXPECT_THAT(diff_text(slower, tuned()), HasSubstr("FAST"));
  EXPECT_THAT(diff_text(content({}), tuned()), HasSubstr("only in the second"));
}

TEST(Conflicts, AreNamedWhenWinnersDifferBeyondTheirIntervals) {
  Content other = content({{"x", trial(config(0), {10}, true)}, {"y", trial(config(8), {3})}});
  EXPECT_EQ(conflicts(tuned(), other).size(), 1u);
  EXPECT_TRUE(conflicts(tuned(), tuned()).empty());
}

TEST(Info, NamesTheServedConfigurationAndHowItsCostWasObtained) {
  EXPECT_THAT(info_text(tuned(), "t.db"),
              HasSubstr(config(4) + "  5.00 us, 0.50 of the default's 10.00 us (modelled)"));
  EXPECT_THAT(info_json(tuned(), "t.db"), HasSubstr("\"origin\": \"modelled\""));
}

} // namespace
} // namespace mqalab
