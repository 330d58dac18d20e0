#include "fuzz/doctored.hpp"
#include "fuzz/signature.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>

namespace mqalab {
namespace {

using testing::HasSubstr;

constexpr const char* kFourRows =
    R"({"batch": 4, "context_lens": [200, 200, 200, 200], "max_model_len": 200})";
constexpr const char* kAddress =
    R"({"block_size": 16, "context_lens": [64], "max_model_len": 64, "data": {"pattern": "address"}})";

template <class Change> Signature spoilt(const char* json, Change change) {
  Doctored d(json);
  for (int64_t row = 0; row < d.problem.rows(); ++row)
    for (int64_t column = 0; column < d.problem.limit(row); ++column) change(d, row, column);
  return d.verdict().signature;
}

TEST(Pattern, ZerosAreNamed) {
  EXPECT_EQ(spoilt(kFourRows, [](Doctored& d, auto r, auto c) { d.put(r, c, 0); }).pattern, "zero");
}

TEST(Pattern, AConstantPowerOfTwoIsARatio) {
  const auto times = [](float f) {
    return [f](Doctored& d, int64_t r, int64_t c) { d.put(r, c, f * d.right(r, c)); };
  };
  EXPECT_EQ(spoilt(kFourRows, times(2)).pattern, "ratio 2");
  EXPECT_EQ(spoilt(kFourRows, times(4)).pattern, "ratio 4");
  EXPECT_EQ(spoilt(kFourRows, times(0.125f)).pattern, "ratio 1/8");
  EXPECT_EQ(spoilt(kFourRows, times(-1)).pattern, "negated");
}

TEST(Pattern, ARatioThatTheOtherFlavourGivesSaysSo) {
  const auto times = [](float f) {
    return [f](Doctored& d, int64_t r, int64_t c) { d.put(r, c, f * d.right(r, c)); };
  };
  EXPECT_EQ(spoilt(kFourRows, times(0.5f)).pattern, "ratio 1/2, as the other FP8 flavour of q or k gives");
  EXPECT_EQ(spoilt(kFourRows, times(0.25f)).pattern, "ratio 1/4, as the other FP8 flavour of q and k gives");
  const char* fnuz = R"({"fp8": "e4m3fnuz", "context_lens": [200], "max_model_len": 200})";
  EXPECT_EQ(spoilt(fnuz, times(2)).pattern, "ratio 2, as the other FP8 flavour of q or k gives");
  EXPECT_EQ(spoilt(fnuz, times(4)).pattern, "ratio 4, as the other FP8 flavour of q and k gives");
  EXPECT_EQ(spoilt(fnuz, times(0.5f)).pattern, "ratio 1/2");
}

TEST(Pattern, ARatioIsAlsoSeenThroughTheRoundingOfTheNumericLane) {
  const char* numeric = R"({"context_lens": [200], "max_model_len": 200, "data": {"lane": "numeric"}})";
  EXPECT_EQ(spoilt(numeric,
                   [](Doctored& d, auto r, auto c) { d.put(r, c, std::nextafter(2 * d.right(r, c), kInf)); })
                .pattern,
            "ratio 2");
}

TEST(Pattern, PowersOfTwoThatChangeFromCellToCellAreAScale) {
  EXPECT_EQ(spoilt(kFourRows,
                   [](Doctored& d, auto r, auto c) { d.put(r, c, std::ldexp(d.right(r, c), c % 5 - 2)); })
                .pattern,
            "scale");
}

TEST(Pattern, ValuesOfOtherCellsAreDisplaced) {
  EXPECT_EQ(
      spoilt(kFourRows, [](Doctored& d, auto r, auto c) { d.put(r, c, d.right(r, (c + 1) % 200)); }).pattern,
      "displaced column, by +1");
  EXPECT_EQ(spoilt(kFourRows, [](Doctored& d, auto r, auto c) { d.put(r, c, d.right(r ^ 1, c)); }).pattern,
            "displaced row");
}

TEST(Pattern, ColumnsOfAnotherBlockAreNamed) {
  const char* blocks = R"({"block_size": 16, "context_lens": [160], "max_model_len": 160})";
  EXPECT_EQ(
      spoilt(blocks, [](Doctored& d, auto r, auto c) { d.put(r, c, d.right(r, (c * 33) % 160)); }).pattern,
      "displaced column, the same one of another block");
  Doctored d(blocks);
  d.put(0, 17, d.right(0, 2));
  EXPECT_EQ(d.verdict().first_bad.front().note, "equals row 0 column 2 (slot 2 of block 0)");
}

// Of the right values of a row of zeros and ones every one occurs twice: that a wrong one does, too, is
// nothing.
TEST(Pattern, EqualityIsNoEvidenceWhereManyRightValuesAreEqual) {
  const char* few = R"({"context_lens": [64], "max_model_len": 64,
    "block_table": {"mode": "alias", "period": 8}})"; // eight different values
  EXPECT_EQ(spoilt(few, [](Doctored& d, auto r, auto c) { d.put(r, c, d.right(r, (c + 3) % 64)); }).pattern,
            "garbage");
  const char* many = R"({"context_lens": [64], "max_model_len": 64})";
  EXPECT_EQ(spoilt(many, [](Doctored& d, auto r, auto c) { d.put(r, c, d.right(r, (c + 3) % 64)); }).pattern,
            "displaced column, by +3");
}

