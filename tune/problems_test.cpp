// The problems file, good and bad.
#include "tune/problems.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mqalab {
namespace {

using ::testing::HasSubstr;

std::string error_of(const std::string& text) {
  try {
    problems_from_json(text, "p.jsonl");
  } catch (const CaseError& e) {
    return e.what();
  }
  return "no error";
}

TEST(Problems, ReadsLinesAnArrayAndOneCaseOverManyLines) {
  EXPECT_EQ(problems_from_json("{\"heads\": 32}\n\n{\"heads\": 64}\n", "f").size(), 2u);
  EXPECT_EQ(problems_from_json("[{\"heads\": 32},\n {\"heads\": 64}]", "f").size(), 2u);
  EXPECT_EQ(problems_from_json("{\n  \"heads\": 32\n}\n", "f").size(), 1u);
}

TEST(Problems, FillsInLengthsAsLongAsTheyMayBe) {
  const auto p = problems_from_json("{\"batch\": 3, \"max_model_len\": 77}", "f").front();
  EXPECT_EQ(p.shape.shape.context_lens, (std::vector<int32_t>{77, 77, 77}));
}

TEST(Problems, OfAPrefillEveryRowSeesAllKeys) {
  const auto p =
      problems_from_json("{\"op\": \"prefill_mqa_logits\", \"next_n\": 2, \"max_model_len\": 77}", "f")
          .front();
  EXPECT_EQ(p.shape.shape.context_lens, (std::vector<int32_t>{77, 77}));
  EXPECT_THAT(p.key, ::testing::StartsWith("prefill_mqa_logits/"));
}

TEST(Problems, PutsTheHeaviestFirstAndAddsUpABucket) {
  const auto list = problems_from_json(
      "[{\"heads\": 8}, {\"max_model_len\": 1000, \"weight\": 2}, {\"max_model_len\": 1024, \"weight\": 5, "
      "\"heads\": 8}, {\"max_model_len\": 1001, \"weight\": 4}]",
      "f");
  ASSERT_EQ(list.size(), 2u) << "three of them are in one bucket";
  EXPECT_EQ(list[0].weight, 11);
  EXPECT_EQ(list[0].shape.shape.max_model_len, 1000) << "the first stands for all";
}

TEST(Problems, NamesTheLineAndTheFieldOfBadInput) {
  EXPECT_THAT(error_of("{\"heads\": 32}\n{\"heds\": 32}\n"), HasSubstr("p.jsonl: line 2"));
  EXPECT_THAT(error_of("{\"heads\": 32}\n{\"heds\": 32}\n"), HasSubstr("heds"));
  EXPECT_THAT(error_of("{\"heads\": 32}\nnonsense\n"), HasSubstr("line 2: not JSON"));
  EXPECT_THAT(error_of("[{\"heads\": 1025}]"), HasSubstr("entry 1"));
  EXPECT_THAT(error_of("{\"op\": \"top_k\"}"), HasSubstr("nothing to tune"));
  EXPECT_THAT(error_of("{\"weight\": 0}"), HasSubstr("weight is 0"));
  EXPECT_THAT(error_of("{\"weight\": \"much\"}"), HasSubstr("a positive number"));
  EXPECT_THAT(error_of("[]"), HasSubstr("holds no problem"));
  EXPECT_THAT(error_of(""), HasSubstr("holds no problem"));
  EXPECT_THAT(error_of("[1]"), HasSubstr("not a JSON object"));
  EXPECT_THROW(load_problems("/absent/file"), CaseError);
}

} // namespace
} // namespace mqalab
