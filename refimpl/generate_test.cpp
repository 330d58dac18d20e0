// What every lane and pattern promises, and that poison lies exactly where no correct kernel reads.
#include "refimpl/elements.hpp"
#include "refimpl/generate.hpp"
#include "refimpl/test_tensors.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

namespace mqalab {
namespace {

// Same value, or both NaN.
bool same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

DataSpec lane(Lane which, uint64_t seed = 5) { return {.lane = which, .seed = seed, .overrides = {}}; }

TEST(Generate, KeepsTheExactLaneWithinItsRange) {
  for (Pattern pattern :
       {Pattern::general, Pattern::positive, Pattern::one_token, Pattern::one_head, Pattern::one_dim})
    for (int32_t head_dim : {32, 64, 128, 256}) {
      Problem p = small_problem();
      p.head_dim = head_dim;
      p = dense(p);
      const Tensors t = generate(p, exact(pattern));
      const int limit = exact_range(p.heads, head_dim).key;
      EXPECT_LE(head_dim * limit * limit, 1 << 13);
      std::set<double> seen;
      for (int32_t token = 0; token < 16; ++token) {
        for (int32_t d = 0; d < head_dim; ++d) {
          const double k = key(p, t, 0, token, d), q = query(p, t, token % 4, token, d);
          EXPECT_TRUE(std::fabs(k) <= limit && std::fabs(q) <= limit && k == std::trunc(k) &&
                      q == std::trunc(q));
          seen.insert(k);
        }
        EXPECT_LE(std::fabs(weight(p, t, 1, token)), 8);
        EXPECT_NE(weight(p, t, 1, token), 0);
        int exponent = 0;
        EXPECT_EQ(std::frexp(scale(p, t, 0, token), &exponent), 0.5f);
        EXPECT_LE(std::abs(exponent - 1), 6);
      }
      if (pattern == Pattern::general)
        EXPECT_EQ(seen.size(), size_t(2 * limit + 1)) << "every integer occurs";
    }
}

TEST(Generate, UsesTheRangesOfTheReferenceText) {
  EXPECT_EQ(exact_range(128, 32).key, 16);
  EXPECT_EQ(exact_range(128, 64).key, 11);
  EXPECT_EQ(exact_range(128, 128).key, 8);
  EXPECT_EQ(exact_range(128, 256).key, 5);
  EXPECT_EQ(exact_range(128, 128).weight, 8);
  EXPECT_EQ(exact_range(512, 128).weight, 2);
}

TEST(Generate, VariesTheScaleFromTokenToToken) {
  const Problem p = small_problem();
  for (Pattern pattern : {Pattern::general, Pattern::address}) {
    const Tensors t = generate(p, exact(pattern));
    std::set<float> scales;
    for (int32_t token = 0; token < 16; ++token) scales.insert(scale(p, t, 0, token));
    EXPECT_GE(scales.size(), 5u);
  }
}

TEST(Generate, MakesPositiveDotsInThePositivePattern) {
  const Problem p = small_problem();
  const Tensors t = generate(p, exact(Pattern::positive));
  int positive = 0;
  for (int32_t token = 0; token < 16; ++token)
    for (int32_t h = 0; h < p.heads; ++h) {
      double dot = 0;
      for (int32_t d = 0; d < p.head_dim; ++d) dot += query(p, t, 0, h, d) * key(p, t, 0, token, d);
      positive += dot > 0;
    }
  EXPECT_GT(positive, 250) << "of 256";
}

TEST(Generate, LeavesOnlyOneTokenHeadOrDimAlive) {
  const Problem p = small_problem();
  const Tensors token = generate(p, exact(Pattern::one_token)), head = generate(p, exact(Pattern::one_head)),
                dim = generate(p, exact(Pattern::one_dim));
  std::set<int64_t> tokens, heads, dims;
  for (int64_t position = 0; position < 40; ++position)
    for (int32_t d = 0; d < p.head_dim; ++d) {
      const int64_t block = p.block_of(0, position);
      if (key(p, token, block, int32_t(position % 16), d) != 0) tokens.insert(position);
      if (key(p, dim, block, int32_t(position % 16), d) != 0) dims.insert(d);
    }
  for (int32_t h = 0; h < p.heads; ++h)
    for (int32_t d = 0; d < p.head_dim; ++d) {
      if (query(p, head, 1, h, d) != 0) heads.insert(h);
      if (query(p, dim, 1, h, d) != 0) dims.insert(d);
    }
  EXPECT_EQ(tokens.size(), 1u);
  EXPECT_EQ(heads.size(), 1u);
  EXPECT_EQ(dims.size(), 1u);
}

// Rows see keys [2, 5) and [7, 9) of twelve.
Problem two_windows() {
  Problem p;
  p.op = Operation::prefill_logits, p.lens_per_row = true, p.next_n = 2, p.head_dim = 32;
  p.row_starts = {2, 7}, p.context_lens = {5, 9}, p.num_blocks = 12, p.max_model_len = 12;
  p = dense(p);
  p.num_blocks = 12, p.block_table.clear(), p.block_table_stride = 0;
  p.kv_block_stride_bytes = 40, p.key_scales_stride = 2;
  return p;
}

TEST(Generate, PoisonsTheKeysOfAPrefillThatNoRowSeesAndAllPadding) {
  const Problem p = two_windows();
  for (Poison poison : {Poison::nan_codes, Poison::large_finite})
    for (int64_t dense_bytes : {int64_t{1} << 24, int64_t{0}}) {
      const Tensors t = generate(p, exact(Pattern::general), poison, dense_bytes);
      const double bad = poison == Poison::nan_codes ? NAN : 448,
                   bad_scale = poison == Poison::nan_codes ? NAN : 0x1p100;
      ASSERT_EQ(t.kv_cache.size(), 11 * 40 + 32);
      ASSERT_EQ(t.key_scales.size(), 4 * (11 * 2 + 1));
      for (int64_t k : {1, 2, 4, 5, 6, 7, 8, 9}) { // in a sparse pool only needed keys and their neighbours
        const bool seen = (k >= 2 && k < 5) || (k >= 7 && k < 9);
        EXPECT_EQ(std::fabs(key(p, t, k, 0, 31)) <= 16, seen) << "key " << k;
        if (!seen) EXPECT_TRUE(same(key(p, t, k, 0, 31), bad)) << "key " << k;
        const float s = load(t.key_scales.data() + scale_offset_bytes(p, k, 0));
        EXPECT_EQ(s <= 64, seen) << "key " << k;
        if (!seen) EXPECT_TRUE(same(s, bad_scale)) << "key " << k;
      }
      EXPECT_TRUE(same(decode_fp8(p.fp8, t.kv_cache.data()[4 * 40 + 35]), bad)) << "between keys";
    }
}

TEST(Generate, KeepsOneTokenOfAPrefillWhereARowSeesIt) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const Problem p = two_windows();
    const Tensors t = generate(p, exact(Pattern::one_token, seed));
    int alive = 0;
    for (int64_t k : {2, 3, 4, 7, 8}) alive += key(p, t, k, 0, 0) != 0;
    EXPECT_EQ(alive, 1);
  }
}