TEST(Pattern, TheAddressCodeSaysWhichSlotWasRead) {
  Doctored d(kAddress);
  for (int64_t column = 48; column < 64; ++column) d.put(0, column, d.right(0, column - 48));
  const Verdict v = d.verdict();
  EXPECT_EQ(v.signature.pattern, "displaced slot, the same one of another block");
  EXPECT_EQ(v.first_bad.front().note, "slot 0 of block 0 instead of slot 0 of block 3");
}

TEST(Pattern, TheAddressCodeSeesThroughAnotherTokensScale) {
  Doctored d(kAddress);
  d.put(0, 63, d.right(0, 2));
  EXPECT_EQ(d.verdict().first_bad.front().note, "slot 2 of block 0 instead of slot 15 of block 3");
}

TEST(Pattern, TheAddressCodeTellsSlotsFromBlocks) {
  const auto from = [](auto other) {
    return [other](Doctored& d, int64_t r, int64_t c) { d.put(r, c, d.right(r, other(c))); };
  };
  EXPECT_EQ(spoilt(kAddress, from([](int64_t c) { return c / 16 * 16 + (c + 1) % 16; })).pattern,
            "displaced slot, another one of the same block");
  EXPECT_EQ(spoilt(kAddress, from([](int64_t c) { return (c + 17) % 64 / 16 * 16 + (c + 1) % 16; })).pattern,
            "displaced slot, of another block");
}

TEST(Pattern, UntouchedAndStaleCellsAreNamed) {
  EXPECT_EQ(spoilt(kFourRows, [](Doctored& d, auto r, auto c) { d.forget_write(r, c); }).pattern,
            "untouched");
  EXPECT_EQ(spoilt(kFourRows,
                   [](Doctored& d, auto r, auto c) {
                     d.old_salts = {77};
                     d.at(r, c) = sentinel(77, d.element(r, c));
                   })
                .pattern,
            "stale");
}

TEST(Pattern, WritesOutsideAreNamedByWhatTheyHold) {
  const auto touched = [](float what) {
    Doctored d(R"({"context_lens": [3], "max_model_len": 5, "strides": {"logits": 8}})");
    for (int64_t column = 5; column < 8; ++column) d.put(0, column, what);
    return d.verdict().signature.pattern;
  };
  EXPECT_EQ(touched(-kInf), "-inf where nothing");
  EXPECT_EQ(touched(0.7f), "value where nothing");
}

