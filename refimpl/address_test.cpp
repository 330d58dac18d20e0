// The address code names the slot a logit was read from, for every row, and refuses what is no code.
#include "refimpl/address.hpp"
#include "refimpl/test_tensors.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <set>

namespace mqalab {
namespace {

// -------------------------------------------------------------------------------------------

// The logit that a kernel would get from `slot` for `row`: what decode_address is given.
float address_logit(const Problem& p, const Tensors& t, int64_t row, int64_t slot) {
  double sum = 0;
  for (int32_t h = 0; h < p.heads; ++h) {
    double dot = 0;
    for (int32_t d = 0; d < p.head_dim; ++d)
      dot += query(p, t, row, h, d) * key(p, t, slot / p.block_size, int32_t(slot % p.block_size), d);
    sum += std::max(0.0, dot) * weight(p, t, row, h);
  }
  return float(sum * scale(p, t, slot / p.block_size, int32_t(slot % p.block_size)));
}

TEST(AddressCode, NamesTheSlotForEveryRowFlavourAndHeadDim) {
  for (int32_t head_dim : {16, 32, 64, 128, 256})
    for (mqa_fp8 flavour : {MQA_E4M3FN, MQA_E4M3FNUZ}) {
      Problem p = small_problem();
      p.head_dim = head_dim, p.fp8 = flavour, p.batch = 9, p.context_lens.assign(9, 40);
      p = dense(p);
      for (uint64_t seed = 1; seed <= 3; ++seed) {
        const DataSpec data = exact(Pattern::address, seed);
        const Tensors t = generate(p, data);
        for (int64_t row = 0; row < p.rows(); ++row)
          for (int64_t slot : {int64_t(0), int64_t(7), 39 + (row / 2) * 48}) {
            const float s = scale(p, t, slot / 16, int32_t(slot % 16));
            EXPECT_EQ(decode_address(p, data, row, address_logit(p, t, row, slot), s), slot) << "row " << row;
          }
      }
    }
}

TEST(AddressCode, GivesEverySlotOfALargePoolItsOwnCode) {
  const AddressCode address(3, 128);
  std::vector<bool> seen(size_t{1} << 24);
  for (int64_t slot = 0; slot < int64_t{1} << 24; ++slot) {
    ASSERT_FALSE(seen[address.code(slot)]);
    seen[address.code(slot)] = true;
  }
  EXPECT_NE(address.code(0), 0u);
}

// What a row's logit of a slot is, with the query of one row and the weights of another.
float mixed_logit(const AddressCode& address, int32_t query_row, int32_t weights_row, int64_t slot) {
  double sum = 0;
  for (int32_t h = 0; h < AddressCode::kDigits; ++h)
    sum += AddressCode::digit(address.code(slot), address.picked_digit(0, query_row, h)) *
           address.weight(0, weights_row, h);
  return float(sum * AddressCode::scale(slot));
}

// Two codes may be a power of two apart while their scales make up for it, as 4 x 2 and 8 x 1 do: for a given
// pair of slots in about one draw of 2^24.  Else a wrong address is a wrong bit pattern.
TEST(AddressCode, GivesAnyTwoSlotsOfAnyRowOtherBits) {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    const AddressCode address(seed, 128);
    const int32_t row = int32_t(seed % 11);
    std::set<uint32_t> bits;
    for (int64_t slot = 0; slot < 500; ++slot)
      bits.insert(std::bit_cast<uint32_t>(mixed_logit(address, row, row, slot)));
    EXPECT_EQ(bits.size(), 500u) << "seed " << seed;
  }
}

// Turns count modulo 8, so no distance of rows is seen from every row of every case; at speed 2 half a turn,
// 4 rows, is none.  A tile of 16 rows must be told from the next one as well.
TEST(AddressCode, SeesTheQueryOrWeightsOfAnyOtherRowInManyCases) {
  for (const int32_t distance : {1, 2, 3, 4, 5, 6, 7, 8, 16, 32}) {
    int all = 0, query_seen = 0, weights_seen = 0, both_seen = 0;
    for (uint64_t seed = 1; seed <= 60; ++seed)
      for (int32_t row = 0; row < 16; ++row, ++all) {
        const AddressCode address(seed, 128);
        const int32_t other = row + distance;
        const float right = mixed_logit(address, row, row, 5);
        query_seen += mixed_logit(address, other, row, 5) != right;
        weights_seen += mixed_logit(address, row, other, 5) != right;
        both_seen += mixed_logit(address, other, other, 5) != right;
      }
    for (const int seen : {query_seen, weights_seen, both_seen})
      EXPECT_GT(seen, all * 2 / 5) << "distance " << distance;
  }
}

TEST(AddressCode, SeesTheQueryOrWeightsOfTheNextRow) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    const AddressCode address(seed, 128);
    for (auto [sequence, n] : {std::pair{0, 1}, {1, 0}}) {
      EXPECT_NE(address.picked_digit(0, 0, 0), address.picked_digit(sequence, n, 0)) << seed;
      EXPECT_NE(address.weight(0, 0, 0), address.weight(sequence, n, 0)) << seed;
    }
  }
}

TEST(AddressCode, RefusesWhatIsNoCode) {
  Problem p = small_problem();
  const DataSpec data = exact(Pattern::address);
  for (float logit : {-1.0f, 0.5f, 16777216.0f, NAN, INFINITY})
    EXPECT_EQ(decode_address(p, data, 0, logit, 1), -1);
  EXPECT_EQ(decode_address(p, data, 0, 1, 0), -1);
  EXPECT_EQ(decode_address(p, exact(Pattern::general), 0, 1, 1), -1);
  p.heads = 4;
  EXPECT_EQ(decode_address(p, data, 0, 1, 1), -1);
}

} // namespace
} // namespace mqalab
