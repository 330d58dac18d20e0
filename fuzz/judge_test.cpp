#include "fuzz/doctored.hpp"

#include <gmock/gmock.h>

namespace mqalab {
namespace {

using testing::HasSubstr;

// Two rows of 5 columns in a stride of 8; the rows see 3 and 4 columns.
constexpr const char* kSmall =
    R"({"next_n": 2, "context_lens": [4], "max_model_len": 5, "strides": {"logits": 8}})";
constexpr const char* kFilledTail =
    R"({"next_n": 2, "context_lens": [4], "max_model_len": 5, "tail": "neg_inf", "strides": {"logits": 8}})";

TEST(Judge, ARightOutputIsOkAndEveryCellWasLookedAt) {
  for (const char* json : {kSmall, kFilledTail}) {
    const Doctored d(json);
    const Verdict v = d.verdict();
    EXPECT_EQ(v.verdict, VerdictClass::ok) << v.message;
    EXPECT_EQ(v.cells_checked, 16);
    EXPECT_EQ(v.cells_bad, 0);
  }
}

TEST(Judge, AnyBitOfAnyCellIsSeen) {
  for (const char* json : {kSmall, kFilledTail}) {
    Doctored d(json);
    for (size_t cell = 0; cell < d.cells.size(); ++cell)
      for (int bit = 0; bit < 31; ++bit) { // the sign of a zero is free, so not bit 31
        d.cells[cell] ^= 1u << bit;
        EXPECT_NE(d.verdict().verdict, VerdictClass::ok) << "cell " << cell << " bit " << bit;
        d.cells[cell] ^= 1u << bit;
      }
  }
}

TEST(Judge, APromisedCellThatHoldsThePrefillIsUntouched) {
  Doctored d(kSmall);
  d.forget_write(1, 3);
  const Verdict v = d.verdict();
  EXPECT_EQ(v.verdict, VerdictClass::untouched);
  ASSERT_EQ(v.first_bad.size(), 1u);
  EXPECT_EQ(v.first_bad[0].row, 1);
  EXPECT_EQ(v.first_bad[0].column, 3);
  EXPECT_EQ(v.first_bad[0].expected, d.rows[1].value[3]);
}

TEST(Judge, ATailCellThatWasForgottenIsUntouched) {
  Doctored d(kFilledTail);
  d.forget_write(0, 4);
  EXPECT_EQ(d.verdict().verdict, VerdictClass::untouched);
}

TEST(Judge, ThePrefillOfAnEarlierLaunchIsStale) {
  Doctored d(kSmall);
  d.old_salts = {77, 78};
  d.at(0, 1) = sentinel(78, d.element(0, 1));
  EXPECT_EQ(d.verdict().verdict, VerdictClass::stale);
}

TEST(Judge, AWriteIntoATailThatMustStayOrIntoRowPaddingIsTouched) {
  for (const auto [row, column] : {std::pair{0, 3}, std::pair{1, 4}, std::pair{0, 5}, std::pair{1, 7}}) {
    Doctored d(kSmall);
    d.put(row, column, -kInf);
    const Verdict v = d.verdict();
    EXPECT_EQ(v.verdict, VerdictClass::touched) << row << " " << column;
    EXPECT_EQ(v.signature.pattern, "-inf where nothing");
  }
}

// Two rows per plane, three planes; the last row's padding is cut short by the next plane.
constexpr const char* kPlanes =
    R"({"op": "per_head_mqa_logits", "heads": 3, "next_n": 2, "context_lens": [4], "max_model_len": 5,
    "strides": {"logits": 8, "logits_head": 14}})";
constexpr const char* kFarPlanes =
    R"({"op": "per_head_mqa_logits", "heads": 2, "context_lens": [4], "max_model_len": 5, "tail": "neg_inf",
    "strides": {"logits": 8, "logits_head": 20}})";
// Columns [0, 3), [2, 5), none, and [5, 5): cut at the columns.
constexpr const char* kStarts =
    R"({"op": "prefill_mqa_logits", "next_n": 4, "lens_per_row": true, "starts": [-3, 2, 4, 9],
    "context_lens": [3, 9, 4, 12], "max_model_len": 5, "num_blocks": 12, "strides": {"logits": 8}})";
constexpr const char* kFilledStarts =
    R"({"op": "prefill_mqa_logits", "next_n": 4, "lens_per_row": true, "starts": [-3, 2, 4, 9],
    "context_lens": [3, 9, 4, 12], "max_model_len": 5, "num_blocks": 12, "tail": "neg_inf", "strides": {"logits": 8}})";
constexpr const char* kRaggedRows =
    R"({"op": "ragged_mqa_logits", "batch": 2, "context_lens": [3, 9], "max_model_len": 5})";
constexpr const char* kSum =
    R"({"op": "per_head_sum", "next_n": 2, "context_lens": [4], "max_model_len": 5, "tail": "neg_inf"})";

