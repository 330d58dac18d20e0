// Every mistake is seen and named, and nothing right is called wrong: against a definition by exhaustion.
#include "refimpl/random.hpp"
#include "refimpl/top_k_check.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace mqalab {
namespace {

using Columns = std::vector<int32_t>;
const float kNan = std::nanf(""), kInf = INFINITY;

// The names of all complaints, in order.
std::string said(const std::vector<float>& logits, int64_t first, int32_t k, bool stable,
                 const Columns& got) {
  std::string all;
  for (const TopKComplaint& c : top_k_complaints({logits, first, k, stable}, got))
    all += (all.empty() ? "" : ", ") + std::string(name(c.mistake));
  return all;
}

TEST(TopKCheck, TheRightListIsAscendingWithTheLowestOfTies) {
  const std::vector<float> logits{1, 3, -0.0f, 3, 0.0f, kNan};
  EXPECT_EQ(top_k_columns({logits, 10, 3, true}), (Columns{10, 11, 13}));
  EXPECT_EQ(top_k_columns({logits, 10, 4, true}), (Columns{10, 11, 12, 13})) << "-0 ties with +0";
  EXPECT_EQ(top_k_columns({logits, 10, 8, true}), (Columns{10, 11, 12, 13, 14, 15, -1, -1}));
}

TEST(TopKCheck, NamesEveryMistake) {
  const std::vector<float> logits{5, 4, 4, 4, 1}; // columns 2 to 6
  EXPECT_EQ(said(logits, 2, 2, true, {2, 3}), "");
  EXPECT_EQ(said(logits, 2, 2, true, {3, 2}), "order, order");
  EXPECT_EQ(said(logits, 2, 2, false, {4, 2}), "") << "any order, any tie";
  EXPECT_EQ(said(logits, 2, 2, true, {2, 5}), "tie not the lowest");
  EXPECT_EQ(said(logits, 2, 2, false, {2, 2}), "duplicate");
  EXPECT_EQ(said(logits, 2, 2, false, {2, 6}), "not among the largest");
  EXPECT_EQ(said(logits, 2, 2, false, {3, 4}), "missing");
  EXPECT_EQ(said(logits, 2, 2, false, {2, 7}), "out of range");
  EXPECT_EQ(said(logits, 2, 2, false, {1, 2}), "out of range");
  EXPECT_EQ(said(logits, 2, 2, false, {2, -1}), "out of range") << "-1 where a column is due";
  EXPECT_EQ(said(logits, 2, 6, false, {2, 3, 4, 5, 6, -1}), "");
  EXPECT_EQ(said(logits, 2, 6, false, {2, 3, 4, 5, 6, 0}), "padding");
  EXPECT_EQ(said(logits, 2, 6, false, {2, 3, 5, 4, 6, -1}), "order, order")
      << "few candidates come ascending";
  EXPECT_EQ(said(logits, 2, 5, false, {3, 2, 4, 5, 6}), "order, order") << "also when there are just k";
}

TEST(TopKCheck, ARowWithoutCandidatesIsPadding) {
  EXPECT_EQ(said({}, 9, 2, false, {-1, -1}), "");
  EXPECT_EQ(said({}, 9, 2, false, {-1, 9}), "padding");
}

TEST(TopKCheck, ANanIsBelowMinusInfinityAndAsGoodAsAnother) {
  const std::vector<float> logits{kNan, -kInf, kNan, kInf};
  EXPECT_EQ(said(logits, 0, 2, true, {1, 3}), "");
  EXPECT_EQ(said(logits, 0, 2, false, {0, 3}), "not among the largest");
  EXPECT_EQ(said(logits, 0, 3, false, {2, 3, 1}), "");
  EXPECT_EQ(said(logits, 0, 3, true, {1, 2, 3}), "tie not the lowest, tie not the lowest");
}

// Right without order: distinct candidates with the k largest values.
bool right_by_definition(const std::vector<float>& logits, int32_t k, const Columns& got) {
  Columns sorted = got;
  std::sort(sorted.begin(), sorted.end());
  if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) return false;
  std::vector<float> values, best = logits;
  for (const int32_t column : got) {
    if (column < 0 || column >= static_cast<int32_t>(logits.size())) return false;
    values.push_back(logits[static_cast<size_t>(column)]);
  }
  std::sort(values.rbegin(), values.rend()), std::sort(best.rbegin(), best.rend());
  return std::equal(values.begin(), values.end(), best.begin(), best.begin() + k);
}

TEST(TopKCheck, AcceptsExactlyTheRightListsOfAllListsThereAre) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    std::vector<float> logits;
    for (uint64_t c = 0; c < 5; ++c) logits.push_back(static_cast<float>(Stream(seed, 1).below(3, c)));
    const int32_t k = 1 + static_cast<int32_t>(seed % 4);
    int64_t lists = 1;
    for (int32_t i = 0; i < k; ++i) lists *= 7;
    for (int64_t code = 0; code < lists; ++code) {
      Columns got;
      for (int64_t i = 0, rest = code; i < k; ++i, rest /= 7)
        got.push_back(static_cast<int32_t>(rest % 7) - 1);
      const bool accepted = top_k_complaints({logits, 0, k, false}, got).empty();
      ASSERT_EQ(accepted, right_by_definition(logits, k, got)) << "seed " << seed << " list " << code;
      ASSERT_EQ(top_k_complaints({logits, 0, k, true}, got).empty(),
                got == top_k_columns({logits, 0, k, true}));
    }
  }
}

} // namespace
} // namespace mqalab
