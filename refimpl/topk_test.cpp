// Margins against their definition, and the metric of vllm#39303 caught in the act.
#include "refimpl/compare.hpp"
#include "refimpl/random.hpp"
#include "refimpl/test_problems.hpp"
#include "refimpl/topk.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace mqalab {
namespace {

using Columns = std::vector<int32_t>;
constexpr double kInf = std::numeric_limits<double>::infinity();

// Everything that a result can be where values and bounds are halves: agrees() of compare.hpp says which of
// these a column may hold.
constexpr float kResults[] = {NAN,   -INFINITY, -5.5f, -5.0f, -4.5f, -4.0f, -3.5f, -3.0f,   -2.5f,
                              -2.0f, -1.5f,     -1.0f, -0.5f, 0.0f,  0.5f,  1.0f,  1.5f,    2.0f,
                              2.5f,  3.0f,      3.5f,  4.0f,  4.5f,  5.0f,  5.5f,  INFINITY};

// Ties and overlaps in every row; in rows of `special`, NaN, infinities and columns that may hold anything.
RowReference random_row(uint64_t seed, int columns, bool special) {
  constexpr double kSpecials[] = {NAN, -kInf, kInf};
  RowReference row;
  for (int i = 0; i < columns; ++i) {
    const Stream s = Stream(seed, 20).at(uint64_t(i));
    row.value.push_back(double(s.below(9)) - 4);
    row.bound.push_back(double(s.below(4, 1)) / 2);
    if (!special || s.below(2, 2)) continue;
    if (s.below(3, 3))
      row.value.back() = kSpecials[s.below(3, 4)], row.bound.back() = 0;
    else
      row.bound.back() = kAnyResult;
  }
  return row;
}

// What a column may hold, as positions in kResults: NaN is the lowest.
std::vector<std::vector<int>> outcomes(const RowReference& row) {
  std::vector<std::vector<int>> all(row.value.size());
  for (size_t i = 0; i < all.size(); ++i)
    for (int r = 0; r < int(std::size(kResults)); ++r)
      if (agrees(row.value[i], row.bound[i], kResults[r])) all[i].push_back(r);
  return all;
}

// Straight from the definition of must and may, quadratic.
TopkMargin brute_force(const RowReference& row, int64_t k) {
  const auto may_be = outcomes(row);
  const size_t n = may_be.size();
  TopkMargin margin{std::vector<bool>(n), std::vector<bool>(n)};
  for (size_t i = 0; i < n; ++i) {
    int64_t reach = 0, above = 0;
    for (size_t j = 0; j < n; ++j) {
      if (j == i) continue;
      reach += may_be[j].back() >= may_be[i].front();
      above += may_be[j].front() > may_be[i].back();
    }
    margin.must[i] = reach < k, margin.may[i] = above < k;
  }
  return margin;
}

TEST(Topk, MarginEqualsItsDefinition) {
  for (const bool special : {false, true})
    for (uint64_t seed = 1; seed <= 300; ++seed) {
      const int n = int(seed % 16);
      const RowReference row = random_row(seed, n, special);
      for (int64_t k = 0; k <= n + 2; ++k) {
        const TopkMargin got = topk_margin(row, k), expected = brute_force(row, k);
        ASSERT_EQ(got.must, expected.must) << "special " << special << " seed " << seed << " k " << k;
        ASSERT_EQ(got.may, expected.may) << "special " << special << " seed " << seed << " k " << k;
      }
    }
}

// So a selection that is exact against logits within their bounds is never accused.
TEST(Topk, OfAnyLogitsWithinTheBoundHoldsMustAndStaysInMay) {
  for (uint64_t seed = 1; seed <= 600; ++seed) {
    const RowReference row = random_row(seed, 20, seed % 2);
    const auto may_be = outcomes(row);
    std::vector<float> logits;
    for (size_t i = 0; i < 20; ++i)
      logits.push_back(kResults[may_be[i][Stream(seed, 21).at(i).below(may_be[i].size())]]);
    for (int64_t k : {1, 5, 19, 20, 21}) {
      const TopkMargin margin = topk_margin(row, k);
      const Columns chosen = topk(std::span<const float>(logits), k);
      for (int32_t i = 0; i < 20; ++i) {
        const bool in = std::binary_search(chosen.begin(), chosen.end(), i);
        ASSERT_TRUE(in || !margin.must[i]) << "seed " << seed;
        ASSERT_TRUE(!in || margin.may[i]) << "seed " << seed;
      }
    }
  }
}

TEST(Topk, MayLeaveOutAColumnThatIsOnlyTied) {
  const RowReference row{{3, 2, 2, 1}, {0, 0, 0, 0}};
  EXPECT_EQ(topk_margin(row, 2).must, (std::vector<bool>{true, false, false, false}));
  EXPECT_EQ(topk_margin(row, 2).may, (std::vector<bool>{true, true, true, false}));
}

TEST(Topk, PutsNanLastAndMinusInfinityBeforeIt) {
  const RowReference row{{NAN, -kInf, 5, kInf}, {0, 0, 0, 0}};
  EXPECT_EQ(topk_margin(row, 2).must, (std::vector<bool>{false, false, true, true}));
  EXPECT_EQ(topk_margin(row, 2).may, (std::vector<bool>{false, false, true, true}));
  EXPECT_EQ(topk_margin(row, 3).may, (std::vector<bool>{false, true, true, true}));
  EXPECT_EQ(topk_margin(row, 3).must, (std::vector<bool>{false, true, true, true}));
}

TEST(Topk, ClaimsNothingOfOpenColumnsAndOfWhatOverflows) {
  const RowReference open{{1, 2, 3}, {kAnyResult, 0, 0}};
  EXPECT_EQ(topk_margin(open, 1).may, (std::vector<bool>{true, false, true}));
  EXPECT_EQ(topk_margin(open, 1).must, (std::vector<bool>{false, false, false}));
  const RowReference huge{{1e39, 2e39, 0}, {0, 0, 0}};
  EXPECT_EQ(topk_margin(huge, 1).may, (std::vector<bool>{true, true, false})) << "both are Inf in fp32";
  EXPECT_EQ(topk_margin(huge, 1).must, (std::vector<bool>{false, false, false}));
  EXPECT_EQ(topk_margin(huge, 2).must, (std::vector<bool>{true, true, false}));
}

TEST(Topk, ChoosesTheLowestOfEqualColumnsAndListsThemAscending) {
  const std::vector<float> logits{1, NAN, 3, 2, 2, 2, -INFINITY};
  EXPECT_EQ(topk(std::span<const float>(logits), 3), (Columns{2, 3, 4}));
  EXPECT_EQ(topk(std::span<const float>(logits), 6), (Columns{0, 2, 3, 4, 5, 6}));
  EXPECT_EQ(topk(std::span<const float>(logits), 99).size(), 7u);
  EXPECT_TRUE(topk(std::span<const float>(logits), 0).empty());
}

TEST(Topk, RecallCountsSharedColumns) {
  EXPECT_EQ(recall(Columns{1, 2, 5}, Columns{2, 3, 4, 5}), 0.5);
  EXPECT_EQ(recall(Columns{}, Columns{}), 1);
}

TEST(Topk, RecallOfASelectionTakesTiesForEachOtherAndNothingTwice) {
  const std::vector<double> logits{5, 4, 4, NAN, -kInf};
  const auto of = [&](const Columns& got, int64_t k, int64_t first = 0) {
    return selection_recall(std::span<const double>(logits), first, got, k);
  };
  EXPECT_EQ(of({2, 0}, 2), 1);
  EXPECT_EQ(of({1, 2}, 2), 0.5) << "one tie is due, and 5 is missing";
  EXPECT_EQ(of({0, 0}, 2), 0.5);
  EXPECT_EQ(of({0, 3, 7, -1}, 4), 0.25) << "-inf before NaN";
  EXPECT_EQ(of({4, 2, 1, 0}, 4), 1);
  EXPECT_EQ(of({10, 12}, 2, 10), 1);
  EXPECT_EQ(of({0, 1, 2, 3, 4, -1}, 6), 1) << "all columns, fewer than k";
  EXPECT_EQ(selection_recall(std::span<const float>{}, 0, Columns{-1}, 1), 1);
}

// --- vllm#39303: what its metric says about correct kernels (faults.md, section 1)
// ------------------------------------

Columns all_but(int32_t left_out, int32_t columns) {
  Columns result;
  for (int32_t i = 0; i < columns; ++i)
    if (i != left_out) result.push_back(i);
  return result;
}

TEST(PositionMetric, IsOneWhateverTheLogitsAreUpToK) {
  const std::vector<float> rising{1, 2, 3, 4}, falling{9, 8, 7, 6};
  EXPECT_EQ(
      match_by_position(topk(std::span<const float>(rising), 4), topk(std::span<const float>(falling), 4)),
      1);
}

TEST(PositionMetric, MayScoreNextToNothingWhereTheSetsShareAllButOne) {
  const Columns a = all_but(0, 2049), b = all_but(2048, 2049), c = all_but(2047, 2049);
  EXPECT_NEAR(recall(a, b), 2047.0 / 2048, 1e-9);
  EXPECT_EQ(match_by_position(a, b), 0);
  EXPECT_NEAR(match_by_position(b, c), 2047.0 / 2048, 1e-9) << "the same overlap, another place";
}

// The script's logits: random key and scale bytes, non-finite mapped to -1e30.
std::vector<double> script_logits(const Problem& p, const Tensors& tensors, bool nan_to_zero) {
  const Policy policy{nan_to_zero, false, Accumulation::cdna3_fp8};
  std::vector<double> logits = reference_row(p, tensors, 0, policy, false).value;
  for (double& logit : logits)
    if (!(std::fabs(logit) <= std::numeric_limits<float>::max())) logit = -1e30;
  return logits;
}

struct Scores {
  double by_position = 0, overlap = 0;
};
Scores scores_of_the_nan_rule_alone(int32_t context, Pattern pattern, uint64_t seed) {
  Problem p;
  p.heads = 32, p.max_model_len = context, p.context_lens = {context};
  p = dense(p);
  const Tensors tensors =
      generate(p, {.lane = Lane::numeric, .pattern = pattern, .seed = seed, .overrides = {}});
  const std::vector<double> kernel = script_logits(p, tensors, true),
                            torch = script_logits(p, tensors, false);
  const Columns got = topk(std::span<const double>(kernel), 2048),
                expected = topk(std::span<const double>(torch), 2048);
  return {match_by_position(got, expected), recall(got, expected)};
}

TEST(PositionMetric, ReproducesTheReportedCliffWithoutAnyKernelFault) {
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    EXPECT_EQ(scores_of_the_nan_rule_alone(2048, Pattern::raw_bytes, seed).by_position, 1);
    for (int32_t context : {2300, 3000, 4096}) {
      const Scores scores = scores_of_the_nan_rule_alone(context, Pattern::raw_bytes, seed);
      EXPECT_LT(scores.by_position, 0.02) << "context " << context << " seed " << seed;
      EXPECT_GT(scores.overlap, 0.5) << "chance would be " << 2048.0 / context;
    }
  }
}

TEST(PositionMetric, IsOneOnCleanData) {
  EXPECT_EQ(scores_of_the_nan_rule_alone(3000, Pattern::general, 1).by_position, 1);
}

} // namespace
} // namespace mqalab