TEST(Pattern, ClassesAreNamedAsGotWhereExpected) {
  EXPECT_EQ(spoilt(kFourRows, [](Doctored& d, auto r, auto c) { d.put(r, c, -kInf); }).pattern,
            "-inf where value");
  EXPECT_EQ(spoilt(kFourRows, [](Doctored& d, auto r, auto c) { d.put(r, c, kNan); }).pattern,
            "NaN where value");
  Doctored d(R"({"context_lens": [1], "max_model_len": 2, "tail": "neg_inf"})");
  d.put(0, 1, 3);
  EXPECT_EQ(d.verdict().signature.pattern, "value where -inf");
}

TEST(Pattern, RoundingToFewerBitsIsSmallAndNoiseIsGarbage) {
  EXPECT_EQ(
      spoilt(kFourRows, [](Doctored& d, auto r, auto c) { d.put(r, c, d.right(r, c) * 1.003f); }).pattern,
      "small numeric");
  EXPECT_EQ(spoilt(kFourRows, [](Doctored& d, auto r,
                                 auto c) { d.put(r, c, 12345.678f + static_cast<float>(r + 7 * c)); })
                .pattern,
            "garbage");
}

TEST(Pattern, SmallErrorsOfTheNumericLaneAreSplitAtEightBounds) {
  const char* numeric = R"({"context_lens": [200], "max_model_len": 200, "data": {"lane": "numeric"}})";
  const auto beside = [](double bounds) {
    return [bounds](Doctored& d, int64_t r, int64_t c) {
      d.put(r, c, static_cast<float>(d.rows[r].value[c] + bounds * d.rows[r].bound[c]));
    };
  };
  EXPECT_EQ(spoilt(numeric, beside(3)).pattern, "small numeric, up to 8 bounds");
  EXPECT_EQ(spoilt(numeric, beside(20)).pattern, "small numeric, above 8 bounds");
  EXPECT_EQ(spoilt(numeric, beside(1e6)).pattern, "garbage");
}

Region region(const char* json, const std::vector<std::pair<int64_t, int64_t>>& cells, int32_t splits = 1) {
  const Doctored d(json);
  std::vector<Deviation> bad;
  for (const auto& [row, column] : cells) bad.push_back({VerdictClass::value, row, column, 0, 1, 0, true});
  return region_of(d.problem, 64, bad, splits);
}

std::vector<std::pair<int64_t, int64_t>> block(int64_t row_begin, int64_t row_end, int64_t column_begin,
                                               int64_t column_end) {
  std::vector<std::pair<int64_t, int64_t>> cells;
  for (int64_t row = row_begin; row < row_end; ++row)
    for (int64_t column = column_begin; column < column_end; ++column) cells.emplace_back(row, column);
  return cells;
}

TEST(Region, NamesWhereTheBadCellsLie) {
  EXPECT_EQ(region(kFourRows, block(0, 4, 0, 200)).name, "all");
  EXPECT_EQ(region(kFourRows, block(2, 4, 0, 200)).name, "rows from");
  EXPECT_EQ(region(kFourRows, block(2, 4, 0, 200)).detail, "rows from 2");
  EXPECT_EQ(region(kFourRows, block(0, 4, 100, 200)).name, "columns from");
  EXPECT_EQ(region(kFourRows, block(0, 4, 192, 200)).name, "last chunk");
  EXPECT_EQ(region(kFourRows, block(0, 4, 199, 200)).name, "last column");
  EXPECT_EQ(region(kFourRows, block(1, 2, 0, 120)).name, "one row");
  EXPECT_EQ(region(kFourRows, block(0, 4, 7, 8)).name, "one column");
  EXPECT_EQ(region(kFourRows, {{1, 7}}).name, "single");
  EXPECT_EQ(region(kFourRows, {{0, 3}, {2, 77}, {3, 20}}).name, "scattered");
}

std::vector<std::pair<int64_t, int64_t>> every(int64_t period, std::vector<int64_t> residues, int64_t rows,
                                               int64_t columns) {
  std::vector<std::pair<int64_t, int64_t>> cells;
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < columns; ++column)
      if (std::ranges::count(residues, column % period)) cells.emplace_back(row, column);
  return cells;
}

