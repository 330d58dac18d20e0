#include "fuzz/large_budget.hpp"

#include "fuzz/case_names.hpp"
#include "fuzz/fields.hpp"
#include "fuzz/generator.hpp"
#include "fuzz/repair.hpp"

#include <gtest/gtest.h>

namespace mqalab {
namespace {

double percent_of_work(int large_of_100, int cases) {
  LargeBudget budget;
  Random random(7);
  double large = 0, all = 0;
  for (int i = 0; i < cases; ++i) {
    const auto op = static_cast<Operation>(i % kOperationNames.size());
    Case c = random.chance(large_of_100) ? generate_large_offset_case(random, op) : generate_case(random, op);
    budget.spend(c);
    all += static_cast<double>(work(c));
    if (is_large(c)) large += static_cast<double>(work(c));
  }
  return 100 * large / all;
}

TEST(LargeBudget, LargeCasesGetTheirShareAndNoMore) {
  EXPECT_NEAR(percent_of_work(100, 4000), kMostLargePercent, 1);
  EXPECT_NEAR(percent_of_work(50, 4000), kMostLargePercent, 1);
  EXPECT_LT(percent_of_work(5, 4000), kMostLargePercent - 5); // the draws' share leaves it unspent
}

TEST(LargeBudget, AFewAreFreeAtTheStart) {
  LargeBudget budget;
  Random random(11);
  for (int i = 0; i < 3; ++i) {
    const Case drawn = generate_large_offset_case(random, Operation::top_k);
    Case c = drawn;
    budget.spend(c);
    EXPECT_TRUE(c == drawn);
  }
}

TEST(LargeBudget, WhatItTakesBackIsLegalAndNear) {
  LargeBudget budget;
  Random random(8);
  int changed = 0;
  for (int i = 0; i < 4000; ++i) {
    const Case drawn = generate_large_offset_case(random, static_cast<Operation>(i % kOperationNames.size()));
    Case c = drawn;
    budget.spend(c);
    ASSERT_EQ(why_illegal(c), "") << to_json(c);
    if (c == drawn) continue;
    ++changed;
    ASSERT_FALSE(is_large(c)) << to_json(c);
    ASSERT_EQ(c.shape.context_lens.size(), drawn.shape.context_lens.size());
  }
  EXPECT_GT(changed, 2000);
}

TEST(LargeBudget, AnOrdinaryCaseAndARefusalStayAsTheyAre) {
  LargeBudget budget;
  Random random(9);
  for (int i = 0; i < 2000; ++i) {
    const Case drawn = generate_any_case(random);
    Case c = drawn;
    budget.spend(c);
    if (!why_illegal(drawn).empty() || !is_large(drawn)) ASSERT_TRUE(c == drawn) << to_json(drawn);
  }
}

// Every stride alone makes a case large.
TEST(LargeBudget, EveryLongStrideIsSeen) {
  for (const Field& f : fields()) {
    if (!f.name.starts_with("strides.") || f.name == "strides.block_table") continue;
    for (size_t op = 0; op < kOperationNames.size(); ++op) {
      if (!has_meaning(static_cast<Operation>(op), f.name)) continue;
      Random random(10);
      int stretched = 0;
      for (int i = 0; i < 4000; ++i) {
        Case c = generate_large_offset_case(random, static_cast<Operation>(op));
        const int64_t stride = f.get(c);
        if (stride == 0) continue;
        c.strides = {}, c.shape.num_blocks = f.name == "strides.kv_block" ? c.shape.num_blocks : 0;
        if (f.name != "strides.kv_block") c.block_table = {};
        f.set(c, std::max(stride, int64_t{1} << 31)); // drawn shorter where several pass 2^31 together
        ++stretched;
        ASSERT_TRUE(is_large(c)) << f.name << to_json(c);
      }
      EXPECT_GT(stretched, 0) << f.name << " " << kOperationNames[op];
    }
  }
}

} // namespace
} // namespace mqalab
