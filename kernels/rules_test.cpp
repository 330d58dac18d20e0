// The rules on the host, against plain enumeration.
#include "kernels/arch/arch.hpp"
#include "kernels/rules.hpp"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace mqa {
namespace {

PagedArgs smallest() {
  PagedArgs a{};
  a.batch = a.next_n = 1;
  a.heads = 8;
  a.head_dim = 128;
  a.block_size = 1;
  a.max_model_len = 1;
  return a;
}
PagedArgs with_blocks(int32_t block_size, int32_t head_dim, bool shuffled) {
  PagedArgs a = smallest();
  a.block_size = block_size;
  a.head_dim = head_dim;
  a.block_shift = block_size == 1 ? 0 : 4;
  a.block_reciprocal = Rules::block_reciprocal(block_size);
  a.token_stride = shuffled ? 16 : head_dim;
  a.tile_stride = shuffled ? 256 : 16;
  a.scale_start_bytes = block_size * head_dim;
  return a;
}

TEST(Rules, EveryChunkHasExactlyOneOwner) {
  for (int chunks = 0; chunks <= 64; ++chunks)
    for (int splits = 1; splits <= 20; ++splits) {
      std::vector<int> owners(chunks, 0);
      for (int s = 0; s < splits; ++s) {
        const Range r = Rules::split_range(chunks, splits, s);
        for (int c = r.begin; c < r.end; ++c) ++owners[c];
      }
      EXPECT_EQ(owners, std::vector<int>(chunks, 1)) << chunks << " chunks, " << splits << " splits";
    }
}

TEST(Rules, SharesOfSplitsDifferByAtMostOneChunk) {
  for (int chunks : {1, 7, 64, 65, 262144})
    for (int splits : {1, 2, 5, 64, 65535}) {
      int least_share = chunks, most_share = 0;
      for (int s = 0; s < splits; ++s) {
        const Range r = Rules::split_range(chunks, splits, s);
        least_share = least(least_share, r.end - r.begin);
        most_share = most(most_share, r.end - r.begin);
      }
      EXPECT_LE(most_share - least_share, 1) << chunks << " chunks, " << splits << " splits";
    }
}

TEST(Rules, TokensOfTheLastChunkEndAtTheContext) {
  const Range r = Rules::token_range({2, 4}, 256, 700);
  EXPECT_EQ(r.begin, 512);
  EXPECT_EQ(r.end, 700);
}

TEST(Rules, LastRowSeesTheWholeContextAndEarlierRowsOneLessEach) {
  EXPECT_EQ(Rules::causal_limit(10, 4, 3), 10);
  EXPECT_EQ(Rules::causal_limit(10, 4, 0), 7);
  EXPECT_EQ(Rules::causal_limit(2, 4, 0), 0) << "a context shorter than the step";
  EXPECT_EQ(Rules::causal_limit(Rules::usable_length(INT32_MIN), 4, 0), 0)
      << "no wrap below the smallest int";
  EXPECT_EQ(Rules::causal_limit(INT32_MAX, 4, 0), INT32_MAX - 3);
  EXPECT_EQ(Rules::causal_limit(3, 4, 0), 0);
  EXPECT_EQ(Rules::causal_limit(4, 4, 0), 1);
}

TEST(Rules, NoLengthLetsARowSeePastMaxModelLen) {
  PagedArgs a = smallest();
  a.max_model_len = 100;
  EXPECT_EQ(Rules::row_limit(a, INT32_MAX, 0), 100);
  EXPECT_EQ(Rules::row_limit(a, Rules::usable_length(INT32_MIN + 1), 0), 0);
  a.lens_per_row = 1;
  EXPECT_EQ(Rules::row_limit(a, Rules::usable_length(INT32_MIN), 0), 0);
  EXPECT_EQ(Rules::row_limit(a, 101, 0), 100);
}

TEST(Rules, ARowOfAPrefillSeesItsKeysAsFarAsTheOutputHasColumns) {
  PagedArgs a = smallest();
  a.num_blocks = 10; // keys
  const auto range = [&](int32_t start, int32_t end) {
    const Range r = Rules::key_range(a, start, end);
    return std::pair{r.begin, r.end};
  };
  for (bool compressed : {false, true})
    for (int32_t columns : {1, 4, 10, 1 << 24}) {
      a.compressed = compressed, a.max_model_len = columns;
      for (int64_t start : {int64_t{INT32_MIN}, int64_t{-1}, int64_t{0}, int64_t{3}, int64_t{9}, int64_t{10},
                            int64_t{INT32_MAX}})
        for (int64_t end :
             {int64_t{INT32_MIN}, int64_t{0}, int64_t{4}, int64_t{10}, int64_t{11}, int64_t{INT32_MAX}}) {
          std::vector<int64_t> keys;
          for (int64_t key = 0; key < 10; ++key)
            if (key >= start && key < end && key - (compressed ? most<int64_t>(0, start) : 0) < columns)
              keys.push_back(key);
          const std::pair<int32_t, int32_t> want =
              keys.empty() ? std::pair{0, 0} : std::pair{int32_t(keys.front()), int32_t(keys.back() + 1)};
          EXPECT_EQ(range(int32_t(start), int32_t(end)), want) << start << ".." << end << " of " << columns;
        }
    }
}
TEST(Rules, RangesMeetWhereTheyShareAKeyAndJoinAroundAllButTheEmptyOnes) {
  for (int b = 0; b < 6; ++b)
    for (int e = b; e < 6; ++e)
      for (int begin = 0; begin < 6; ++begin)
        for (int end = begin; end < 6; ++end) {
          bool shared = false;
          for (int key = b; key < e; ++key) shared |= key >= begin && key < end;
          if (b < e && begin < end) EXPECT_EQ(Rules::meets({b, e}, begin, end), shared);
          const Range all = Rules::joined(Rules::joined({0, 0}, {b, e}), {begin, end});
          std::set<int> keys;
          for (int key = b; key < e; ++key) keys.insert(key);
          for (int key = begin; key < end; ++key) keys.insert(key);
          EXPECT_EQ(all.begin < all.end, !keys.empty());
          if (keys.empty()) continue;
          EXPECT_EQ(all.begin, *keys.begin());
          EXPECT_EQ(all.end, *keys.rbegin() + 1);
        }
}
TEST(Rules, OnlyTheLastTileOfAPrefillIsPartial) {
  PagedArgs a = smallest();
  a.next_n = 16, a.total_rows = 33;
  EXPECT_EQ(Rules::tile_rows(a, 0), 16);
  EXPECT_EQ(Rules::tile_rows(a, 1), 16);
  EXPECT_EQ(Rules::tile_rows(a, 2), 1);
  a.total_rows = INT32_MAX;
  EXPECT_EQ(Rules::tile_rows(a, INT32_MAX / 16), INT32_MAX % 16);
}
TEST(Rules, ARaggedSequenceOwnsWhatItsPrefixSays) {
  const int32_t prefix[] = {5, 5, 9, 7};
  PagedArgs a = smallest();
  a.slot_prefix = prefix;
  EXPECT_EQ(Rules::slot_count(a, 0), 0);
  EXPECT_EQ(Rules::slot_count(a, 1), 4);
  EXPECT_EQ(Rules::slot_base(a, 1), 5);
  EXPECT_EQ(Rules::slot_count(a, 2), 0) << "a prefix that does not ascend owns nothing";
}

TEST(Rules, BlockColumnIsTheQuotientForEveryBlockSizeUpToTheLastColumn) {
  for (int bs = 1; bs <= 1024; bs = bs == 1 ? 16 : bs + 16) {
    const PagedArgs a = with_blocks(bs, 128, false);
    for (int64_t block = 0; block <= (1 << 24) / bs; block += block < 70 ? 1 : 997)
      for (int64_t position : {block * bs, block * bs + bs - 1}) {
        if (position >= 1 << 24) continue;
        const auto p = static_cast<int32_t>(position);
        ASSERT_EQ(Rules::block_column(a, p), p / bs) << "block size " << bs << ", position " << p;
        ASSERT_EQ(Rules::token_in_block(a, p, p / bs), p % bs);
      }
    const int32_t last = (1 << 24) - 1;
    ASSERT_EQ(Rules::block_column(a, last), last / bs) << "block size " << bs;
  }
}

TEST(Rules, ShuffledBytesAreThoseOfTheWorkedExample) {
  const PagedArgs a = with_blocks(32, 128, true);
  EXPECT_EQ(Rules::token_offset(a, 17) + Rules::dim_offset(a, 32) + 3,
            2579); // (t=17, d=35), operation.md section 4
  EXPECT_EQ(Rules::scale_offset(a, 17), 4164);
}

TEST(Rules, EachLayoutPutsEveryValueOfABlockInItsOwnByte) {
  for (bool shuffled : {false, true})
    for (int dim : {32, 64, 128}) {
      const PagedArgs a = with_blocks(48, dim, shuffled);
      std::set<int32_t> bytes;
      for (int t = 0; t < 48; ++t)
        for (int d = 0; d < dim; d += 8) bytes.insert(Rules::token_offset(a, t) + Rules::dim_offset(a, d));
      EXPECT_EQ(bytes.size(), 48u * dim / 8);
      EXPECT_EQ(*bytes.rbegin(), 48 * dim - 8);
      EXPECT_EQ(Rules::scale_offset(a, 0), 48 * dim);
    }
}

TEST(Rules, OffsetsPastTwoGigabytesStayWhole) {
  PagedArgs a = with_blocks(64, 128, false);
  a.logits_stride = 1 << 20;
  EXPECT_EQ(Rules::logit_offset(a, 512, 0) * 4, int64_t{1} << 31);
  a.kv_block_stride_bytes = 1002240;
  EXPECT_EQ(Rules::block_offset(a, 2143), 2147800320);
  a.logits_stride_head = int64_t{1} << 29;
  EXPECT_EQ(Rules::plane_offset(a, 31), int64_t{31} << 29);
  a.q_stride_batch = int64_t{1} << 33;
  EXPECT_EQ(Rules::query_offset(a, 1, 0, 0), int64_t{1} << 33);
}

TEST(Rules, OnlyIdsInsideThePoolAreValid) {
  EXPECT_TRUE(Rules::valid_block(0, 1));
  EXPECT_FALSE(Rules::valid_block(1, 1));
  EXPECT_FALSE(Rules::valid_block(-1, INT32_MAX));
  EXPECT_FALSE(Rules::valid_block(0, 0));
}

#if !defined(MQA_PLATFORM_NVIDIA)
TEST(AmdArch, FnBytesBecomeFnuzBytesOfHalfTheValue) {
  for (uint32_t byte = 0; byte < 256; ++byte) {
    const uint32_t got = Amd::fnuz_from_fn(byte * 0x01010101u);
    uint32_t want = byte;
    if (byte == 0x80) want = 0;
    if ((byte & 0x7f) == 0x7f) want = 0x80;
    EXPECT_EQ(got, want * 0x01010101u) << "byte " << byte;
  }
}
TEST(AmdArch, ConversionOfFourBytesDoesNotMixThem) {
  EXPECT_EQ(Amd::fnuz_from_fn(0x7f80ff01u), 0x80008001u);
  EXPECT_EQ(Amd::fnuz_from_fn(0x00ff807fu), 0x00800080u);
}
#endif

} // namespace
} // namespace mqa
