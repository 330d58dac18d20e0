#include "fuzz/nearest.hpp"

#include <gtest/gtest.h>

#include <array>

namespace mqalab {
namespace {

TEST(Nearest, CountsInsertionsDeletionsAndSubstitutions) {
  EXPECT_EQ(edit_distance("", ""), 0u);
  EXPECT_EQ(edit_distance("abc", ""), 3u);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
}

TEST(Nearest, FindsTheWordMeantAndNothingForAStranger) {
  const std::array<std::string_view, 3> known{"heads", "head_dim", "batch"};
  EXPECT_EQ(nearest("head", known), "heads");
  EXPECT_EQ(nearest("headdim", known), "head_dim");
  EXPECT_EQ(nearest("zzzzzz", known), "");
}

TEST(Nearest, ListsWordsAsASentenceDoes) {
  EXPECT_EQ(listed(std::array<std::string_view, 1>{"a"}), "a");
  EXPECT_EQ(listed(std::array<std::string_view, 3>{"a", "b", "c"}), "a, b or c");
}

} // namespace
} // namespace mqalab
