// Both half types by values computed by hand, and every bit pattern there and back.
#include "refimpl/key_types.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace mqalab {
namespace {

TEST(KeyTypes, DecodeBitsComputedByHand) {
  EXPECT_EQ(decode_key(MQA_KEY_BF16, 0x3f80), 1);
  EXPECT_EQ(decode_key(MQA_KEY_BF16, 0xc049), -3.140625f);
  EXPECT_EQ(decode_key(MQA_KEY_BF16, 0x0001), 0x1p-133f);
  EXPECT_EQ(decode_key(MQA_KEY_FP16, 0x3c00), 1);
  EXPECT_EQ(decode_key(MQA_KEY_FP16, 0x7bff), 65504);
  EXPECT_EQ(decode_key(MQA_KEY_FP16, 0x0001), 0x1p-24f);
  EXPECT_EQ(decode_key(MQA_KEY_FP16, 0xfc00), -INFINITY);
  EXPECT_EQ(decode_key(MQA_KEY_FP32, 0x3fc00000), 1.5f);
}

TEST(KeyTypes, EveryHalfSurvivesTheWayThereAndBack) {
  for (const mqa_key_type type : {MQA_KEY_BF16, MQA_KEY_FP16})
    for (uint32_t bits = 0; bits < 0x10000; ++bits) {
      const float value = decode_key(type, bits);
      if (std::isnan(value))
        EXPECT_TRUE(std::isnan(decode_key(type, encode_key(type, value)))) << bits;
      else
        ASSERT_EQ(encode_key(type, value), bits);
    }
}

TEST(KeyTypes, EncodeRoundsToNearestWithTiesToEven) {
  EXPECT_EQ(encode_key(MQA_KEY_BF16, 1 + 0x1p-8), 0x3f80u);
  EXPECT_EQ(encode_key(MQA_KEY_BF16, 1 + 0x3p-8), 0x3f82u);
  EXPECT_EQ(encode_key(MQA_KEY_BF16, 2 - 0x1p-9), 0x4000u);
  EXPECT_EQ(encode_key(MQA_KEY_FP16, 65520), 0x7c00u) << "halfway to the first value that is too large";
  EXPECT_EQ(encode_key(MQA_KEY_FP16, 65519), 0x7bffu);
  EXPECT_EQ(encode_key(MQA_KEY_FP16, 0x1p-25), 0u);
  EXPECT_EQ(encode_key(MQA_KEY_FP16, -0x1.8p-25), 0x8001u);
  EXPECT_EQ(encode_key(MQA_KEY_BF16, 1e300), 0x7f80u);
  EXPECT_EQ(encode_key(MQA_KEY_FP32, -1e300), 0xff800000u);
}

TEST(KeyTypes, TheLargestIsTheLastBeforeInfinity) {
  EXPECT_EQ(largest_key(MQA_KEY_FP16), 65504);
  EXPECT_EQ(largest_key(MQA_KEY_FP32), 0x1.fffffep127f);
}

} // namespace
} // namespace mqalab
