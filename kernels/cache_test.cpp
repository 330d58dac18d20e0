// Cache writer and gather without a device: what is refused and in which words, and the arithmetic rule by
// rule.
#include "kernels/cache_gather.hpp"
#include "kernels/cache_write.hpp"
#include "refimpl/fp8.hpp"
#include "refimpl/key_types.hpp"
#include "refimpl/random.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <functional>

namespace mqa {
namespace {

using ::testing::HasSubstr;

alignas(16) uint8_t somewhere[64];

mqa_cache_write_args legal_write() {
  mqa_cache_write_args a{};
  a.struct_size = sizeof a;
  a.tokens = 5, a.head_dim = 128, a.block_size = 64, a.num_blocks = 4;
  a.keys = somewhere, a.keys_stride = 128;
  a.slots = reinterpret_cast<const int64_t*>(somewhere);
  a.kv_cache = somewhere, a.kv_block_stride_bytes = 64 * 132;
  return a;
}
mqa_cache_gather_args legal_gather() {
  mqa_cache_gather_args a{};
  a.struct_size = sizeof a;
  a.batch = 2, a.head_dim = 128, a.block_size = 64, a.num_blocks = 4;
  a.kv_cache = somewhere, a.kv_block_stride_bytes = 64 * 132;
  a.block_table = a.cu_seq_lens = reinterpret_cast<const int32_t*>(somewhere);
  a.block_table_stride = 3, a.tokens = 7;
  a.keys = somewhere, a.keys_stride = 128;
  a.scales = reinterpret_cast<float*>(somewhere), a.scales_stride = 1;
  return a;
}

template <class Args> struct Bad {
  const char* what;
  std::function<void(Args&)> spoil;
  const char* says;
};
using Write = mqa_cache_write_args;
using Gather = mqa_cache_gather_args;

class WriteRefusal : public ::testing::TestWithParam<Bad<Write>> {};
TEST_P(WriteRefusal, NamesTheArgumentItsValueAndWhatIsAllowed) {
  Write a = legal_write();
  GetParam().spoil(a);
  EXPECT_EQ(mqa_cache_write(&a, nullptr), MQA_INVALID_ARGUMENT);
  EXPECT_THAT(mqa_last_error(), HasSubstr(GetParam().says));
}
const Bad<Write> kBadWrites[] = {
    {"struct_size", [](Write& a) { a.struct_size = 8; },
     "struct_size is 8; this library's mqa_cache_write_args has"},
    {"tokens", [](Write& a) { a.tokens = -1; }, "tokens is -1; allowed: 0 to 2147483647"},
    {"tokens_many", [](Write& a) { a.tokens = int64_t{1} << 31; }, "tokens is 2147483648"},
    {"head_dim", [](Write& a) { a.head_dim = 24; },
     "head_dim is 24; allowed: multiples of 16 from 16 to 256"},
    {"head_dim_big", [](Write& a) { a.head_dim = 272; }, "head_dim is 272"},
    {"block_size", [](Write& a) { a.block_size = 24; },
     "block_size is 24; allowed: 1, or a multiple of 16 up to 1024"},
    {"layout", [](Write& a) { a.layout = 2; }, "layout is 2; allowed: 0 to 1"},
    {"shuffled_one", [](Write& a) { a.layout = MQA_SHUFFLED, a.block_size = 1; },
     "block_size is 1 with layout shuffled"},
    {"fp8", [](Write& a) { a.fp8 = 2; }, "fp8 is 2; allowed: 0 to 1"},
    {"key_type", [](Write& a) { a.key_type = 3; }, "key_type is 3; allowed: 0 to 2"},
    {"scale_format", [](Write& a) { a.scale_format = -1; }, "scale_format is -1; allowed: 0 to 1"},
    {"num_blocks", [](Write& a) { a.num_blocks = -1; }, "num_blocks is -1; allowed: 0 to 2147483647"},
    {"keys_stride", [](Write& a) { a.keys_stride = 127; }, "keys_stride is 127; allowed: 128 to 2^40"},
    {"kv_small", [](Write& a) { a.kv_block_stride_bytes = 8444; },
     "kv_block_stride_bytes is 8444; allowed: 8448"},
    {"kv_odd", [](Write& a) { a.kv_block_stride_bytes = 8450; },
     "allowed: multiples of 4, because scales are fp32"},
    {"keys", [](Write& a) { a.keys = nullptr; }, "keys is NULL"},
    {"keys_odd", [](Write& a) { a.keys = somewhere + 1; }, "it must be aligned to 2 bytes"},
    {"keys_fp32_odd", [](Write& a) { a.keys = somewhere + 2, a.key_type = MQA_KEY_FP32; },
     "it must be aligned to 4 bytes"},
    {"slots", [](Write& a) { a.slots = nullptr; }, "slots is NULL"},
    {"kv_cache", [](Write& a) { a.kv_cache = nullptr; }, "kv_cache is NULL"},
    {"kv_cache_odd", [](Write& a) { a.kv_cache = somewhere + 2; }, "it must be aligned to 4 bytes"},
};
INSTANTIATE_TEST_SUITE_P(All, WriteRefusal, ::testing::ValuesIn(kBadWrites),
                         [](const auto& info) { return info.param.what; });

class GatherRefusal : public ::testing::TestWithParam<Bad<Gather>> {};
TEST_P(GatherRefusal, NamesTheArgumentItsValueAndWhatIsAllowed) {
  Gather a = legal_gather();
  GetParam().spoil(a);
  EXPECT_EQ(mqa_cache_gather(&a, nullptr), MQA_INVALID_ARGUMENT);
  EXPECT_THAT(mqa_last_error(), HasSubstr(GetParam().says));
}
const Bad<Gather> kBadGathers[] = {
    {"struct_size", [](Gather& a) { a.struct_size = 0; },
     "struct_size is 0; this library's mqa_cache_gather_args has"},
    {"batch", [](Gather& a) { a.batch = -2; }, "batch is -2; allowed: 0 and more"},
    {"tokens", [](Gather& a) { a.tokens = -1; }, "tokens is -1; allowed: 0 to 2147483647"},
    {"head_dim", [](Gather& a) { a.head_dim = 0; }, "head_dim is 0; allowed: multiples of 16 from 16 to 256"},
    {"block_size", [](Gather& a) { a.block_size = 1040; },
     "block_size is 1040; allowed: 1, or a multiple of 16"},
    {"layout", [](Gather& a) { a.layout = -1; }, "layout is -1; allowed: 0 to 1"},
    {"shuffled_one", [](Gather& a) { a.layout = MQA_SHUFFLED, a.block_size = 1; }, "with layout shuffled"},
    {"num_blocks", [](Gather& a) { a.num_blocks = int64_t{1} << 31; }, "num_blocks is 2147483648"},
    {"kv_small", [](Gather& a) { a.kv_block_stride_bytes = 128; },
     "kv_block_stride_bytes is 128; allowed: 8448"},
    {"kv_odd", [](Gather& a) { a.kv_block_stride_bytes = 8449; }, "multiples of 4"},
    {"table_stride", [](Gather& a) { a.block_table_stride = -1; },
     "block_table_stride is -1; allowed: 1 to 2^40, or 0"},
    {"keys_stride", [](Gather& a) { a.keys_stride = 112; }, "keys_stride is 112; allowed: 128 to 2^40"},
    {"scales_stride", [](Gather& a) { a.scales_stride = 0; }, "scales_stride is 0; allowed: 1 to 2^40"},
    {"kv_cache", [](Gather& a) { a.kv_cache = nullptr; }, "kv_cache is NULL"},
    {"block_table", [](Gather& a) { a.block_table = nullptr; }, "block_table is NULL"},
    {"cu_seq_lens", [](Gather& a) { a.cu_seq_lens = nullptr; }, "cu_seq_lens is NULL"},
    {"keys", [](Gather& a) { a.keys = nullptr; }, "keys is NULL"},
    {"scales", [](Gather& a) { a.scales = nullptr; }, "scales is NULL"},
    {"scales_odd", [](Gather& a) { a.scales = reinterpret_cast<float*>(somewhere + 2); },
     "aligned to 4 bytes"},
};
INSTANTIATE_TEST_SUITE_P(All, GatherRefusal, ::testing::ValuesIn(kBadGathers),
                         [](const auto& info) { return info.param.what; });

TEST(CacheApi, RefusesNoArgumentsAtAll) {
  EXPECT_EQ(mqa_cache_write(nullptr, nullptr), MQA_INVALID_ARGUMENT);
  EXPECT_STREQ(mqa_last_error(), "args is NULL");
  EXPECT_EQ(mqa_cache_gather(nullptr, nullptr), MQA_INVALID_ARGUMENT);
}
TEST(CacheApi, NeedsNoPointersWhereNothingIsLaunched) {
  Write w = legal_write();
  w.tokens = 0, w.keys = nullptr, w.slots = nullptr, w.kv_cache = nullptr;
  EXPECT_EQ(mqa_cache_write(&w, nullptr), MQA_OK);
  EXPECT_STREQ(mqa_last_error(), "");
  Gather no_batch = legal_gather(), no_tokens = legal_gather();
  no_batch.batch = 0, no_tokens.tokens = 0;
  for (Gather* g : {&no_batch, &no_tokens}) {
    g->keys = nullptr, g->cu_seq_lens = nullptr, g->kv_cache = nullptr;
    EXPECT_EQ(mqa_cache_gather(g, nullptr), MQA_OK) << mqa_last_error();
  }
}

// ---- the arithmetic ----

using R = CacheWriteRules;

uint32_t encoded(float x, mqa_fp8 flavour) {
  mqa_cache_write_args a{};
  a.fp8 = flavour;
  return R::encode<R>(x, R::format(a));
}
void expect_encoded(float x, mqa_fp8 flavour) {
  ASSERT_EQ(encoded(x, flavour), mqalab::encode_fp8(flavour, x))
      << x << " flavour " << flavour << std::hex << " bits " << std::bit_cast<uint32_t>(x);
}

TEST(CacheEncode, AgreesWithTheReferenceForEveryBf16AndFp16) {
  for (const mqa_fp8 flavour : {MQA_E4M3FN, MQA_E4M3FNUZ})
    for (const mqa_key_type type : {MQA_KEY_BF16, MQA_KEY_FP16})
      for (uint32_t bits = 0; bits < 0x10000; ++bits) expect_encoded(mqalab::decode_key(type, bits), flavour);
}
TEST(CacheEncode, AgreesWithTheReferenceAtEveryTieAndItsNeighbours) {
  for (const mqa_fp8 flavour : {MQA_E4M3FN, MQA_E4M3FNUZ})
    for (int code = 0; code < 0x7e; ++code)
      for (const float sign : {-1.0f, 1.0f}) {
        const auto tie = static_cast<float>(
            (mqalab::decode_fp8(flavour, uint8_t(code)) + mqalab::decode_fp8(flavour, uint8_t(code + 1))) /
            2);
        for (const float x : {tie, std::nextafter(tie, 0.0f), std::nextafter(tie, INFINITY)})
          expect_encoded(sign * x, flavour);
      }
}
TEST(CacheEncode, AgreesWithTheReferenceOnRandomBits) {
  const mqalab::Stream random(1, 2);
  for (uint64_t i = 0; i < 1'000'000; ++i)
    for (const mqa_fp8 flavour : {MQA_E4M3FN, MQA_E4M3FNUZ})
      expect_encoded(std::bit_cast<float>(uint32_t(random.word(i))), flavour);
}
TEST(CacheEncode, SaturatesKeepsNaNAndGivesFnuzNoNegativeZero) {
  EXPECT_EQ(encoded(1e30f, MQA_E4M3FN), 0x7eu);
  EXPECT_EQ(encoded(-INFINITY, MQA_E4M3FN), 0xfeu);
  EXPECT_EQ(encoded(INFINITY, MQA_E4M3FNUZ), 0x7fu);
  EXPECT_EQ(encoded(-NAN, MQA_E4M3FN), 0x7fu);
  EXPECT_EQ(encoded(NAN, MQA_E4M3FNUZ), 0x80u);
  EXPECT_EQ(encoded(-0.0f, MQA_E4M3FN), 0x80u);
  EXPECT_EQ(encoded(-0.0f, MQA_E4M3FNUZ), 0x00u);
  EXPECT_EQ(encoded(-1e-9f, MQA_E4M3FNUZ), 0x00u);
}

TEST(CacheKeys, HalfTypesDecodeToTheirValues) {
  const auto same = [](float got, float expected) {
    return std::isnan(expected) ? std::isnan(got)
                                : std::bit_cast<uint32_t>(got) == std::bit_cast<uint32_t>(expected);
  };
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    ASSERT_TRUE(same(R::from_bf16(uint16_t(bits)), mqalab::decode_key(MQA_KEY_BF16, bits))) << bits;
    ASSERT_TRUE(same(R::from_fp16(uint16_t(bits)), mqalab::decode_key(MQA_KEY_FP16, bits))) << bits;
  }
}

TEST(CacheScale, APowerOfTwoStaysAndTheNextFloatMovesUp) {
  for (int exponent = -120; exponent <= 120; ++exponent) {
    const float power = std::ldexp(1.0f, exponent);
    EXPECT_EQ(R::power_of_two(power), power);
    EXPECT_EQ(R::power_of_two(std::nextafter(power, INFINITY)), 2 * power);
    EXPECT_EQ(R::power_of_two(std::nextafter(power, 0.0f)), power);
  }
  EXPECT_EQ(R::power_of_two(INFINITY), INFINITY);
}
TEST(CacheScale, TheLargestMagnitudeIgnoresNaNAndSign) {
  EXPECT_EQ(R::larger_magnitude(2, NAN), 2);
  EXPECT_EQ(R::larger_magnitude(2, -3), 3);
  EXPECT_EQ(R::larger_magnitude(2, -INFINITY), INFINITY);
}
TEST(CacheScale, IsNeverBelowThatOfTheLeastMagnitude) {
  mqa_cache_write_args a{};
  a.fp8 = MQA_E4M3FNUZ;
  EXPECT_EQ(R::scale_of<R>(a, 0), 1e-4f / 240);
  EXPECT_EQ(R::scale_of<R>(a, 9e-5f), 1e-4f / 240);
  EXPECT_EQ(R::scale_of<R>(a, 2e-4f), 2e-4f / 240);
}

// ---- who owns a row ----

TEST(GatherOwner, EveryRowOfAscendingSequencesHasItsOwnOwner) {
  const int32_t prefix[] = {2, 2, 5, 5, 5, 9};
  Gather a{};
  a.batch = 5, a.cu_seq_lens = prefix;
  const int32_t owner[] = {-1, -1, 1, 1, 1, 4, 4, 4, 4, -1, -1};
  for (int64_t row = 0; row < 11; ++row) {
    const int32_t found = CacheGatherRules::sequence_of(a, row);
    EXPECT_EQ(CacheGatherRules::owns(a, found, row), owner[row] >= 0) << row;
    if (owner[row] >= 0) EXPECT_EQ(found, owner[row]) << row;
  }
}

} // namespace
} // namespace mqa
