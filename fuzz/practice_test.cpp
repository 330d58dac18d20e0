// The metrics of common practice on arrays with known answers.
#include "fuzz/practice.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace mqalab {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

// `rows` rows of `columns` values; the logits start as the reference.
struct Launch {
  Problem problem;
  std::vector<RowReference> rows;
  std::vector<float> logits, again;

  Launch(int32_t count, int64_t columns, float (*value)(int64_t)) {
    problem.batch = count, problem.max_model_len = columns, problem.logits_stride = columns;
    problem.context_lens.assign(static_cast<size_t>(count), static_cast<int32_t>(columns));
    rows.resize(static_cast<size_t>(count));
    for (RowReference& row : rows)
      for (int64_t i = 0; i < columns; ++i) row.value.push_back(value(i)), logits.push_back(value(i));
  }
  const PracticeMetric& metric(std::string_view start) const {
    for (const PracticeMetric& m : practice_metrics())
      if (m.name.starts_with(start)) return m;
    throw std::runtime_error("no such metric");
  }
  double measure(std::string_view start) const {
    return metric(start).measure({problem, logits, rows, again});
  }
  bool passes(std::string_view start) const { return metric(start).passes(measure(start)); }
};
float one(int64_t) { return 1; }
float rising(int64_t i) { return static_cast<float>(i); }

TEST(Practice, EveryMetricPassesTheReferenceItself) {
  Launch l(3, 100, rising);
  l.again = l.logits;
  for (const PracticeMetric& m : practice_metrics())
    EXPECT_TRUE(m.passes(m.measure({l.problem, l.logits, l.rows, l.again}))) << m.name;
}

TEST(Practice, CalcDiffForgivesAZeroedRowOf1024ButNotThree) {
  Launch l(1024, 4, one);
  std::fill_n(l.logits.begin(), 4, 0.0F);
  EXPECT_NEAR(l.measure("calc_diff"), 1.0 / 2047, 1e-9); // f / (2 - f)
  EXPECT_TRUE(l.passes("calc_diff"));
  std::fill_n(l.logits.begin(), 12, 0.0F);
  EXPECT_FALSE(l.passes("calc_diff"));
}

TEST(Practice, TheCosineForgives18PercentOfTheRows) {
  Launch l(100, 4, one);
  std::fill_n(l.logits.begin(), 18 * 4, 0.0F);
  EXPECT_NEAR(l.measure("cosine"), 1 - std::sqrt(0.82), 1e-9);
  EXPECT_TRUE(l.passes("cosine"));
  std::fill_n(l.logits.begin(), 20 * 4, 0.0F);
  EXPECT_FALSE(l.passes("cosine"));
}

TEST(Practice, AnErrorRatioForgivesItsShareWhateverIsThere) {
  Launch l(1, 100, one);
  std::fill_n(l.logits.begin(), 5, kNaN);
  EXPECT_TRUE(l.passes("checkAllclose, error ratio <= 0.05"));
  l.logits[5] = 9;
  EXPECT_DOUBLE_EQ(l.measure("checkAllclose"), 0.06);
  EXPECT_FALSE(l.passes("checkAllclose, error ratio <= 0.05"));
  EXPECT_TRUE(l.passes("checkAllclose, error ratio <= 0.5"));
}

TEST(Practice, ReplacedNaNsHideWhereTheReferenceIsZero) {
  Launch l(1, 10, rising);
  l.logits[0] = kNaN;
  EXPECT_TRUE(l.passes("allclose"));
  EXPECT_FALSE(l.passes("calc_diff"));
  l.logits[1] = kNaN;
  EXPECT_FALSE(l.passes("allclose"));
}

TEST(Practice, ATopKOfAllColumnsSeesNothingAndOneMissShiftsAllPlaces) {
  Launch few(1, 2048, rising);
  std::fill(few.logits.begin(), few.logits.end(), -7.0F);
  EXPECT_TRUE(few.passes("sorted top-k"));
  EXPECT_TRUE(few.passes("top-k overlap"));
  Launch more(1, 2049, rising); // due: all but column 0; selected: all but the last
  more.logits[0] = 1e9F, more.logits[2048] = -1;
  EXPECT_DOUBLE_EQ(more.measure("sorted top-k"), 0);
  EXPECT_DOUBLE_EQ(more.measure("top-k overlap"), 2047.0 / 2048);
}

TEST(Practice, BitwiseEqualityNeedsASecondLaunchAndKnowsNoReference) {
  Launch l(1, 4, one);
  EXPECT_TRUE(std::isnan(l.measure("launches")));
  std::fill(l.logits.begin(), l.logits.end(), kNaN);
  l.again = l.logits;
  EXPECT_TRUE(l.passes("launches"));
  l.again[3] = 1;
  EXPECT_FALSE(l.passes("launches"));
}

} // namespace
} // namespace mqalab