TEST(Judge, ARightOutputOfEveryOperationIsOkAndAnyBitOfAnyCellIsSeen) {
  for (const auto& [json, cells] : {std::pair{kPlanes, 44},
                                    {kFarPlanes, 28},
                                    {kStarts, 32},
                                    {kFilledStarts, 32},
                                    {kRaggedRows, 10},
                                    {kSum, 10}}) {
    Doctored d(json);
    const Verdict right = d.verdict();
    EXPECT_EQ(right.verdict, VerdictClass::ok) << json << right.message;
    EXPECT_EQ(right.cells_checked, cells) << json;
    for (size_t cell = 0; cell < d.cells.size(); ++cell)
      for (int bit = 0; bit < 31; bit += 3) {
        d.cells[cell] ^= 1u << bit;
        EXPECT_NE(d.verdict().verdict, VerdictClass::ok) << json << " cell " << cell << " bit " << bit;
        d.cells[cell] ^= 1u << bit;
      }
  }
}

TEST(Judge, ACellOfAPlaneIsNamedByHeadAndRow) {
  Doctored d(kPlanes);
  d.forget_write(2 * 2 + 1, 3);
  const Verdict v = d.verdict();
  EXPECT_EQ(v.verdict, VerdictClass::untouched);
  EXPECT_EQ(v.first_bad[0].row, 5);
  EXPECT_THAT(v.message, HasSubstr("head 2 row 1 column 3"));
}

TEST(Judge, TheGapBetweenPlanesMustStayAsItWas) {
  Doctored d(kFarPlanes);
  d.cells[15] = 0;
  const Verdict v = d.verdict();
  EXPECT_EQ(v.verdict, VerdictClass::touched);
  EXPECT_EQ(v.first_bad[0].row, 0);
  EXPECT_EQ(v.first_bad[0].column, 15);
  EXPECT_EQ(v.signature.region, "row padding");
}

TEST(Judge, ColumnsBeforeTheStartAreTailOrStayAsTheyWere) {
  Doctored untouched(kStarts), filled(kFilledStarts);
  untouched.put(1, 1, 0);
  EXPECT_EQ(untouched.verdict().verdict, VerdictClass::touched);
  EXPECT_EQ(untouched.verdict().signature.region, "before the start");
  filled.forget_write(1, 1);
  EXPECT_EQ(filled.verdict().verdict, VerdictClass::untouched);
  filled.put(1, 1, 0);
  EXPECT_EQ(filled.verdict().signature.pattern, "value where -inf");
}

TEST(Judge, ANanIsNeverANumberThatIsCloseEnough) {
  Doctored d(R"({"context_lens": [8], "max_model_len": 8, "data": {"lane": "numeric"}})");
  d.put(0, 2, kNan);
  EXPECT_EQ(d.verdict().verdict, VerdictClass::wrong_class);
  d.put(0, 2, kInf);
  EXPECT_EQ(d.verdict().verdict, VerdictClass::wrong_class);
}

TEST(Judge, ABadBlockIdWantsNanAndNothingElse) {
  Doctored d(R"({"context_lens": [2], "max_model_len": 2, "block_table": {"set": [[0, 1, -1]]}})");
  d.at(0, 1) = 0x7fc00000u;
  EXPECT_EQ(d.verdict().verdict, VerdictClass::ok);
  d.put(0, 1, 0);
  EXPECT_EQ(d.verdict().verdict, VerdictClass::wrong_class);
  d.forget_write(0, 1);
  EXPECT_EQ(d.verdict().verdict, VerdictClass::untouched) << "a prefill is a NaN, but not a written one";
}

TEST(Judge, TheNumericLaneSparesTheBoundAndNotMore) {
  Doctored d(R"({"context_lens": [8], "max_model_len": 8, "data": {"lane": "numeric"}})");
  const double value = d.rows[0].value[3], bound = d.rows[0].bound[3];
  d.put(0, 3, static_cast<float>(value + 0.9 * bound));
  Verdict v = d.verdict();
  EXPECT_EQ(v.verdict, VerdictClass::ok) << v.message;
  EXPECT_NEAR(v.worst_error_ratio, 0.9, 0.05);
  d.put(0, 3, static_cast<float>(value + 3 * bound));
  v = d.verdict();
  EXPECT_EQ(v.verdict, VerdictClass::value);
  EXPECT_EQ(v.signature.pattern, "small numeric, up to 8 bounds");
}

TEST(Judge, TheSignOfZeroIsFree) {
  Doctored d(R"({"context_lens": [64], "max_model_len": 64, "data": {"pattern": "one_token"}})");
  int64_t zero = 0;
  while (zero < 64 && d.right(0, zero) != 0) ++zero;
  ASSERT_LT(zero, 64);
  d.put(0, zero, -0.0f);
  EXPECT_EQ(d.verdict().verdict, VerdictClass::ok);
}

TEST(Judge, TheWrittenSetIsAskedBeforeNumbers) {
  Doctored d(kSmall);
  d.put(0, 0, d.right(0, 0) + 1);
  d.put(0, 6, 1);
  EXPECT_EQ(d.verdict().verdict, VerdictClass::touched);
  d.forget_write(1, 0);
  EXPECT_EQ(d.verdict().verdict, VerdictClass::untouched);
  EXPECT_EQ(d.verdict().cells_bad, 3);
}