TEST(Generate, CostsNoMemoryForOneKeyWithAHugeStride) {
  Problem p = two_windows();
  p.num_blocks = 1, p.kv_block_stride_bytes = int64_t{1} << 40;
  EXPECT_EQ(generate(p, exact(Pattern::general)).kv_cache.size(), 32);
}

TEST(Generate, PoisonsWhateverTheReadSetExcludes) {
  Problem p = small_problem();
  p.q_stride_head += 8, p.q_stride_next = p.q_stride_head * p.heads + 4,
                        p.q_stride_batch = 2 * p.q_stride_next + 4;
  p.weights_stride += 3, p.kv_block_stride_bytes += 12, p.num_blocks += 1;
  const uint8_t kPaddingByte[] = {0x7F, 0x7E};
  for (Poison poison : {Poison::nan_codes, Poison::large_finite}) {
    const Tensors t = generate(p, exact(Pattern::general), poison);
    const double bad = poison == Poison::nan_codes ? NAN : 448,
                 bad_scale = poison == Poison::nan_codes ? NAN : 0x1p100;
    EXPECT_TRUE(same(key(p, t, 6, 3, 5), bad)) << "a block that no entry names";
    EXPECT_TRUE(same(scale(p, t, 6, 3), bad_scale));
    EXPECT_TRUE(same(key(p, t, 2, 8, 0), bad)) << "the first token past the context";
    EXPECT_TRUE(same(scale(p, t, 2, 8), bad_scale));
    EXPECT_FALSE(same(key(p, t, 2, 7, 0), bad)) << "the last token of the context";
    EXPECT_EQ(t.kv_cache.data()[p.kv_block_stride_bytes - 1], kPaddingByte[int(poison)]);
    EXPECT_TRUE(same(query(p, t, 0, 0, p.head_dim + 7), bad));
    EXPECT_TRUE(same(weight(p, t, 0, p.heads + 2), bad_scale));
    EXPECT_EQ(t.kv_cache.filled(), (std::vector<ByteRange>{{0, kv_cache_bytes(p)}}));
  }
}

