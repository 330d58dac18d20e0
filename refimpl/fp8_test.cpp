// Both flavours by bytes computed by hand, and every byte through encode(decode()).
#include "refimpl/fp8.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace mqalab {
namespace {

constexpr mqa_fp8 kFlavours[] = {MQA_E4M3FN, MQA_E4M3FNUZ};

TEST(Fp8, DecodesFnBytesComputedByHand) {
  EXPECT_EQ(decode_fp8(MQA_E4M3FN, 0x00), 0);
  EXPECT_EQ(decode_fp8(MQA_E4M3FN, 0x01), 0x1p-9);
  EXPECT_EQ(decode_fp8(MQA_E4M3FN, 0x07), 7 * 0x1p-9);
  EXPECT_EQ(decode_fp8(MQA_E4M3FN, 0x08), 0x1p-6);
  EXPECT_EQ(decode_fp8(MQA_E4M3FN, 0x38), 1);
  EXPECT_EQ(decode_fp8(MQA_E4M3FN, 0xB9), -1.125);
  EXPECT_EQ(decode_fp8(MQA_E4M3FN, 0x78), 256);
  EXPECT_EQ(decode_fp8(MQA_E4M3FN, 0x7E), 448);
  EXPECT_TRUE(std::isnan(decode_fp8(MQA_E4M3FN, 0x7F)));
  EXPECT_TRUE(std::isnan(decode_fp8(MQA_E4M3FN, 0xFF)));
  EXPECT_TRUE(std::signbit(decode_fp8(MQA_E4M3FN, 0x80)) && decode_fp8(MQA_E4M3FN, 0x80) == 0);
}

TEST(Fp8, DecodesFnuzBytesComputedByHand) {
  EXPECT_EQ(decode_fp8(MQA_E4M3FNUZ, 0x01), 0x1p-10);
  EXPECT_EQ(decode_fp8(MQA_E4M3FNUZ, 0x08), 0x1p-7);
  EXPECT_EQ(decode_fp8(MQA_E4M3FNUZ, 0x38), 0.5);
  EXPECT_EQ(decode_fp8(MQA_E4M3FNUZ, 0x7E), 224);
  EXPECT_EQ(decode_fp8(MQA_E4M3FNUZ, 0x7F), 240);
  EXPECT_EQ(decode_fp8(MQA_E4M3FNUZ, 0xFF), -240);
  EXPECT_TRUE(std::isnan(decode_fp8(MQA_E4M3FNUZ, 0x80)));
}

TEST(Fp8, FnuzIsHalfOfFnExceptWhereTheCodesDiffer) {
  for (int byte = 0; byte < 256; ++byte) {
    if ((byte & 0x7F) == 0x7F || byte == 0x80) continue;
    EXPECT_EQ(2 * decode_fp8(MQA_E4M3FNUZ, uint8_t(byte)), decode_fp8(MQA_E4M3FN, uint8_t(byte))) << byte;
  }
}

TEST(Fp8, EncodingGivesBackEveryByte) {
  for (mqa_fp8 flavour : kFlavours)
    for (int byte = 0; byte < 256; ++byte) {
      const uint8_t again = encode_fp8(flavour, decode_fp8(flavour, uint8_t(byte)));
      if (is_nan_code(flavour, uint8_t(byte)))
        EXPECT_TRUE(is_nan_code(flavour, again));
      else
        EXPECT_EQ(again, byte);
    }
}

TEST(Fp8, RoundsHalfwayToTheEvenByteAndEverythingElseToTheNearest) {
  for (mqa_fp8 flavour : kFlavours) {
    const int largest = flavour == MQA_E4M3FN ? 0x7E : 0x7F;
    for (int byte = 0; byte < largest; ++byte) {
      const double low = decode_fp8(flavour, uint8_t(byte)), high = decode_fp8(flavour, uint8_t(byte + 1));
      const double middle = (low + high) / 2;
      EXPECT_EQ(encode_fp8(flavour, middle), byte % 2 ? byte + 1 : byte);
      EXPECT_EQ(encode_fp8(flavour, std::nextafter(middle, 0)), byte);
      EXPECT_EQ(encode_fp8(flavour, std::nextafter(middle, 1e9)), byte + 1);
    }
  }
}

TEST(Fp8, SaturatesAndKeepsTheSign) {
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(encode_fp8(MQA_E4M3FN, 1e9), 0x7E);
  EXPECT_EQ(encode_fp8(MQA_E4M3FN, -infinity), 0xFE);
  EXPECT_EQ(encode_fp8(MQA_E4M3FNUZ, 241), 0x7F);
  EXPECT_EQ(encode_fp8(MQA_E4M3FNUZ, -infinity), 0xFF);
  EXPECT_EQ(encode_fp8(MQA_E4M3FN, -0.0), 0x80);
  EXPECT_EQ(encode_fp8(MQA_E4M3FNUZ, -0.0), 0x00) << "FNUZ has no negative zero";
  EXPECT_EQ(encode_fp8(MQA_E4M3FNUZ, -1e-9), 0x00);
}

TEST(Fp8, HoldsAllIntegersUpTo16InBothFlavours) {
  for (mqa_fp8 flavour : kFlavours)
    for (int v = -16; v <= 16; ++v) EXPECT_EQ(decode_fp8(flavour, encode_fp8(flavour, v)), v);
}

} // namespace
} // namespace mqalab