TEST(Judge, AtMostEightCellsAreShown) {
  Doctored d(R"({"context_lens": [64], "max_model_len": 64})");
  for (int64_t column = 0; column < 64; ++column) d.forget_write(0, column);
  EXPECT_EQ(d.verdict().first_bad.size(), 8u);
  EXPECT_EQ(d.verdict().cells_bad, 64);
}

TEST(Differences, EqualLaunchesWithDifferentPrefillsAgree) {
  const Doctored d(kSmall);
  const std::vector<uint32_t> second = d.right_output(2);
  EXPECT_TRUE(differences(d.problem, d.output(), {d.watch, second, 2, {}}).empty());
}

TEST(Differences, AChangedBitAMissingWriteAndAnExtraWriteAreSeen) {
  const Doctored d(kSmall);
  std::vector<uint32_t> second = d.right_output(2);
  second[0] ^= 1;
  second[1] = sentinel(2, 1);
  second[6] = 0x3f800000u;
  const auto found = differences(d.problem, d.output(), {d.watch, second, 2, {}});
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0].column, 0);
  EXPECT_EQ(found[1].column, 1);
  EXPECT_EQ(found[2].column, 6);
}

TEST(Differences, ACellThatCopiesTheFirstPrefillIsSeen) {
  const Doctored d(kSmall);
  std::vector<uint32_t> second = d.right_output(2);
  second[7] = sentinel(d.salt, 7);
  EXPECT_EQ(differences(d.problem, d.output(), {d.watch, second, 2, {}}).size(), 1u);
}

TEST(Sentinel, AvoidsThePayloadsThatHardwareMakesAndDiffersByCellAndSalt) {
  int equal = 0;
  for (int64_t e = 0; e < 200000; ++e) {
    const uint32_t s = sentinel(5, e) & 0x7fffffffu;
    ASSERT_GT(s, 0x7fc00000u);
    ASSERT_LT(s, 0x7fffffffu);
    equal += sentinel(5, e) == sentinel(6, e);
    equal += sentinel(5, e) == sentinel(5, e + (int64_t{1} << 32));
  }
  EXPECT_LT(equal, 5);
}

TEST(Watch, ASmallBufferIsWatchedWhole) {
  const Watch w(Doctored(kSmall).problem);
  ASSERT_EQ(w.windows.size(), 1u);
  EXPECT_EQ(w.cells, 16);
}

TEST(Watch, RowsFarApartAreWatchedWithTheirNeighbourhoodAndTheirLandingPlaces) {
  Problem p;
  p.batch = 3, p.context_lens = {1, 1, 1}, p.max_model_len = 4, p.logits_stride = (int64_t{1} << 30) + 1000;
  const Watch w(p);
  EXPECT_LT(w.cells, 1500);
  const int64_t row = p.logits_stride;
  for (const int64_t seen :
       {int64_t{0}, int64_t{67}, row - 64, row, row + 67, 2 * row + 67, int64_t{1000}, int64_t{2000}})
    EXPECT_GE(w.cell_of(seen), 0) << seen;
  EXPECT_EQ(w.cell_of(500), -1);
  EXPECT_EQ(w.cell_of(row + 68), -1);
}

TEST(Watch, PlanesFarApartAreWatchedWhereACutPlaneOffsetLands) {
  Problem p;
  p.op = Operation::per_head_logits, p.heads = 3, p.batch = 2, p.context_lens = {1, 1}, p.max_model_len = 4;
  p.logits_stride = 5000, p.logits_stride_head = (int64_t{1} << 30) + 1000;
  const Watch w(p);
  EXPECT_LT(w.cells, 3000);
  for (const int64_t seen : {int64_t{0}, p.logits_stride_head, 2 * p.logits_stride_head + 5000 + 67,
                             int64_t{1000}, int64_t{6000}, int64_t{2000}, int64_t{7000}})
    EXPECT_GE(w.cell_of(seen), 0) << seen;
  EXPECT_EQ(w.cell_of(p.logits_stride_head + 3000), -1);
}

TEST(Verdict, JsonHoldsNumbersThatJsonCannot) {
  Doctored d(kFilledTail);
  d.put(0, 4, kNan);
  const std::string json = to_json(d.verdict());
  EXPECT_THAT(json, HasSubstr("\"verdict\": \"class\""));
  EXPECT_THAT(json, HasSubstr("\"expected\": \"-inf\""));
  EXPECT_THAT(json, HasSubstr("\"got\": \"nan\""));
  EXPECT_THAT(json, HasSubstr("\"got_bits\": \"0x7fc00000\""));
}

TEST(Verdict, OnlyWrongKernelsAreFindings) {
  for (const VerdictClass v : {VerdictClass::ok, VerdictClass::rejected, VerdictClass::none})
    EXPECT_FALSE(is_finding(v));
  for (const VerdictClass v : {VerdictClass::untouched, VerdictClass::guard, VerdictClass::read,
                               VerdictClass::hang, VerdictClass::fault, VerdictClass::unstable})
    EXPECT_TRUE(is_finding(v));
}

} // namespace
} // namespace mqalab