TEST(Generate, PoisonLiesOutsideTheReadSetOnly) {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    const Problem p = random_problem(seed);
    const Tensors a = generate(p, exact(Pattern::general), Poison::nan_codes);
    const Tensors b = generate(p, exact(Pattern::general), Poison::large_finite);
    for (const NeededBlock& needed : needed_pool(p))
      for (int32_t token = 0; token < needed.tokens; ++token) {
        ASSERT_EQ(scale(p, a, needed.block, token), scale(p, b, needed.block, token));
        for (int32_t d = 0; d < p.head_dim; ++d)
          ASSERT_EQ(key(p, a, needed.block, token, d), key(p, b, needed.block, token, d));
      }
  }
}

// Every element that both problems have is the same in both.
void expect_survivors(const Problem& large, const Problem& small, const DataSpec& data) {
  const Tensors a = generate(large, data), b = generate(small, data);
  for (int64_t row = 0; row < small.rows(); ++row) {
    const int64_t in_large = row / small.next_n * large.next_n + row % small.next_n;
    for (int32_t h = 0; h < small.heads; ++h) {
      EXPECT_TRUE(same(weight(small, b, row, h), weight(large, a, in_large, h)));
      for (int32_t d = 0; d < small.head_dim; ++d)
        EXPECT_TRUE(same(query(small, b, row, h, d), query(large, a, in_large, h, d)));
    }
  }
  for (const NeededBlock& needed : needed_pool(small))
    for (int32_t token = 0; token < needed.tokens; ++token) {
      EXPECT_TRUE(same(scale(small, b, needed.block, token), scale(large, a, needed.block, token)));
      for (int32_t d = 0; d < small.head_dim; ++d)
        EXPECT_TRUE(same(key(small, b, needed.block, token, d), key(large, a, needed.block, token, d)));
    }
}

TEST(Generate, ShrinkingLeavesTheSurvivorsAsTheyWere) {
  Problem large = small_problem();
  Problem small = large;
  small.batch = 1, small.next_n = 1, small.heads = 8, small.max_model_len = 20, small.context_lens = {17};
  small.layout = MQA_SHUFFLED;
  small = dense(small);
  small.kv_block_stride_bytes += 4;
  for (Pattern pattern : {Pattern::general, Pattern::positive, Pattern::address}) {
    SCOPED_TRACE(int(pattern));
    expect_survivors(large, small, exact(pattern));
  }
  Problem narrow = small;
  narrow.head_dim = 32;
  narrow = dense(narrow);
  for (Lane which : {Lane::numeric, Lane::special}) {
    SCOPED_TRACE(int(which));
    expect_survivors(large, narrow, lane(which));
  }
  expect_survivors(large, narrow, exact(Pattern::raw_bytes));
}

TEST(Generate, MakesOtherBytesFromAnotherSeedAndTheSameFromTheSame) {
  const Problem p = small_problem();
  const auto bytes = [&p](uint64_t seed) {
    const Tensors t = generate(p, exact(Pattern::general, seed));
    return std::vector<uint8_t>(t.kv_cache.data(), t.kv_cache.data() + t.kv_cache.size());
  };
  EXPECT_EQ(bytes(1), bytes(1));
  EXPECT_NE(bytes(1), bytes(2));
}