TEST(Region, ColumnsThatComeAgainAreNamedWithTheirPeriod) {
  const Region one = region(kFourRows, every(16, {3}, 4, 200));
  EXPECT_EQ(one.name, "periodic");
  EXPECT_THAT(one.detail, HasSubstr("columns c with c mod 16 in {3}"));
  EXPECT_THAT(region(kFourRows, every(64, {0, 1, 2, 3}, 1, 200)).detail,
              HasSubstr("c mod 64 in {0, 1, 2, 3}"));
  EXPECT_THAT(region(kFourRows, every(4, {1}, 4, 200)).detail, HasSubstr("c mod 4 in {1}"));
  const char* blocks = R"({"block_size": 48, "context_lens": [192], "max_model_len": 192})";
  EXPECT_THAT(region(blocks, every(48, {47}, 1, 192)).detail, HasSubstr("c mod 48 in {47}"));
  EXPECT_NE(region(kFourRows, every(128, {5}, 4, 200)).name, "periodic") << "seen only twice";
}

TEST(Region, TheLastChunkOfEachSplitIsNamed) {
  // Six chunks of 64 on two splits: chunks 0 to 2 and 3 to 5.
  const char* row = R"({"context_lens": [384], "max_model_len": 384})";
  auto cells = block(0, 1, 150, 192), second = block(0, 1, 340, 384);
  EXPECT_EQ(region(row, second, 2).name, "last chunk");
  cells.insert(cells.end(), second.begin(), second.end());
  EXPECT_EQ(region(row, cells, 2).name, "split tail");
  EXPECT_THAT(region(row, cells, 2).detail, HasSubstr("the last chunk of 64 tokens of each of 2 splits"));
  EXPECT_NE(region(row, cells, 3).name, "split tail");
  EXPECT_NE(region(row, cells, 6).name, "split tail") << "every chunk ends a split";
}

TEST(Region, ColumnsBehindTheLimitAndBehindTheLastColumnAreNamed) {
  const char* wide = R"({"context_lens": [3], "max_model_len": 5, "strides": {"logits": 8}})";
  EXPECT_EQ(region(wide, {{0, 3}, {0, 4}}).name, "tail");
  EXPECT_EQ(region(wide, {{0, 6}}).name, "row padding");
}

TEST(Region, HalfTheCellsRightByChanceDoNotBreakIt) {
  std::vector<std::pair<int64_t, int64_t>> cells;
  for (const auto& cell : block(2, 4, 0, 200))
    if (cell.second % 2 == 0) cells.push_back(cell);
  EXPECT_EQ(region(kFourRows, cells).name, "rows from");
}

TEST(Signature, RegionsDoNotDecideWhetherTwoFindingsAreOneBug) {
  const Signature large{VerdictClass::untouched, "untouched", "rows from"},
      small{VerdictClass::untouched, "untouched", "single"};
  EXPECT_TRUE(same_bug(large, small));
  EXPECT_FALSE(same_bug(large, {VerdictClass::stale, "untouched", "rows from"}));
  EXPECT_FALSE(same_bug(large, {VerdictClass::untouched, "zero", "rows from"}));
  EXPECT_EQ(large.text(), "untouched / untouched / rows from");
}

TEST(Signature, WhatExplainsAPatternAndTheConfigurationDoNotDecideEither) {
  const Signature a{VerdictClass::value, "displaced column, by +64", "all", "staged, one split, chunk 64"};
  EXPECT_TRUE(same_bug(a, {VerdictClass::value, "displaced column", "all", ""}));
  EXPECT_TRUE(
      same_bug(a, {VerdictClass::value, "displaced column, by -3", "all", "direct, one split, chunk 64"}));
  EXPECT_FALSE(same_bug(a, {VerdictClass::value, "displaced row", "all", ""}));
  EXPECT_EQ(a.text(), "value / displaced column, by +64 / all / staged, one split, chunk 64");
}

