// Ragged keys, per-head logits and prefill logits against a naive loop, through the C API; and the head sum.
#include "kernels/naive_test.hpp"

#include <gmock/gmock.h>

#include <bit>
#include <cmath>

namespace mqa {
namespace {

constexpr mqa_variant kMatrixVariants[] = {MQA_VARIANT_STAGED, MQA_VARIANT_DIRECT};

// ---- ragged keys ----
TEST(Ragged, AgreesWithTheNaiveLoopForEveryHeadDimAndVariant) {
  for (const mqa_variant variant : kMatrixVariants)
    for (const int head_dim : {32, 64, 128})
      for (const bool neg_inf : {false, true}) {
        NaiveShape s;
        s.next_n = 3, s.heads = 24, s.head_dim = head_dim, s.block_size = 1, s.max_model_len = 150;
        s.neg_inf = neg_inf, s.ragged = true, s.lens = {0, 65, 1, 149, 2, 170};
        expect_as_the_naive_loop(s, {variant, 64, 2, 2});
      }
}
TEST(Ragged, ReadsNoEntryThatItDoesNotOwn) { // the list ends with the last owned entry: one more is a fault
  NaiveShape s;
  s.heads = 1, s.head_dim = 64, s.block_size = 1, s.ragged = true, s.max_model_len = 200,
  s.lens = {64, 63, 65};
  for (const int splits : {1, 3}) expect_as_the_naive_loop(s, {MQA_VARIANT_STAGED, 64, splits, 1});
}
TEST(Ragged, ASlotOutsideThePoolGivesNanForItsTokenOnly) {
  NaiveShape s;
  s.block_size = 1, s.ragged = true, s.max_model_len = 20, s.lens = {9, 7};
  NaiveCall call(s, 3);
  call.table[static_cast<size_t>(call.prefix[1]) + 2] = -1;
  call.table[static_cast<size_t>(call.prefix[0]) + 8] = call.blocks;
  const NaiveLaunch launch(call);
  ASSERT_EQ(launch.start({MQA_VARIANT_STAGED, 0, 0, 0}, nullptr, nullptr), MQA_OK) << mqa_last_error();
  ASSERT_EQ(hipDeviceSynchronize(), hipSuccess);
  expect_same(launch.logits.host(), call.expected(), call.stride());
}

// ---- per-head logits ----
TEST(PerHead, AgreesWithTheNaiveLoopForEveryHeadDimAndVariant) {
  for (const mqa_variant variant : kMatrixVariants)
    for (const int head_dim : {32, 64, 128})
      for (const bool neg_inf : {false, true}) {
        NaiveShape s;
        s.next_n = 2, s.heads = 20, s.head_dim = head_dim, s.max_model_len = 140, s.per_head = true;
        s.neg_inf = neg_inf, s.lens = {70, 0, 139, 1};
        expect_as_the_naive_loop(s, {variant, 64, 2, 2});
      }
}
TEST(PerHead, StoresEveryHeadAndNoPaddedOne) {
  for (const int heads : {1, 7, 16, 17, 40}) {
    NaiveShape s;
    s.heads = heads, s.head_dim = 64, s.max_model_len = 80, s.per_head = true, s.lens = {70};
    expect_as_the_naive_loop(s, {MQA_VARIANT_STAGED, 0, 0, 0});
  }
}
TEST(PerHead, ServesRaggedKeysAndOtherFlavoursAndLayouts) {
  NaiveShape s;
  s.heads = 9, s.head_dim = 32, s.max_model_len = 100, s.per_head = true, s.fnuz = false, s.lens = {33, 90};
  s.shuffled = true, s.block_size = 32, s.per_row = true, s.next_n = 2;
  expect_as_the_naive_loop(s, {MQA_VARIANT_STAGED, 0, 0, 0});
  s.shuffled = s.per_row = false, s.block_size = 1, s.ragged = true;
  expect_as_the_naive_loop(s, {MQA_VARIANT_STAGED, 64, 3, 0});
}

// ---- prefill ----
struct PrefillShape {
  int heads = 8, head_dim = 64;
  int64_t num_keys = 100, columns = 100;
  bool compressed = false, neg_inf = true, fnuz = true;
  std::vector<int32_t> starts, ends;
};

// As a paged call of one sequence whose rows have lengths of their own: NaiveCall has the data, its rows and
// keys are the prefill's.
class PrefillCall {
public:
  explicit PrefillCall(const PrefillShape& shape)
      : s(shape), data_(paged_twin(shape), 5), keys(keys_of(data_, s)) {
    q = data_.q, weights = data_.weights;
    for (int64_t i = 0; i < s.num_keys; ++i) scales.push_back(0.25f * static_cast<float>(1 << i % 4));
  }
  int rows() const { return static_cast<int>(s.starts.size()); }
  int64_t stride() const { return s.columns + kLogitsPadding; }
  std::vector<float> untouched() const {
    return std::vector<float>(static_cast<size_t>(rows() * stride()), kSentinel);
  }
  std::vector<float> expected() const {
    std::vector<float> out = untouched();
    for (int row = 0; row < rows(); ++row) {
      float* to = &out[static_cast<size_t>(row * stride())];
      if (s.neg_inf) std::fill(to, to + s.columns, -INFINITY);
      const int64_t first = std::max(0, s.starts[row]), last = std::min<int64_t>(s.num_keys, s.ends[row]);
      for (int64_t key = first; key < last; ++key)
        if (const int64_t column = s.compressed ? key - first : key; column < s.columns)
          to[column] = logit(row, key);
    }
    return out;
  }
  PrefillShape s;

private:
  static NaiveShape paged_twin(const PrefillShape& p) {
    NaiveShape s;
    s.next_n = static_cast<int>(p.starts.size()), s.heads = p.heads, s.head_dim = p.head_dim, s.fnuz = p.fnuz;
    s.block_size = 16, s.lens = {1};
    return s;
  }
  static std::vector<uint8_t> keys_of(const NaiveCall& data, const PrefillShape& s) {
    std::vector<uint8_t> bytes(static_cast<size_t>(s.num_keys * s.head_dim));
    for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = data.q[(i * 7 + i / 64) % data.q.size()];
    return bytes;
  }
  float logit(int row, int64_t key) const {
    double sum = 0;
    for (int h = 0; h < s.heads; ++h) {
      double dot = 0;
      for (int d = 0; d < s.head_dim; ++d)
        dot += decoded(q[static_cast<size_t>((row * s.heads + h) * s.head_dim + d)], s.fnuz) *
               decoded(keys[static_cast<size_t>(key * s.head_dim + d)], s.fnuz);
      sum += (dot > 0 ? dot : 0) * weights[static_cast<size_t>(row * s.heads + h)];
    }
    return static_cast<float>(sum * scales[static_cast<size_t>(key)]);
  }
  NaiveCall data_;

public:
  std::vector<uint8_t> q, keys;
  std::vector<float> weights, scales;
};

void expect_prefill(const PrefillShape& shape, const mqa_config& config) {
  const PrefillCall call(shape);
  const OnDevice<uint8_t> q(call.q), keys(call.keys);
  const OnDevice<float> weights(call.weights), scales(call.scales), logits(call.untouched());
  const OnDevice<int32_t> starts(shape.starts), ends(shape.ends);
  mqa_prefill_logits_args a{};
  a.struct_size = sizeof a;
  a.rows = call.rows(), a.heads = shape.heads, a.head_dim = shape.head_dim;
  a.fp8 = shape.fnuz ? MQA_E4M3FNUZ : MQA_E4M3FN;
  a.tail = shape.neg_inf ? MQA_TAIL_NEG_INF : MQA_TAIL_UNTOUCHED;
  a.compressed = shape.compressed, a.num_keys = shape.num_keys, a.columns = shape.columns;
  a.q = q.data, a.q_stride_head = shape.head_dim, a.q_stride_row = shape.heads * shape.head_dim;
  a.k = keys.data, a.k_stride = shape.head_dim, a.k_scales = scales.data, a.k_scales_stride = 1;
  a.weights = weights.data, a.weights_stride = shape.heads;
  a.starts = starts.data, a.ends = ends.data, a.logits = logits.data, a.logits_stride = call.stride();
  ASSERT_EQ(mqa_prefill_logits(&a, &config, nullptr, nullptr), MQA_OK) << mqa_last_error();
  ASSERT_EQ(hipDeviceSynchronize(), hipSuccess);
  expect_same(logits.host(), call.expected(), static_cast<int>(call.stride()));
}

PrefillShape uneven() { // 20 rows: with 8 heads more than a tile, the last tile partial
  PrefillShape s;
  s.num_keys = 300, s.columns = 290;
  for (int i = 0; i < 20; ++i) {
    s.starts.push_back(i % 3 == 0 ? -i : i * 9 % 250);
    s.ends.push_back(i % 5 == 4 ? 3 : i * 31 % 330);
  }
  return s;
}
TEST(Prefill, AgreesWithTheNaiveLoopForEveryHeadDimOutputAndTail) {
  for (const int head_dim : {32, 64, 128})
    for (const bool compressed : {false, true})
      for (const bool neg_inf : {false, true}) {
        PrefillShape s = uneven();
        s.head_dim = head_dim, s.compressed = compressed, s.neg_inf = neg_inf, s.fnuz = head_dim != 64;
        if (compressed) s.columns = 120;
        expect_prefill(s, {MQA_VARIANT_STAGED, 64, 2, 2});
      }
}
TEST(Prefill, DoesNotCareForSplitsChunksAndOccupancy) {
  for (const mqa_config& config : {mqa_config{0, 0, 0, 0}, mqa_config{0, 64, 1, 1}, mqa_config{0, 128, 7, 4},
                                   mqa_config{0, 4096, 3, 2}}) {
    PrefillShape s = uneven();
    s.heads = 40;
    expect_prefill(s, config);
  }
}
TEST(Prefill, AnyStartAndEndIsLegal) {
  PrefillShape s;
  constexpr int32_t kMost = INT32_MAX, kLeast = INT32_MIN;
  s.starts = {kLeast, kMost, 0, kMost, 99, 100, 50, kLeast};
  s.ends = {kMost, kMost, kLeast, kLeast, 100, kMost, 49, 1};
  for (const bool compressed : {false, true}) {
    s.compressed = compressed;
    expect_prefill(s, {0, 0, 0, 0});
  }
}
TEST(Prefill, WithoutKeysThereAreTailsOnly) {
  PrefillShape s;
  s.num_keys = 0, s.columns = 10, s.starts = {0, -1, 5}, s.ends = {1, 100, 7};
  expect_prefill(s, {0, 0, 0, 0});
}
TEST(Prefill, MoreColumnsThanKeysAreTail) {
  PrefillShape s;
  s.num_keys = 7, s.columns = 150, s.starts = {0, 3}, s.ends = {7, 5};
  expect_prefill(s, {0, 64, 2, 0});
}
TEST(Prefill, RowsOfTwoRequestsInOneTileSeeTheirOwnKeysOnly) { // the gap between them is nobody's
  PrefillShape s;
  s.num_keys = 1000, s.columns = 1000, s.starts = {0, 0, 900, 900}, s.ends = {10, 20, 910, 1000};
  expect_prefill(s, {0, 64, 3, 0});
}
TEST(Prefill, ServesWhatTheMatrixKernelsDoNot) {
  PrefillShape s = uneven();
  s.head_dim = 80, s.heads = 3, s.starts.resize(3), s.ends.resize(3);
  expect_prefill(s, {0, 0, 0, 0});
}

// ---- head sum ----
std::vector<uint32_t> bits(const std::vector<float>& values) {
  std::vector<uint32_t> out;
  for (const float x : values) out.push_back(std::bit_cast<uint32_t>(x));
  return out;
}
TEST(HeadSum, AddsInAscendingOrderOfHeads) {
  constexpr int kHeads = 5, kRows = 3, kColumns = 300, kRowStride = 301, kPlane = 3 * 301 + 2,
                kSumStride = 305;
  std::vector<float> parts(kHeads * kPlane, NAN), expected(kRows * kSumStride, kSentinel);
  for (int row = 0; row < kRows; ++row)
    for (int c = 0; c < kColumns; ++c) {
      float sum = 0;
      for (int h = 0; h < kHeads; ++h) { // other orders round to other bits
        const float part =
            std::ldexp(1.0f + static_cast<float>((c * 37 + h * 11 + row) % 97) / 97, (c + h * 5) % 23 - 11);
        parts[h * kPlane + row * kRowStride + c] = h % 2 ? -part : part;
        sum = h == 0 ? parts[h * kPlane + row * kRowStride + c]
                     : sum + parts[h * kPlane + row * kRowStride + c];
      }
      expected[row * kSumStride + c] = sum;
    }
  const OnDevice<float> from(parts), to(std::vector<float>(kRows * kSumStride, kSentinel));
  mqa_head_sum_args a{};
  a.struct_size = sizeof a;
  a.rows = kRows, a.heads = kHeads, a.columns = kColumns;
  a.per_head = from.data, a.stride_head = kPlane, a.stride_row = kRowStride, a.sums = to.data,
  a.sums_stride = kSumStride;
  ASSERT_EQ(mqa_head_sum(&a, nullptr), MQA_OK) << mqa_last_error();
  ASSERT_EQ(hipDeviceSynchronize(), hipSuccess);
  EXPECT_EQ(bits(to.host()), bits(expected));
}
TEST(HeadSum, KeepsInfinitiesAndTheSignOfZero) {
  const OnDevice<float> from({-INFINITY, -0.0f, 1, -INFINITY, -0.0f, NAN}), to({0, 0, 0});
  mqa_head_sum_args a{};
  a.struct_size = sizeof a;
  a.rows = 1, a.heads = 2, a.columns = 3;
  a.per_head = from.data, a.stride_head = a.stride_row = a.sums_stride = 3, a.sums = to.data;
  ASSERT_EQ(mqa_head_sum(&a, nullptr), MQA_OK) << mqa_last_error();
  const auto got = to.host();
  EXPECT_EQ(got[0], -INFINITY);
  EXPECT_TRUE(std::signbit(got[1]));
  EXPECT_TRUE(std::isnan(got[2]));
}
TEST(HeadSum, SumsOfPlanesAreTheLogits) {
  NaiveShape s;
  s.heads = 24, s.head_dim = 64, s.max_model_len = 90, s.lens = {70, 33}, s.per_head = true;
  const NaiveCall planes(s, 9);
  const NaiveLaunch launch(planes);
  ASSERT_EQ(launch.start({}, nullptr, nullptr), MQA_OK) << mqa_last_error();
  s.per_head = false;
  const NaiveCall sums(s, 9);
  const OnDevice<float> to(sums.untouched());
  mqa_head_sum_args a{};
  a.struct_size = sizeof a;
  a.rows = 2, a.heads = s.heads, a.columns = s.max_model_len;
  a.per_head = launch.logits.data, a.stride_head = launch.args.logits_stride_head,
  a.stride_row = planes.stride();
  a.sums = to.data, a.sums_stride = sums.stride();
  ASSERT_EQ(mqa_head_sum(&a, nullptr), MQA_OK) << mqa_last_error();
  ASSERT_EQ(hipDeviceSynchronize(), hipSuccess);
  expect_same(to.host(), sums.expected(), sums.stride());
}

} // namespace
} // namespace mqa