TEST(Generate, DrawsTheNumericLaneAsPromised) {
  Problem p = small_problem();
  p.max_model_len = 4096, p.context_lens = {4096, 0};
  for (mqa_fp8 flavour : {MQA_E4M3FN, MQA_E4M3FNUZ}) {
    p.fp8 = flavour;
    p = dense(p);
    const Tensors t = generate(p, lane(Lane::numeric));
    double sum = 0, squares = 0, least = 1e9, most = 0;
    for (int64_t block = 0; block < 256; ++block)
      for (int32_t token = 0; token < 16; ++token) {
        for (int32_t d = 0; d < p.head_dim; ++d) {
          const double value = key(p, t, block, token, d);
          ASSERT_TRUE(std::isfinite(value));
          sum += value, squares += value * value;
        }
        least = std::min(least, double(scale(p, t, block, token)));
        most = std::max(most, double(scale(p, t, block, token)));
      }
    const double count = 4096.0 * p.head_dim;
    EXPECT_NEAR(sum / count, 0, 0.2);
    EXPECT_NEAR(std::sqrt(squares / count), 16, 0.5);
    EXPECT_NEAR(most / least, 16, 0.5);
    EXPECT_GT(least, 0);
  }
}

TEST(Generate, MixesEveryClassIntoTheSpecialLane) {
  Problem p = small_problem();
  p.batch = 16, p.max_model_len = 128, p.context_lens.assign(16, 128);
  for (mqa_fp8 flavour : {MQA_E4M3FN, MQA_E4M3FNUZ}) {
    p.fp8 = flavour;
    p = dense(p);
    const Tensors t = generate(p, lane(Lane::special));
    int nan_tokens = 0, tokens = 0, odd_weights = 0;
    std::set<std::string> scales;
    for (const NeededBlock& needed : needed_pool(p))
      for (int32_t token = 0; token < needed.tokens; ++token) {
        bool nan = false;
        for (int32_t d = 0; d < p.head_dim; ++d) nan |= std::isnan(key(p, t, needed.block, token, d));
        const float s = scale(p, t, needed.block, token);
        scales.insert(std::isnan(s)   ? "nan"
                      : std::isinf(s) ? "inf"
                      : s == 0        ? (std::signbit(s) ? "-0" : "0")
                      : s < 0         ? "negative"
                      : s < 0x1p-126f ? "subnormal"
                      : s == 0x1p127f ? "huge"
                                      : "ordinary");
        nan_tokens += nan, ++tokens;
      }
    for (int64_t row = 0; row < p.rows(); ++row)
      for (int32_t h = 0; h < p.heads; ++h) odd_weights += !std::isnormal(weight(p, t, row, h));
    EXPECT_EQ(scales.size(), 8u);
    EXPECT_GT(nan_tokens, tokens / 100);
    EXPECT_LT(nan_tokens, tokens / 8);
    EXPECT_GT(odd_weights, 0);
    EXPECT_LT(odd_weights, p.rows() * p.heads / 20);
  }
}

TEST(Generate, DrawsRawKeyBytesUniformlyScalesIncluded) {
  Problem p = small_problem();
  p.max_model_len = 4096, p.context_lens = {4096, 0};
  p = dense(p);
  const Tensors t = generate(p, exact(Pattern::raw_bytes));
  int nan_tokens = 0, odd_scales = 0;
  for (int64_t block = 0; block < 256; ++block)
    for (int32_t token = 0; token < 16; ++token) {
      bool nan = false;
      for (int32_t d = 0; d < p.head_dim; ++d) nan |= std::isnan(key(p, t, block, token, d));
      nan_tokens += nan, odd_scales += !std::isfinite(scale(p, t, block, token));
    }
  EXPECT_NEAR(nan_tokens / 4096.0, 1 - std::pow(254.0 / 256, p.head_dim), 0.03);
  EXPECT_NEAR(odd_scales / 4096.0, 1.0 / 256, 0.004);
}

TEST(Generate, AppliesOverridesToTheElementTheyName) {
  const Problem p = small_problem();
  DataSpec data = exact(Pattern::general);
  data.overrides = {{Tensor::q, (1 * 16 + 2) * 64 + 3, 0x38},
                    {Tensor::k, (4 * 16 + 5) * 64 + 6, 0xB8},
                    {Tensor::scale, 4 * 16 + 5, 0x40000000},
                    {Tensor::weights, 3 * 16 + 1, 0xC0400000},
                    {Tensor::weights, 4 * 16, 0},
                    {Tensor::k, -1, 0}};
  const Tensors t = generate(p, data);
  EXPECT_EQ(query(p, t, 1, 2, 3), 1);
  EXPECT_EQ(key(p, t, 4, 5, 6), -1);
  EXPECT_EQ(scale(p, t, 4, 5), 2);
  EXPECT_EQ(weight(p, t, 3, 1), -3);
}

