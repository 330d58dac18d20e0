// Judging bytes without a device: which class, which pattern, which cell.
#include "fuzz/exact_bytes.hpp"

#include "fuzz/sentinel.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

namespace mqalab {
namespace {

using testing::HasSubstr;

constexpr uint64_t kSalt = 11, kOldSalt = 5;

// Two rows of 16 codes, 18 bytes apart.
Problem two_rows() {
  Problem p;
  p.op = Operation::cache_gather;
  p.head_dim = 16, p.keys_stride = 18, p.key_scales_stride = 1;
  return p;
}
ByteOutput two_keys() {
  ByteOutput out{"keys", {}, watched_bytes(36, {})};
  for (int64_t row = 0; row < 2; ++row) {
    DueBytes due{18 * row, row, 0, 16, {}};
    for (size_t d = 0; d < 16; ++d) due.bytes[d] = uint8_t(0x20 + 16 * row + 3 * d);
    out.due.push_back(due);
  }
  return out;
}

struct Image {
  std::vector<uint32_t> words;
  explicit Image(const ByteOutput& output, bool written = true) {
    for (const Window& w : output.windows)
      for (int64_t e = w.begin; e < w.end; ++e) words.push_back(sentinel(kSalt, e));
    for (const DueBytes& due : output.due)
      for (int32_t i = 0; written && i < due.count; ++i) bytes()[due.offset_bytes + i] = due.bytes[size_t(i)];
  }
  uint8_t* bytes() { return reinterpret_cast<uint8_t*>(words.data()); }
  ByteJudgement judged(const ByteOutput& output) const {
    const uint64_t old[] = {kOldSalt};
    return judge_bytes(output, {words, kSalt, old});
  }
};

TEST(ExactBytes, WhatTheReferenceSaysIsOk) {
  const ByteOutput output = two_keys();
  const ByteJudgement j = Image(output).judged(output);
  EXPECT_EQ(j.verdict, VerdictClass::ok);
  EXPECT_EQ(j.bytes_bad, 0);
  EXPECT_EQ(j.bytes_checked, 36);
}
TEST(ExactBytes, TheFirstPrefillIsUntouchedAnEarlierOneStale) {
  const ByteOutput output = two_keys();
  EXPECT_EQ(Image(output, false).judged(output).verdict, VerdictClass::untouched);
  Image stale(output);
  stale.words[1] = sentinel(kOldSalt, 1);
  EXPECT_EQ(stale.judged(output).verdict, VerdictClass::stale);
}
TEST(ExactBytes, AWordSharedByTwoRowsAndPaddingIsJudgedByteByByte) {
  const ByteOutput output = two_keys(); // word 4: padding in bytes 16 and 17, the second row from byte 18 on
  for (const int64_t byte : {16, 17, 34, 35}) {
    Image image(output);
    image.bytes()[byte] ^= 1;
    const ByteJudgement j = image.judged(output);
    EXPECT_EQ(j.verdict, VerdictClass::touched) << byte;
    ASSERT_EQ(j.bad.size(), 1u);
    EXPECT_EQ(j.bad[0].offset_bytes, byte);
  }
  Image image(output);
  image.bytes()[18] ^= 1;
  EXPECT_EQ(image.judged(output).verdict, VerdictClass::value);
}
TEST(ExactBytes, OneByteThatHoldsThePrefillByChanceIsAValue) {
  const ByteOutput output = two_keys();
  Image image(output);
  image.bytes()[1] = uint8_t(sentinel(kSalt, 0) >> 8);
  EXPECT_EQ(image.judged(output).verdict, VerdictClass::value);
}
TEST(ExactBytes, ALargeOutputIsWatchedAroundItsRangesAndWhereTheyWouldLand) {
  constexpr int64_t k2GiB = int64_t{1} << 31;
  const ByteRange far[] = {{k2GiB + 4096, k2GiB + 8192}};
  const std::vector<Window> windows = watched_bytes(2 * k2GiB, far);
  const auto watches = [&](int64_t byte) {
    return std::any_of(windows.begin(), windows.end(),
                       [&](const Window& w) { return byte / 4 >= w.begin && byte / 4 < w.end; });
  };
  for (const int64_t byte :
       {int64_t{0}, int64_t{4096}, int64_t{8191}, k2GiB + 4095, k2GiB + 8191, k2GiB + 8192 + 255})
    EXPECT_TRUE(watches(byte)) << byte;
  EXPECT_FALSE(watches(2048));
  EXPECT_FALSE(watches(k2GiB + 20000));
}

std::string pattern_after(void (*spoil)(Image&)) {
  const ByteOutput output = two_keys();
  Image image(output);
  spoil(image);
  return explain_bytes(two_rows(), output, image.judged(output)).signature.pattern;
}
TEST(ExactBytesSignature, NamesWhatWasDone) {
  EXPECT_EQ(pattern_after([](Image& i) { std::memset(i.bytes(), 0, 16); }), "zero");
  EXPECT_EQ(pattern_after([](Image& i) { std::memcpy(i.bytes(), i.bytes() + 18, 16); }), "displaced");
  EXPECT_EQ(pattern_after([](Image& i) { i.bytes()[3] += 1; }), "neighbouring code");
  EXPECT_EQ(pattern_after([](Image& i) { i.bytes()[3] ^= 0x80; }), "value byte");
  EXPECT_EQ(pattern_after([](Image& i) { i.bytes()[17] ^= 0xff; }), "written");
}

TEST(ExactBytesSignature, SaysWhoseBytesADisplacedRowHolds) {
  const ByteOutput output = two_keys();
  Image image(output);
  std::memcpy(image.bytes(), image.bytes() + 18, 16);
  const Verdict v = explain_bytes(two_rows(), output, image.judged(output));
  EXPECT_THAT(v.first_bad.front().note, HasSubstr("holds what is due at token 1 dim "));
}
TEST(ExactBytesSignature, NamesTheRatioThatTheOtherFlavourGives) {
  const ByteOutput output = two_keys();
  Image image(output);
  for (int i = 0; i < 16; ++i) image.bytes()[i] -= 8;
  EXPECT_EQ(explain_bytes(two_rows(), output, image.judged(output)).signature.pattern,
            "ratio 1/2, as the other FP8 flavour gives");
}

// One scale, of row 0.
ByteOutput one_scale(float scale) {
  ByteOutput out{"scales", {{0, 0, 16, 4, {}}}, watched_bytes(8, {})};
  std::memcpy(out.due[0].bytes.data(), &scale, 4);
  return out;
}
TEST(ExactBytesSignature, NamesTheRatioOfAScale) {
  const ByteOutput output = one_scale(0.75f);
  for (const auto& [got, pattern] :
       {std::pair{1.5f, "scale ratio 2"}, {0.1875f, "scale ratio 1/4"}, {0.7f, "scale"}}) {
    Image image(output);
    std::memcpy(image.bytes(), &got, 4);
    const Verdict v = explain_bytes(two_rows(), output, image.judged(output));
    EXPECT_EQ(v.signature.pattern, pattern);
    EXPECT_EQ(v.signature.region, "scales");
    ASSERT_EQ(v.first_bad.size(), 1u) << "its four bytes are one cell";
    EXPECT_EQ(v.first_bad[0].column, 16);
    EXPECT_EQ(v.first_bad[0].where, "token 0 scale");
    EXPECT_EQ(v.first_bad[0].got, got);
    EXPECT_EQ(v.first_bad[0].expected, 0.75);
  }
}
TEST(ExactBytesSignature, SaysWhereAByteOfTheCacheIsThatNobodyOwns) {
  Problem p;
  p.op = Operation::cache_write;
  p.head_dim = 16, p.block_size = 16, p.kv_block_stride_bytes = 16 * 20 + 8;
  const ByteOutput output{"kv_cache", {}, watched_bytes(2 * 328, {})};
  for (const auto& [byte, region] : {std::pair{328 + 5, "another slot"}, {328 + 323, "padding"}}) {
    Image image(output);
    image.bytes()[byte] ^= 1;
    const Verdict v = explain_bytes(p, output, image.judged(output));
    EXPECT_EQ(v.signature.region, region);
    EXPECT_THAT(v.message, HasSubstr(fmt::format("First: block 1 byte {}, expected no write", byte - 328)));
    EXPECT_EQ(v.first_bad[0].column, byte - 328);
  }
}

} // namespace
} // namespace mqalab
