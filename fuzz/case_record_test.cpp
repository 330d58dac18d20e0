#include "fuzz/case_samples.hpp"

#include <gmock/gmock.h>

namespace mqalab {
namespace {

using testing::ElementsAre;

TEST(CaseRecord, SmallestCaseIsTheMagicAlone) { EXPECT_THAT(encode(Case{}), ElementsAre('M', 'Q', 'C', 1)); }

TEST(CaseRecord, AFieldThatDiffersIsOneTagAndOneNumber) {
  Case c;
  c.shape.batch = 2;
  c.shape.context_lens = {1, 1};
  EXPECT_THAT(encode(c), ElementsAre('M', 'Q', 'C', 1, 2, 4));
}

TEST(CaseRecord, EqualLengthsAreOneRun) {
  Case c;
  c.shape.batch = 100;
  c.shape.context_lens.assign(100, 33);
  EXPECT_EQ(encode(c).size(), 4u + 3 + 4);
}

TEST(CaseRecord, AnOperationAndItsStartsAreTagsOfTheirOwn) {
  Case c;
  c.op = Operation::prefill_logits;
  c.shape.starts = {3, 3, 3};
  EXPECT_THAT(encode(c), ElementsAre('M', 'Q', 'C', 1, 11, 5, 20, 6, 21, 2));
}

TEST(CaseRecord, EveryCaseComesBackEqual) {
  CaseSampler sampler(1);
  for (int i = 0; i < 20000; ++i) {
    const Case c = sampler.any();
    ASSERT_TRUE(decode(encode(c)) == c) << "sample " << i << ": " << to_json(c);
  }
}

TEST(CaseRecord, AnyBytesDecodeAndAreStableFromThereOn) {
  std::mt19937_64 random(2);
  for (int i = 0; i < 20000; ++i) {
    std::vector<uint8_t> bytes(random() % 80);
    for (uint8_t& b : bytes) b = static_cast<uint8_t>(random() % 3 ? random() % 104 : random());
    if (random() % 8) bytes.insert(bytes.begin(), {'M', 'Q', 'C', 1});
    const Case c = decode(bytes);
    ASSERT_TRUE(record_holds(c));
    const std::vector<uint8_t> canonical = encode(c);
    ASSERT_TRUE(decode(canonical) == c) << "sample " << i;
    ASSERT_EQ(encode(decode(canonical)), canonical) << "sample " << i;
  }
}

TEST(CaseRecord, ATagOfALaterVersionIsSkipped) {
  std::vector<uint8_t> bytes = encode(Case{});
  for (uint8_t b : {0x90, 0x4e, 0x85, 0x01, 2, 6}) bytes.push_back(b); // tag 10000, then batch 3
  EXPECT_EQ(decode(bytes).shape.batch, 3);
}

TEST(CaseRecord, ANumberTooLargeForItsFieldSaturates) {
  std::vector<uint8_t> bytes = encode(Case{});
  for (uint8_t b : {4, 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01}) bytes.push_back(b);
  EXPECT_EQ(decode(bytes).shape.heads, INT32_MAX);
}

TEST(CaseRecord, AHugeRepeatCountDoesNotFillMemory) {
  std::vector<uint8_t> bytes = encode(Case{});
  for (uint8_t b : {18, 2, 19, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f}) bytes.push_back(b);
  EXPECT_EQ(static_cast<int64_t>(decode(bytes).shape.context_lens.size()), kMostRows);
}

} // namespace
} // namespace mqalab