TEST(Generate, KnowsWhichDataMayBeComparedBitwise) {
  const Problem p = small_problem();
  DataSpec data = exact(Pattern::general);
  EXPECT_TRUE(is_exact(p, data));
  data.overrides = {{Tensor::k, 0, 0x38}, {Tensor::scale, 0, 0x3F000000}, {Tensor::weights, 0, 0xC1000000}};
  EXPECT_TRUE(is_exact(p, data));
  for (const Override& odd : {Override{Tensor::k, 0, 0x30},
                              {Tensor::q, 0, 0x7F},
                              {Tensor::scale, 0, 0x3FC00000},
                              {Tensor::scale, 0, 0},
                              {Tensor::scale, 0, 0xBF800000},
                              {Tensor::weights, 0, 0x7FC00000}}) {
    data.overrides = {odd};
    EXPECT_FALSE(is_exact(p, data)) << int(odd.tensor) << " " << odd.bits;
  }
  EXPECT_FALSE(is_exact(p, lane(Lane::numeric)));
  EXPECT_FALSE(is_exact(p, exact(Pattern::raw_bytes)));
}

TEST(Generate, LetsTheLowestRowWinWhereRowsShareBytes) {
  Problem shared = small_problem(), alone = shared;
  shared.q_stride_batch = shared.q_stride_next = 0, shared.weights_stride = 0;
  alone.batch = alone.next_n = 1, alone.context_lens = {39};
  alone = dense(alone);
  const Tensors a = generate(shared, exact(Pattern::general)), b = generate(alone, exact(Pattern::general));
  for (int32_t h = 0; h < 16; ++h) {
    EXPECT_EQ(weight(shared, a, 3, h), weight(alone, b, 0, h));
    for (int32_t d = 0; d < 64; ++d) EXPECT_EQ(query(shared, a, 3, h, d), query(alone, b, 0, h, d));
  }
}

TEST(Generate, FillsOnlyNeededBlocksAndTheirNeighboursOfAHugePool) {
  Problem p = small_problem();
  p.kv_block_stride_bytes = 1435968, p.num_blocks = 30000; // 43 GB
  p.block_table = {0, 20000, 29999, 20000, 20001, 7};
  const Tensors t = generate(p, exact(Pattern::general));
  std::vector<ByteRange> expected;
  for (int64_t id : {0, 1, 19999, 20000, 20001, 20002, 29998, 29999}) {
    const int64_t begin = id * p.kv_block_stride_bytes, used = 16 * (64 + 4);
    expected.push_back(
        {begin, begin + used + 256}); // the beginning of the padding is poisoned, not all of it
  }
  EXPECT_EQ(t.kv_cache.filled(), expected);
  EXPECT_FALSE(std::isnan(key(p, t, 29999, 7, 0)));
  EXPECT_TRUE(std::isnan(key(p, t, 29998, 7, 0)));
}

TEST(Generate, FillsOnlyTheBeginningOfAHugeBlockPadding) {
  Problem p = small_problem();
  p.num_blocks = 8;
  p.kv_block_stride_bytes = int64_t{1} << 31;
  p.block_table.assign(p.block_table.size(), 3);
  const Tensors t = generate(p, {});
  for (const ByteRange& range : t.kv_cache.filled())
    EXPECT_LE(range.end - range.begin, int64_t{p.block_size} * (p.head_dim + 4) + 256);
}

TEST(Generate, FillsOnlyTheNeighbourhoodOfRowsInHugeQueries) {
  Problem p = small_problem();
  p.q_stride_batch = int64_t{1} << 33, p.weights_stride = int64_t{1} << 30;
  const Tensors t = generate(p, exact(Pattern::general));
  int64_t bytes = 0;
  for (const ByteRange& range : t.q.filled()) bytes += range.end - range.begin;
  EXPECT_LT(bytes, 10000);
  EXPECT_TRUE(std::isnan(query(p, t, 0, 0, 2 * 16 * 64 + 5))) << "just behind the first sequence";
  EXPECT_TRUE(std::isfinite(query(p, t, 3, 15, 63)));
  EXPECT_TRUE(std::isnan(weight(p, t, 1, -1)));
}

} // namespace
} // namespace mqalab
