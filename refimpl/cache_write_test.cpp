// The writer by numbers computed by hand, and where its tokens go.
#include "refimpl/cache_write.hpp"
#include "refimpl/fp8.hpp"
#include "refimpl/keys_data.hpp"
#include "refimpl/test_problems.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

namespace mqalab {
namespace {

constexpr mqa_scale_format kPlain = MQA_SCALE_PLAIN, kPower = MQA_SCALE_POWER_OF_TWO;

std::vector<float> key_with(std::initializer_list<float> first) {
  std::vector<float> key(16, 0.0f);
  std::copy(first.begin(), first.end(), key.begin());
  return key;
}

TEST(Quantise, ScalesTheLargestMagnitudeToTheLargestCode) {
  const QuantisedKey q = quantise(key_with({-896, 448, 2}), MQA_E4M3FN, kPlain);
  EXPECT_EQ(q.scale, 2);
  EXPECT_EQ(q.values[0], 0xfe);
  EXPECT_EQ(q.values[1], 0x76) << "224";
  EXPECT_EQ(q.values[2], 0x38) << "1";
  EXPECT_EQ(q.values[3], 0);
  EXPECT_EQ(quantise(key_with({-480}), MQA_E4M3FNUZ, kPlain).scale, 2);
}
TEST(Quantise, MultipliesByTheRoundedInverse) {
  // 9.75 / (13/448) is exactly 336, a tie that goes to the even code 0x7a; the rounded inverse lands just
  // above it.
  EXPECT_EQ(quantise(key_with({13, 9.75f}), MQA_E4M3FN, kPlain).values[1], 0x7b);
}
TEST(Quantise, TheLeastMagnitudeIsOneTenThousandth) {
  for (const float amax : {0.0f, 1e-5f, 1e-4f})
    EXPECT_EQ(quantise(key_with({amax}), MQA_E4M3FN, kPlain).scale, 1e-4f / 448);
  EXPECT_GT(quantise(key_with({1.1e-4f}), MQA_E4M3FN, kPlain).scale, 1e-4f / 448);
}
TEST(Quantise, APowerOfTwoIsTheNextOneUnlessTheScaleIsOne) {
  EXPECT_EQ(quantise(key_with({448}), MQA_E4M3FN, kPower).scale, 1);
  EXPECT_EQ(quantise(key_with({449}), MQA_E4M3FN, kPower).scale, 2);
  EXPECT_EQ(quantise(key_with({447}), MQA_E4M3FN, kPower).scale, 1);
  EXPECT_EQ(quantise(key_with({}), MQA_E4M3FN, kPower).scale, 0x1p-22f);
}
TEST(Quantise, NaNCountsForNothingAndStaysNaN) {
  const QuantisedKey q = quantise(key_with({NAN, 448}), MQA_E4M3FN, kPlain);
  EXPECT_EQ(q.scale, 1);
  EXPECT_EQ(q.values[0], 0x7f);
  EXPECT_EQ(quantise(std::vector<float>(16, NAN), MQA_E4M3FNUZ, kPlain).scale, 1e-4f / 240);
}
TEST(Quantise, AnInfinityMakesItselfNaNAndTheRestZero) {
  for (const mqa_scale_format format : {kPlain, kPower}) {
    const QuantisedKey q = quantise(key_with({INFINITY, 448, -1}), MQA_E4M3FN, format);
    EXPECT_EQ(q.scale, INFINITY);
    EXPECT_EQ(q.values[0], 0x7f);
    EXPECT_EQ(q.values[1], 0x00);
    EXPECT_EQ(q.values[2], 0x80);
  }
}

Problem two_sequences() {
  Problem p;
  p.op = Operation::cache_write;
  p.batch = 2, p.head_dim = 32, p.block_size = 16, p.max_model_len = 40, p.context_lens = {18, 3};
  p = dense(p);
  p.block_table = {4, 1, -1, 2, -1, -1}, p.num_blocks = 5, p.keys_stride = 32;
  return p;
}

TEST(WriterSlots, FollowTheTableSequenceBySequence) {
  const std::vector<int64_t> slots = writer_slots(two_sequences());
  ASSERT_EQ(slots.size(), 21u);
  EXPECT_EQ(slots[0], 64);
  EXPECT_EQ(slots[15], 79);
  EXPECT_EQ(slots[16], 16);
  EXPECT_EQ(slots[18], 32) << "the second sequence";
}
TEST(WriterSlots, EveryNthTokenIsSkipped) {
  Problem p = two_sequences();
  p.skip_every = 5;
  const std::vector<int64_t> slots = writer_slots(p);
  for (size_t t = 0; t < slots.size(); ++t) EXPECT_EQ(slots[t] == -1, t % 5 == 4) << t;
}
TEST(WriterSlots, ABlockIdOutsideThePoolSkipsItsTokens) {
  for (const int32_t id : {-1, 5, INT32_MIN, INT32_MAX}) {
    Problem p = two_sequences();
    p.block_table[0] = id;
    for (size_t t = 0; t < 16; ++t) EXPECT_FALSE(is_written(p, writer_slots(p)[t])) << id;
  }
}
TEST(PutToken, LandsWhereTheLayoutSays) {
  Problem p = two_sequences();
  p.layout = MQA_SHUFFLED;
  SparseBuffer cache(kv_cache_bytes(p));
  QuantisedKey key{std::vector<uint8_t>(32), 2.5f};
  for (size_t d = 0; d < 32; ++d) key.values[d] = uint8_t(d + 1);
  put_token(p, cache, 4 * 16 + 3, key);
  const uint8_t* block = cache.data() + 4 * 16 * 36;
  EXPECT_EQ(block[3 * 16 + 5], 6) << "dim 5 of the first tile";
  EXPECT_EQ(block[256 + 3 * 16], 17) << "dim 16 of the second";
  float scale;
  std::memcpy(&scale, block + 16 * 32 + 4 * 3, 4);
  EXPECT_EQ(scale, 2.5f);
}

// ---- the keys of a case ----

std::vector<float> all_keys(const Problem& p, const SparseBuffer& keys) {
  std::vector<float> all;
  for (int64_t t = 0; t < writer_tokens(p); ++t)
    for (const float x : key_of_token(p, keys, t)) all.push_back(x);
  return all;
}
DataSpec lane(Lane which) { return {which, Pattern::general, 3, {}}; }

TEST(KeysData, TheExactLaneHoldsSmallIntegersTimesAPowerOfTwo) {
  const Problem p = two_sequences();
  const SparseBuffer keys = make_keys(p, lane(Lane::exact));
  for (const float x : all_keys(p, keys)) {
    EXPECT_LE(std::fabs(x), 15 * 64);
    EXPECT_EQ(64 * x, std::trunc(64 * x));
  }
}
TEST(KeysData, TheNumericLaneSpreadsOverDecades) {
  const Problem p = two_sequences();
  float least = INFINITY, most = 0;
  const SparseBuffer keys = make_keys(p, lane(Lane::numeric));
  for (int64_t t = 0; t < writer_tokens(p); ++t) {
    float amax = 0;
    for (const float x : key_of_token(p, keys, t)) amax = std::max(amax, std::fabs(x));
    least = std::min(least, amax), most = std::max(most, amax);
  }
  EXPECT_GT(most / least, 1e5f);
}
TEST(KeysData, TheSpecialLaneHasEveryOddity) {
  Problem p = two_sequences();
  p.context_lens = {40, 40};
  for (const mqa_key_type type : {MQA_KEY_BF16, MQA_KEY_FP16, MQA_KEY_FP32}) {
    p.key_type = type;
    int nans = 0, infinities = 0, minus_zeros = 0;
    for (const float x : all_keys(p, make_keys(p, lane(Lane::special)))) {
      nans += std::isnan(x), infinities += std::isinf(x);
      minus_zeros += x == 0 && std::signbit(x);
    }
    EXPECT_GT(nans, 0);
    EXPECT_GT(infinities, 0);
    EXPECT_GT(minus_zeros, 0);
  }
}
TEST(KeysData, SkippedTokensAndPaddingHoldPoison) {
  Problem p = two_sequences();
  p.keys_stride = 35, p.skip_every = 2;
  const SparseBuffer keys = make_keys(p, lane(Lane::exact), Poison::large_finite);
  for (const float x : key_of_token(p, keys, 1)) EXPECT_EQ(x, 0x1p15f);
  Problem dense_view = p;
  dense_view.head_dim = 35;
  EXPECT_EQ(key_of_token(dense_view, keys, 0)[33], 0x1p15f);
  for (const float x : key_of_token(p, keys, 0)) EXPECT_NE(x, 0x1p15f);
}
TEST(KeysData, AStrideMovesElementsAndChangesNone) {
  Problem p = two_sequences();
  const std::vector<float> before = all_keys(p, make_keys(p, lane(Lane::numeric)));
  p.keys_stride = 50;
  EXPECT_EQ(all_keys(p, make_keys(p, lane(Lane::numeric))), before);
}
TEST(KeysData, AnOverrideIsTheLastWord) {
  const Problem p = two_sequences();
  DataSpec data = lane(Lane::exact);
  data.overrides = {{Tensor::k, 2 * 32 + 7, 0x3f80}, {Tensor::scale, 0, 1}, {Tensor::k, 21 * 32, 1}};
  EXPECT_EQ(key_of_token(p, make_keys(p, data), 2)[7], 1);
}

} // namespace
} // namespace mqalab
