// The minimiser and the law search on predicates whose minimum and law are known: no kernel takes part.
#include "fuzz/fields.hpp"
#include "fuzz/generator.hpp"
#include "fuzz/law.hpp"
#include "fuzz/minimize.hpp"
#include "fuzz/repair.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace mqalab {
namespace {

// A predicate of which everything else is right.
Observe seen(SameBug fails) {
  return
      [fails = std::move(fails)](const Case& c) { return fails(c) ? Shows::failure : Shows::nothing_wrong; };
}

constexpr int64_t k2To31 = int64_t{1} << 31;

// The 32-bit store of story two: some visible cell of some row lies past byte 2^31.
bool loses_a_store(const Case& c) {
  const Problem p = resolve(c);
  for (int64_t row = 0; row < p.rows(); ++row)
    if (p.limit(row) > 0 && (row * p.logits_stride + p.limit(row) - 1) * 4 >= k2To31) return true;
  return false;
}

Case the_report() {
  Case c;
  c.shape.batch = 256;
  c.shape.next_n = 4;
  c.shape.heads = 64;
  c.shape.block_size = 64;
  c.shape.max_model_len = 100;
  c.shape.context_lens.assign(256, 64);
  c.strides.logits = 1 << 20;
  c.config = {MQA_VARIANT_DIRECT, 128, 3, 2};
  return c;
}

TEST(Minimize, TradesRowsForStrideUntilTwoRowsAreLeft) {
  const Case start = the_report();
  ASSERT_TRUE(loses_a_store(start));
  const Minimized result = minimize(start, loses_a_store);
  const Case& c = result.smallest;
  EXPECT_EQ(rows(c), 2);
  EXPECT_EQ(c.strides.logits, 1 << 29);
  EXPECT_EQ(longest_context(c), 1);
  EXPECT_EQ(c.shape.heads, 8);
  EXPECT_EQ(non_default_fields(c), 2) << to_json(c); // batch and the stride
  EXPECT_TRUE(result.finished);
  EXPECT_LT(result.checks, 600);
}

TEST(Law, StatesThe32BitStoreAsAProduct) {
  const Case minimal = minimize(the_report(), loses_a_store).smallest;
  const Law law = find_law(minimal, seen(loses_a_store));
  EXPECT_EQ(law.text, "row * logits_stride * 4 >= 2^31");
  ASSERT_EQ(law.boundaries.size(), 1u);
  EXPECT_EQ(law.boundaries[0], (Boundary{"logits_stride", (1 << 29) - 1, 1 << 29}));
}

TEST(Law, StatesABlockThatLiesTooFarAsAProduct) {
  const auto fails = [](const Case& c) {
    const Problem p = resolve(c);
    return p.batch > 0 && (p.num_blocks - 1) * p.kv_block_stride_bytes >= k2To31 && p.limit(0) > 0;
  };
  Case c;
  c.shape.num_blocks = 4000;
  c.strides.kv_block = 1'002'240;
  const Minimized result = minimize(c, fails);
  EXPECT_EQ(result.smallest.shape.num_blocks, 2) << to_json(result.smallest);
  EXPECT_EQ(find_law(result.smallest, seen(fails)).text, "block * kv_block_stride_bytes >= 2^31");
}

TEST(Minimize, KeepsTheResidueThatASplitFaultNeeds) {
  const auto fails = [](const Case& c) {
    return longest_context(c) > chunk_tokens(c) && longest_context(c) % chunk_tokens(c) == 1 &&
           longest_context(c) <= c.shape.max_model_len;
  };
  Case c;
  c.shape.batch = 7;
  c.shape.max_model_len = 9000;
  c.shape.context_lens = {5, 100, 4 * 512 + 1, 7, 1, 0, 9};
  c.config.chunk_k = 512;
  ASSERT_TRUE(fails(c));
  const Case smallest = minimize(c, fails).smallest;
  EXPECT_EQ(longest_context(smallest), smallest.config.chunk_k + 1);
  EXPECT_EQ(smallest.config.chunk_k, 64);
  EXPECT_EQ(smallest.shape.batch, 1);
  EXPECT_EQ(smallest.shape.max_model_len, 65);
}

TEST(Law, ReadsAResidueOfTheChunk) {
  const auto fails = [](const Case& c) { return longest_context(c) > 64 && longest_context(c) % 64 == 1; };
  Case c;
  c.config.chunk_k = 64;
  c.shape.context_lens = {65};
  c.shape.max_model_len = 65;
  EXPECT_EQ(find_law(c, seen(fails)).text, "context mod 64 in {1} from 65 on");
}

TEST(Law, JoinsWhatEveryAxisNeeds) {
  const auto fails = [](const Case& c) { return c.shape.next_n >= 3 && c.shape.heads % 16 == 8; };
  Case c;
  c.shape.next_n = 3;
  EXPECT_EQ(find_law(c, seen(fails)).text, "next_n >= 3 and heads mod 16 in {8}");
}

TEST(Law, SaysNothingWhenTheFailureIsEverywhere) {
  EXPECT_EQ(find_law(Case{}, seen([](const Case&) { return true; })).text, "");
}

TEST(Law, LeavesOutWhatIsNeitherRightNorThisFailure) {
  const Observe observe = [](const Case& c) {
    if (c.shape.head_dim != 128) return Shows::neither; // refused: a fault is built for 128 only
    return c.shape.next_n >= 2 ? Shows::failure : Shows::nothing_wrong;
  };
  Case c;
  c.shape.next_n = 2;
  EXPECT_EQ(find_law(c, observe).text, "next_n >= 2");
}

TEST(Minimize, LeavesNothingThatTheFailureDoesNotNeed) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    const Case start = generate_case(seed);
    const Case smallest = minimize(start, [](const Case&) { return true; }).smallest;
    Case least = smallest_case(smallest.op);
    if (start.shape.batch == 0) least.shape.batch = 0, least.shape.context_lens.clear();
    EXPECT_TRUE(smallest == least) << "seed " << seed << to_json(smallest);
  }
}

