// mqa_top_k on a device, against a sort on the host, and what it says when it refuses.
#include "kernels/launch.hpp"
#include "kernels/top_k_rules.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <vector>

namespace mqa {
namespace {

using Columns = std::vector<int32_t>;
constexpr float kInf = std::numeric_limits<float>::infinity(), kNan = std::numeric_limits<float>::quiet_NaN();
constexpr int32_t kSentinel = -77;

template <class T> struct OnDevice {
  T* data = nullptr;
  size_t count;
  explicit OnDevice(const std::vector<T>& host) : count(host.size()) {
    EXPECT_EQ(hipMalloc(reinterpret_cast<void**>(&data), std::max<size_t>(count, 1) * sizeof(T)), hipSuccess);
    EXPECT_EQ(hipMemcpy(data, host.data(), count * sizeof(T), hipMemcpyHostToDevice), hipSuccess);
  }
  OnDevice(const OnDevice&) = delete;
  ~OnDevice() { (void)hipFree(data); }
  std::vector<T> host() const {
    std::vector<T> copy(count);
    EXPECT_EQ(hipMemcpy(copy.data(), data, count * sizeof(T), hipMemcpyDeviceToHost), hipSuccess);
    return copy;
  }
};

// Rows of one dense tensor, each with its own [start, end).
struct Rows {
  std::vector<float> logits;
  std::vector<int32_t> starts, ends;
  int64_t columns;
  int64_t count() const { return static_cast<int64_t>(ends.size()); }
};

mqa_top_k_args arguments(const Rows& rows, int32_t k, bool stable) {
  mqa_top_k_args a{};
  a.struct_size = sizeof a;
  a.batch = static_cast<int32_t>(rows.count()), a.next_n = 1, a.k = k, a.stable = stable;
  a.columns = a.logits_stride = rows.columns;
  a.lens_per_row = 1, a.context_lens_stride = 1, a.indices_stride = k;
  return a;
}

Columns selected(const Rows& rows, int32_t k, bool stable) {
  const OnDevice<float> logits(rows.logits);
  const OnDevice<int32_t> starts(rows.starts), ends(rows.ends);
  const OnDevice<int32_t> indices(Columns(static_cast<size_t>(rows.count() * k), kSentinel));
  mqa_top_k_args a = arguments(rows, k, stable);
  a.logits = logits.data, a.context_lens = ends.data, a.indices = indices.data;
  a.starts = rows.starts.empty() ? nullptr : starts.data;
  EXPECT_EQ(mqa_top_k(&a, nullptr), MQA_OK) << mqa_last_error();
  EXPECT_EQ(hipDeviceSynchronize(), hipSuccess);
  return indices.host();
}

// The k best of [first, limit) by a sort in which the lowest of equals comes first, ascending, then -1.
Columns expected_row(const float* logits, int32_t first, int32_t limit, int32_t k) {
  Columns columns;
  for (int32_t c = first; c < limit; ++c) columns.push_back(c);
  std::sort(columns.begin(), columns.end(), [logits](int32_t a, int32_t b) {
    const float x = logits[a], y = logits[b];
    if (std::isnan(x) != std::isnan(y)) return std::isnan(y);
    return x == y || std::isnan(x) ? a < b : x > y;
  });
  if (columns.size() > static_cast<size_t>(k)) columns.resize(static_cast<size_t>(k));
  std::sort(columns.begin(), columns.end());
  columns.resize(static_cast<size_t>(k), -1);
  return columns;
}
Columns expected(const Rows& rows, int32_t k) {
  Columns all;
  for (int64_t r = 0; r < rows.count(); ++r) {
    const int32_t first = rows.starts.empty() ? 0 : std::max(0, rows.starts[r]);
    const int32_t limit = std::min<int32_t>(static_cast<int32_t>(rows.columns), std::max(0, rows.ends[r]));
    const Columns row = expected_row(rows.logits.data() + r * rows.columns, first, limit, k);
    all.insert(all.end(), row.begin(), row.end());
  }
  return all;
}

// Few distinct values, so that ties are wide.
Rows random_rows(int64_t count, int64_t columns, int distinct, uint32_t seed) {
  std::mt19937 random(seed);
  Rows rows{{}, {}, {}, columns};
  for (int64_t i = 0; i < count * columns; ++i)
    rows.logits.push_back(static_cast<float>(static_cast<int>(random() % distinct) - distinct / 2) * 0.25f);
  for (int64_t r = 0; r < count; ++r) {
    rows.starts.push_back(static_cast<int32_t>(random() % 9) - 3);
    rows.ends.push_back(static_cast<int32_t>(columns) - static_cast<int32_t>(random() % 7));
  }
  return rows;
}

TEST(TopK, StableEqualsASortThatKeepsTheOrderOfEquals) {
  for (const int64_t columns : {70, 1023, 4100, 16384, 16385, 40000})
    for (const int32_t k : {1, 7, 64, 1000, 4096})
      for (const int distinct : {3, 100, 1000000}) {
        const Rows rows = random_rows(3, columns, distinct, static_cast<uint32_t>(columns + k));
        ASSERT_EQ(selected(rows, k, true), expected(rows, k))
            << columns << " columns, k " << k << ", " << distinct << " values";
      }
}

TEST(TopK, WithoutOrderTheSelectedValuesAreTheSame) {
  for (const int64_t columns : {1023, 20000})
    for (const int32_t k : {1, 64, 1000})
      for (const int distinct : {3, 1000000}) {
        const Rows rows = random_rows(3, columns, distinct, static_cast<uint32_t>(columns + k));
        const Columns got = selected(rows, k, false), due = expected(rows, k);
        for (int64_t r = 0; r < rows.count(); ++r) {
          const auto values = [&](const Columns& from) {
            std::vector<float> list;
            for (int64_t i = r * k; i < (r + 1) * k && from[i] >= 0; ++i)
              list.push_back(rows.logits[r * columns + from[i]]);
            std::sort(list.begin(), list.end());
            return list;
          };
          ASSERT_EQ(values(got), values(due)) << columns << " columns, k " << k << ", row " << r;
          Columns distinct_columns(got.begin() + r * k, got.begin() + (r + 1) * k);
          std::sort(distinct_columns.begin(), distinct_columns.end());
          ASSERT_EQ(std::adjacent_find(distinct_columns.begin(), distinct_columns.end()),
                    distinct_columns.end());
        }
      }
}

TEST(TopK, NanIsLastMinusInfinityBeforeItAndZerosTie) {
  const Rows rows{{kNan, -kInf, -0.0f, 0.0f, -kNan, 1e-45f, kInf, -1e-45f}, {}, {8}, 8};
  EXPECT_EQ(selected(rows, 1, true), (Columns{6}));
  EXPECT_EQ(selected(rows, 2, true), (Columns{5, 6}));
  EXPECT_EQ(selected(rows, 3, true), (Columns{2, 5, 6})) << "-0 comes first of two equals";
  EXPECT_EQ(selected(rows, 5, true), (Columns{2, 3, 5, 6, 7}));
  EXPECT_EQ(selected(rows, 6, true), (Columns{1, 2, 3, 5, 6, 7}));
  EXPECT_EQ(selected(rows, 7, true), (Columns{0, 1, 2, 3, 5, 6, 7}));
}

TEST(TopK, NansAreChosenOneByOneWhenNothingElseIsLeft) {
  const int columns = 5000;
  Rows rows{std::vector<float>(columns, kNan), {3}, {columns - 2}, columns};
  rows.logits[4000] = -kInf;
  for (const bool stable : {true, false}) {
    Columns got = selected(rows, 100, stable);
    std::sort(got.begin(), got.end());
    EXPECT_TRUE(std::binary_search(got.begin(), got.end(), 4000));
    EXPECT_EQ(std::adjacent_find(got.begin(), got.end()), got.end());
    EXPECT_GE(got.front(), 3);
    EXPECT_LT(got.back(), columns - 2);
    if (stable) EXPECT_EQ(got, expected(rows, 100));
  }
}

TEST(TopK, ValuesThatDifferInTheLastBitsOnlyAreToldApart) {
  Rows rows{{}, {}, {6000}, 6000};
  for (uint32_t c = 0; c < 6000; ++c)
    rows.logits.push_back(std::bit_cast<float>(0x40490000u + c * 2654435761u % 1024));
  for (const int32_t k : {1, 500, 3000}) EXPECT_EQ(selected(rows, k, true), expected(rows, k)) << "k " << k;
}

TEST(TopK, EmptyRowsGetPaddingOnly) {
  const Rows rows{{1, 2, 3, 4, 5, 6}, {2, 5}, {2, -9}, 3};
  EXPECT_EQ(selected(rows, 2, false), (Columns{-1, -1, -1, -1}));
}

TEST(TopK, TheLongestRow) {
  constexpr int32_t columns = 1 << 24, k = 4096;
  Rows rows{std::vector<float>(columns), {}, {columns}, columns};
  Columns last;
  for (int32_t c = 0; c < columns; ++c) rows.logits[static_cast<size_t>(c)] = static_cast<float>(c);
  for (int32_t c = columns - k; c < columns; ++c) last.push_back(c);
  EXPECT_EQ(selected(rows, k, true), last);
}

TEST(TopK, MoreRowsThanOneDimensionOfAGridHolds) {
  const int64_t count = 65535 + 3;
  Rows rows = random_rows(count, 3, 5, 1);
  rows.starts.clear();
  EXPECT_EQ(selected(rows, 2, true), expected(rows, 2));
}

TEST(TopK, DecodeRowsSeeOneColumnMoreEach) {
  const OnDevice<float> logits({5, 4, 3, 2, 5, 4, 3, 2});
  const OnDevice<int32_t> lens({3}), indices(Columns(6, kSentinel));
  mqa_top_k_args a{};
  a.struct_size = sizeof a;
  a.batch = 1, a.next_n = 2, a.k = 3, a.columns = a.logits_stride = 4;
  a.logits = logits.data, a.context_lens = lens.data, a.context_lens_stride = 1;
  a.indices = indices.data, a.indices_stride = 3;
  ASSERT_EQ(mqa_top_k(&a, nullptr), MQA_OK) << mqa_last_error();
  EXPECT_EQ(indices.host(), (Columns{0, 1, -1, 0, 1, 2}));
}

TEST(TopKRules, KeysAreInTheOrderOfTheNumbers) {
  const float ascending[] = {-kInf, -std::numeric_limits<float>::max(), -1, -1e-45f, 0, 1e-45f, 1, kInf};
  uint32_t before = TopKRules::key_of(std::bit_cast<uint32_t>(kNan));
  EXPECT_GT(before >> 21, 0u) << "a NaN is told from what is no candidate by the first digit";
  EXPECT_EQ(TopKRules::key_of(std::bit_cast<uint32_t>(-kNan)), before);
  for (const float x : ascending) {
    const uint32_t key = TopKRules::key_of(std::bit_cast<uint32_t>(x));
    EXPECT_GT(key, before) << x;
    before = key;
  }
  EXPECT_EQ(TopKRules::key_of(0x80000000u), TopKRules::key_of(0));
}

TEST(TopKRules, DigitsCoverAKey) {
  int bits = 0;
  for (int digit = 0; digit < TopKRules::digits(); ++digit) bits += TopKRules::digit_bits(digit);
  EXPECT_EQ(bits, 32);
}

TEST(TopKArguments, EveryRefusalNamesTheArgumentAndWhatIsAllowed) {
  const Rows rows = random_rows(2, 10, 3, 1);
  const OnDevice<float> logits(rows.logits);
  const OnDevice<int32_t> ends(rows.ends), indices(Columns(8, kSentinel));
  struct Bad {
    std::function<void(mqa_top_k_args&)> spoil;
    const char* says;
  };
  const Bad table[] = {
      {[](auto& a) { a.struct_size = 8; }, "struct_size is 8"},
      {[](auto& a) { a.batch = -1; }, "batch is -1; allowed: 0 and more"},
      {[](auto& a) { a.next_n = 0; }, "next_n is 0; allowed: 1 and more"},
      {[](auto& a) { a.batch = a.next_n = 65536; }, "batch * next_n is 4294967296"},
      {[](auto& a) { a.k = 0; }, "k is 0; allowed: 1 to 4096"},
      {[](auto& a) { a.k = 4097; }, "k is 4097; allowed: 1 to 4096"},
      {[](auto& a) { a.stable = 2; }, "stable is 2; allowed: 0 to 1"},
      {[](auto& a) { a.columns = 0; }, "columns is 0; allowed: 1 to 16777216"},
      {[](auto& a) { a.columns = (1 << 24) + 1; }, "columns is 16777217"},
      {[](auto& a) { a.lens_per_row = -1; }, "lens_per_row is -1; allowed: 0 to 1"},
      {[](auto& a) { a.starts = a.context_lens, a.lens_per_row = 0; },
       "lens_per_row is 0 with starts; allowed: 1"},
      {[](auto& a) { a.logits_stride = 9; }, "logits_stride is 9; allowed: 10 to 2^40"},
      {[](auto& a) { a.logits_stride = int64_t{1} << 41; }, "logits_stride is 2199023255552"},
      {[](auto& a) { a.indices_stride = 3; }, "indices_stride is 3; allowed: 4 to 2^40"},
      {[](auto& a) { a.context_lens_stride = -1; }, "context_lens_stride is -1"},
      {[](auto& a) { a.logits = nullptr; }, "logits is NULL"},
      {[](auto& a) { a.context_lens = nullptr; }, "context_lens is NULL"},
      {[](auto& a) { a.indices = nullptr; }, "indices is NULL"},
      {[](auto& a) { a.indices = reinterpret_cast<int32_t*>(reinterpret_cast<char*>(a.indices) + 2); },
       "aligned to 4 bytes"},
  };
  for (const Bad& bad : table) {
    mqa_top_k_args a = arguments(rows, 4, false);
    a.logits = logits.data, a.context_lens = ends.data, a.indices = indices.data;
    ASSERT_EQ(why_invalid(a), "");
    bad.spoil(a);
    EXPECT_EQ(mqa_top_k(&a, nullptr), MQA_INVALID_ARGUMENT) << bad.says;
    EXPECT_THAT(mqa_last_error(), ::testing::HasSubstr(bad.says));
  }
  EXPECT_EQ(mqa_top_k(nullptr, nullptr), MQA_INVALID_ARGUMENT);
  EXPECT_THAT(indices.host(), ::testing::Each(kSentinel)) << "nothing was launched";
}

TEST(TopKArguments, AnEmptyBatchLaunchesNothing) {
  mqa_top_k_args a = arguments(Rows{{}, {}, {}, 5}, 2, false);
  EXPECT_EQ(mqa_top_k(&a, nullptr), MQA_OK) << mqa_last_error();
}

} // namespace
} // namespace mqa
