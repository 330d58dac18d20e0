// What every pattern promises, and that all but the candidates is poison.
#include "refimpl/top_k_data.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <set>

namespace mqalab {
namespace {

// Two sequences of two rows in the prefill form: 40 columns, rows 50 apart.
Problem small() {
  Problem p;
  p.op = Operation::top_k;
  p.batch = 2, p.next_n = 2, p.max_model_len = 40, p.logits_stride = 50, p.k = 3, p.indices_stride = 3;
  p.lens_per_row = true, p.context_lens = {40, 33, 5, 60}, p.row_starts = {0, 3, 9, -2};
  return p;
}
DataSpec spec(Lane lane, Pattern pattern, uint64_t seed = 5) { return {lane, pattern, seed, {}}; }
std::set<float> values(Lane lane, Pattern pattern) {
  const auto row = top_k_candidates(small(), spec(lane, pattern), 0);
  return {row.begin(), row.end()};
}

TEST(TopKData, HoldsTheCandidatesOfARowOnly) {
  const Problem p = small();
  EXPECT_EQ(top_k_candidates(p, spec(Lane::exact, Pattern::general), 0).size(), 40u);
  EXPECT_EQ(top_k_candidates(p, spec(Lane::exact, Pattern::general), 1).size(), 30u);
  EXPECT_EQ(top_k_candidates(p, spec(Lane::exact, Pattern::general), 2).size(), 0u)
      << "first is behind the limit";
  EXPECT_EQ(top_k_candidates(p, spec(Lane::exact, Pattern::general), 3).size(), 40u);
}

TEST(TopKData, PatternsAreWhatTheyAreCalled) {
  EXPECT_LE(values(Lane::exact, Pattern::general).size(), 9u);
  EXPECT_EQ(values(Lane::exact, Pattern::one_head).size(), 1u);
  EXPECT_EQ(values(Lane::exact, Pattern::one_token), (std::set<float>{1, 2}));
  const auto zeros = top_k_candidates(small(), spec(Lane::exact, Pattern::positive), 0);
  EXPECT_TRUE(std::any_of(zeros.begin(), zeros.end(), [](float x) { return x == 0 && std::signbit(x); }));
  EXPECT_TRUE(std::any_of(zeros.begin(), zeros.end(), [](float x) { return x == 0 && !std::signbit(x); }));
  EXPECT_TRUE(std::all_of(zeros.begin(), zeros.end(), [](float x) { return x >= 0; }));
  const auto up = top_k_candidates(small(), spec(Lane::exact, Pattern::address), 0),
             down = top_k_candidates(small(), spec(Lane::exact, Pattern::address), 1);
  EXPECT_TRUE(std::is_sorted(up.begin(), up.end()));
  EXPECT_TRUE(std::is_sorted(down.rbegin(), down.rend()));
  for (const float x : values(Lane::exact, Pattern::one_dim))
    EXPECT_EQ(std::bit_cast<uint32_t>(x) >> 10, 0x40490000u >> 10);
  EXPECT_GT(values(Lane::exact, Pattern::one_dim).size(), 30u);
  EXPECT_EQ(values(Lane::numeric, Pattern::general).size(), 40u);
}

TEST(TopKData, TheSpecialLaneHoldsEverySpecialNumber) {
  Problem p = small();
  p.max_model_len = p.logits_stride = 2000, p.context_lens[0] = 2000;
  const auto row = top_k_candidates(p, spec(Lane::special, Pattern::general), 0);
  const auto has = [&](auto predicate) { return std::any_of(row.begin(), row.end(), predicate); };
  EXPECT_TRUE(has([](float x) { return std::isnan(x); }));
  EXPECT_TRUE(has([](float x) { return x == INFINITY; }));
  EXPECT_TRUE(has([](float x) { return x == -INFINITY; }));
  EXPECT_TRUE(has([](float x) { return x != 0 && std::fabs(x) < 1e-40f; }));
  EXPECT_TRUE(has([](float x) { return x == 0 && std::signbit(x); }));
}

TEST(TopKData, TheSpecialLaneCanBeAllNan) {
  const auto all = top_k_candidates(small(), spec(Lane::special, Pattern::one_head), 0),
             but_one = top_k_candidates(small(), spec(Lane::special, Pattern::one_token), 0);
  const auto nans = [](const std::vector<float>& row) {
    return std::count_if(row.begin(), row.end(), [](float x) { return std::isnan(x); });
  };
  EXPECT_EQ(nans(all), 40);
  EXPECT_EQ(nans(but_one), 39);
  EXPECT_EQ(std::count(but_one.begin(), but_one.end(), -INFINITY), 1);
}

TEST(TopKData, SurvivesAnotherShapeAndStride) {
  const Problem p = small();
  Problem other = p;
  other.logits_stride = 400, other.max_model_len = 90, other.context_lens[1] = 80;
  const auto a = top_k_candidates(p, spec(Lane::numeric, Pattern::general), 1),
             b = top_k_candidates(other, spec(Lane::numeric, Pattern::general), 1);
  EXPECT_TRUE(std::equal(a.begin(), a.end(), b.begin()));
}

TEST(TopKData, AllButCandidatesIsPoison) {
  const Problem p = small();
  const DataSpec data = spec(Lane::numeric, Pattern::general);
  for (const int64_t dense_bytes : {int64_t{0}, int64_t{1} << 20}) {
    const SparseBuffer nans = top_k_logits(p, data, Poison::nan_codes, dense_bytes),
                       huge = top_k_logits(p, data, Poison::large_finite, dense_bytes);
    ASSERT_EQ(nans.size(), 4 * (3 * 50 + 40));
    const auto* a = reinterpret_cast<const float*>(nans.data());
    const auto* b = reinterpret_cast<const float*>(huge.data());
    for (int64_t row = 0; row < 4; ++row)
      for (int64_t c = 0; c < (row == 3 ? 40 : 50); ++c) {
        const bool candidate = c >= p.first(row) && c < p.limit(row);
        EXPECT_EQ(a[row * 50 + c] == b[row * 50 + c], candidate) << "row " << row << " column " << c;
        if (!candidate) {
          EXPECT_TRUE(std::isnan(a[row * 50 + c]));
          EXPECT_GT(b[row * 50 + c], 1e38f);
        }
      }
  }
}

TEST(TopKData, ARowPast2To31BytesCostsOnlyItsCandidates) {
  Problem p = small();
  p.logits_stride = int64_t{1} << 30;
  const SparseBuffer buffer = top_k_logits(p, spec(Lane::exact, Pattern::general), Poison::nan_codes);
  int64_t filled = 0;
  for (const ByteRange& r : buffer.filled()) filled += r.end - r.begin;
  EXPECT_LT(filled, 4 * 4 * 200);
}

} // namespace
} // namespace mqalab