// ---- the other operations ----
TEST(Minimize, FindsTheOneRowOfAPrefillAndMovesItsRangeToTheFirstKeys) {
  const auto fails = [](const Case& c) { // a range of at least 70 keys
    if (c.op != Operation::prefill_logits) return false;
    const Problem p = resolve(c);
    for (int64_t row = 0; row < p.rows(); ++row)
      if (p.limit(row) - p.first(row) >= 70) return true;
    return false;
  };
  Case c = case_from_json(R"({"op": "prefill_mqa_logits", "next_n": 4, "starts": [0, 500, 9, 30],
      "context_lens": [5, 580, 20, 90], "max_model_len": 600, "heads": 65, "num_blocks": 580})",
                          "test");
  ASSERT_TRUE(fails(c));
  const Case smallest = minimize(c, fails).smallest;
  EXPECT_EQ(to_json(smallest, -1), R"({"context_lens":[70],"max_model_len":70,"op":"prefill_mqa_logits"})");
}

TEST(Minimize, AnOperationGivesWayToASimplerOneThatFails) {
  const auto fails = [](const Case& c) { return is_ragged(c.op) && longest_context(c) >= 33; };
  Case c = case_from_json(R"({"op": "per_head_ragged_mqa_logits", "batch": 2, "context_lens": [40, 33],
      "max_model_len": 50, "heads": 24, "strides": {"logits_head": 9999}})",
                          "test");
  ASSERT_TRUE(fails(c));
  EXPECT_EQ(to_json(minimize(c, fails).smallest, -1), R"({"context_lens":[33],"op":"ragged_mqa_logits"})");
}

TEST(Minimize, ShrinksKTogetherWithTheCandidates) {
  const auto fails = [](const Case& c) {
    return c.op == Operation::top_k && resolve(c).limit(0) == c.selection.k + 1;
  };
  Case c = case_from_json(R"({"op": "top_k", "context_lens": [2049], "max_model_len": 3000,
      "top_k": {"k": 2048, "stable": true}})",
                          "test");
  ASSERT_TRUE(fails(c));
  const Case smallest = minimize(c, fails).smallest;
  EXPECT_EQ(smallest.selection, (Selection{1, false})) << to_json(smallest);
  EXPECT_EQ(longest_context(smallest), 2);
}

TEST(Minimize, HeadsGoToOneOnlyWhereEightWillNotDo) {
  const auto odd = [](const Case& c) { return c.shape.heads % 8 != 0; };
  Case c;
  c.shape.heads = 65;
  EXPECT_EQ(minimize(c, odd).smallest.shape.heads, 1);
  EXPECT_EQ(minimize(c, [](const Case&) { return true; }).smallest.shape.heads, 8);
}

TEST(Law, StatesAPlaneThatLiesTooFarAsAProduct) {
  const auto fails = [](const Case& c) {
    const Problem p = resolve(c);
    return is_per_head(c.op) && (p.heads - 1) * p.logits_stride_head * 4 >= k2To31;
  };
  const Case c =
      case_from_json(R"({"op": "per_head_mqa_logits", "strides": {"logits_head": 300000000}})", "test");
  ASSERT_TRUE(fails(c));
  EXPECT_EQ(find_law(c, seen(fails)).text, "head * logits_stride_head * 4 >= 2^31");
}

TEST(Law, ReadsAThresholdOfK) {
  const auto fails = [](const Case& c) { return c.op == Operation::top_k && c.selection.k > 64; };
  Case c = case_from_json(R"({"op": "top_k", "top_k": {"k": 65}})", "test");
  EXPECT_EQ(find_law(c, seen(fails)).text, "top_k.k >= 65");
}

TEST(Minimize, ASecondRunFindsNothingMore) {
  const auto fails = [](const Case& c) {
    return c.shape.heads >= 24 && longest_context(c) >= 77 && c.shape.next_n % 2 == 1;
  };
  for (uint64_t seed = 0, tried = 0; tried < 10; ++seed) {
    const Case start = generate_case(seed);
    if (!fails(start)) continue;
    ++tried;
    const Case once = minimize(start, fails).smallest;
    EXPECT_EQ(once.shape.heads, 24);
    EXPECT_EQ(longest_context(once), 77);
    EXPECT_EQ(minimize(once, fails).accepted, 0);
  }
}

TEST(Minimize, NeverShowsThePredicateACaseTwiceOrAnIllegalOne) {
  std::vector<std::vector<uint8_t>> shown;
  minimize(the_report(), [&](const Case& c) {
    EXPECT_EQ(why_illegal(c), "");
    shown.push_back(encode(c));
    return loses_a_store(c);
  });
  std::sort(shown.begin(), shown.end());
  EXPECT_EQ(std::adjacent_find(shown.begin(), shown.end()), shown.end());
}

TEST(Minimize, StoppedInTheMiddleItKeepsTheBestSoFar) {
  int left = 20;
  MinimizeOptions options;
  options.stop = [&] { return left-- <= 0; };
  const Minimized result = minimize(the_report(), loses_a_store, options);
  EXPECT_FALSE(result.finished);
  EXPECT_TRUE(loses_a_store(result.smallest));
  EXPECT_LT(cost(result.smallest), cost(the_report()));
}

} // namespace
} // namespace mqalab