TEST(Signature, TheConfigurationClassHasVariantSplitsAndChunk) {
  EXPECT_EQ(configuration_class({MQA_VARIANT_STAGED, 64, 1, 2}), "staged, one split, chunk 64");
  EXPECT_EQ(configuration_class({MQA_VARIANT_GENERAL, 192, 7, 0}), "general, several splits, chunk 256");
  EXPECT_EQ(configuration_class({MQA_VARIANT_DIRECT, 1024, 2, 1}), "direct, several splits, chunk above 256");
  EXPECT_EQ(configuration_class({0, 0, 0, 0}), "") << "nothing was launched";
}

TEST(Signature, AVerdictKeepsItAsJson) {
  Verdict v;
  v.verdict = VerdictClass::value;
  v.signature = {VerdictClass::value, "ratio 2", "all", "staged, one split, chunk 64"};
  EXPECT_EQ(verdict_from_json(to_json(v)).signature, v.signature);
}

TEST(Signature, TheMessageHasCellExpectationAndPlace) {
  Doctored d(kFourRows);
  d.put(3, 50, d.right(3, 50) + 1);
  EXPECT_THAT(d.verdict().message, HasSubstr("value: 1 of 800 cells are wrong"));
  EXPECT_THAT(d.verdict().message, HasSubstr("row 3 column 50"));
}

constexpr const char* kAddressRows =
    R"({"op": "prefill_mqa_logits", "next_n": 2, "lens_per_row": true, "starts": [10, 3],
    "context_lens": [40, 30], "max_model_len": 60, "data": {"pattern": "address"}})";

TEST(Signature, TheAddressCodeNamesTheKeyOfAPrefill) {
  Doctored d(kAddressRows);
  for (int64_t column = 10; column < 40; ++column)
    d.put(0, column, d.right(0, column == 39 ? 10 : column + 1));
  const Verdict v = d.verdict();
  EXPECT_EQ(v.signature.pattern, "displaced slot");
  EXPECT_THAT(v.message, HasSubstr("key 11 instead of key 10"));
}

TEST(Signature, ThePlaneOfAnotherHeadIsFound) {
  Doctored d(
      R"({"op": "per_head_mqa_logits", "heads": 8, "context_lens": [40], "max_model_len": 40, "data": {"pattern": "positive"}})");
  const std::vector<uint32_t> right = d.cells;
  for (int64_t column = 0; column < 40; ++column) d.at(2, column) = right[3 * 40 + column];
  const Verdict v = d.verdict();
  EXPECT_EQ(v.signature.pattern, "displaced head");
  EXPECT_THAT(v.message, HasSubstr("equals head 3 row 0"));
}

TEST(Region, NamesPlanes) {
  const char* planes =
      R"({"op": "per_head_mqa_logits", "heads": 4, "next_n": 3, "context_lens": [202], "max_model_len": 200})";
  EXPECT_EQ(region(planes, block(3, 6, 7, 77)).name, "one head");
  EXPECT_THAT(region(planes, block(3, 6, 7, 77)).detail, HasSubstr("head 1 row 0 to head 1 row 2"));
  EXPECT_EQ(region(planes, block(6, 12, 0, 200)).name, "rows from");
  EXPECT_EQ(region(planes, block(0, 12, 0, 200)).name, "all");
}

TEST(Region, NamesAllWhereRowsStartLate) {
  const char* late = R"({"op": "prefill_mqa_logits", "next_n": 2, "lens_per_row": true, "starts": [10, 3],
    "context_lens": [40, 30], "max_model_len": 60})";
  std::vector<std::pair<int64_t, int64_t>> cells = block(0, 1, 10, 40), second = block(1, 2, 3, 30);
  cells.insert(cells.end(), second.begin(), second.end());
  EXPECT_EQ(region(late, cells).name, "all");
}

} // namespace
} // namespace mqalab
