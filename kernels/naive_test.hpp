// A logits call with random contents, small enough that a naive loop on the host repeats it; for tests of
// kernels through the C API.  Values are small dyadic numbers, so that every order of summation gives the
// same bits.
#pragma once
#include "kernels/fp8_test.hpp"
#include "kernels/mqa.h"

#include <gtest/gtest.h>
#include <hip/hip_runtime_api.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

namespace mqa {

// Device copy of a host vector, freed with it.
template <class T> class OnDevice {
public:
  explicit OnDevice(const std::vector<T>& host) : count_(host.size()) {
    EXPECT_EQ(hipMalloc(reinterpret_cast<void**>(&data), std::max<size_t>(count_ * sizeof(T), 4)),
              hipSuccess);
    upload(host);
  }
  OnDevice(const OnDevice&) = delete;
  ~OnDevice() { (void)hipFree(data); }
  void upload(const std::vector<T>& host) {
    EXPECT_EQ(host.size(), count_);
    EXPECT_EQ(hipMemcpy(data, host.data(), count_ * sizeof(T), hipMemcpyHostToDevice), hipSuccess);
  }
  std::vector<T> host() const {
    std::vector<T> copy(count_);
    EXPECT_EQ(hipMemcpy(copy.data(), data, count_ * sizeof(T), hipMemcpyDeviceToHost), hipSuccess);
    return copy;
  }
  T* data = nullptr;

private:
  size_t count_;
};

inline constexpr float kSentinel = 12345.0f;
inline constexpr int kLogitsPadding = 3; // floats between rows that nobody may touch

struct NaiveShape {
  int next_n = 1, heads = 8, head_dim = 32, block_size = 16;
  bool shuffled = false, fnuz = true, neg_inf = true, per_row = false, ragged = false, per_head = false;
  int max_model_len = 64;
  std::vector<int32_t> lens; // one a sequence, or one a row with per_row; ragged: the number of slots
};

// Inputs on the host, and what must come out.
class NaiveCall {
public:
  NaiveCall(const NaiveShape& s, unsigned seed) : s(s), random_(seed) {
    const int sequences = batch(), rows = sequences * s.next_n;
    q = bytes(rows * s.heads * s.head_dim);
    weights = quarters(rows * s.heads);
    columns_of_table = (s.max_model_len + s.block_size - 1) / s.block_size;
    blocks = std::clamp(sequences * columns_of_table, 1, 64); // shared by sequences: that is legal
    block_bytes = s.block_size * (s.head_dim + 4) + 4;
    fill_cache();
    redraw_table();
  }
  int batch() const { return static_cast<int>(s.lens.size()) / (s.per_row ? s.next_n : 1); }
  void redraw_table() {
    int64_t entries = int64_t{batch()} * columns_of_table;
    if (s.ragged) {
      prefix.assign(1, 2); // from any value on
      for (const int32_t n : s.lens) prefix.push_back(prefix.back() + n);
      entries = prefix.back();
    }
    table.clear();
    for (int64_t i = 0; i < std::max<int64_t>(entries, 1); ++i)
      table.push_back(static_cast<int32_t>(random_() % static_cast<unsigned>(blocks)));
  }
  int64_t limit(int b, int n) const {
    const int64_t length = s.lens[static_cast<size_t>(s.per_row ? b * s.next_n + n : b)];
    const int64_t seen = s.per_row ? length : length - s.next_n + n + 1;
    return std::clamp<int64_t>(seen, 0, s.max_model_len);
  }
  int stride() const { return s.max_model_len + kLogitsPadding; }
  std::vector<float> untouched() const {
    return std::vector<float>(static_cast<size_t>(planes()) * batch() * s.next_n * stride(), kSentinel);
  }
  int planes() const { return s.per_head ? s.heads : 1; }

  std::vector<float> expected() const {
    std::vector<float> out = untouched();
    for (int plane = 0; plane < planes(); ++plane)
      for (int b = 0; b < batch(); ++b)
        for (int n = 0; n < s.next_n; ++n) {
          float* row = &out[(static_cast<size_t>(plane) * batch() * s.next_n + b * s.next_n + n) * stride()];
          for (int64_t i = 0; i < s.max_model_len; ++i)
            if (i < limit(b, n))
              row[i] = logit(b, n, i, plane);
            else if (s.neg_inf)
              row[i] = -INFINITY;
        }
    return out;
  }

  NaiveShape s;
  std::vector<uint8_t> q, cache;
  std::vector<float> weights;
  std::vector<int32_t> table, prefix;
  int columns_of_table, blocks, block_bytes;

private:
  uint8_t small_byte() {
    constexpr double kValues[] = {0, 0.5, -0.5, 1, -1, 1.5, -1.5, 2, -2, 3};
    const double wanted = kValues[random_() % std::size(kValues)];
    for (int byte = 0; byte < 256; ++byte)
      if (decoded(static_cast<uint8_t>(byte), s.fnuz) == wanted) return static_cast<uint8_t>(byte);
    return 0;
  }
  std::vector<uint8_t> bytes(int count) {
    std::vector<uint8_t> some(97),
        all(static_cast<size_t>(count)); // encoding by search is slow: draw from a few
    for (uint8_t& byte : some) byte = small_byte();
    for (uint8_t& byte : all) byte = some[random_() % some.size()];
    return all;
  }
  std::vector<float> quarters(int count) {
    std::vector<float> all(static_cast<size_t>(count));
    for (float& x : all) x = static_cast<float>(static_cast<int>(random_() % 17) - 8) / 4;
    return all;
  }
  void fill_cache() {
    cache = bytes(blocks * block_bytes);
    for (int block = 0; block < blocks; ++block)
      for (int token = 0; token < s.block_size; ++token) {
        const float scale = 0.25f * static_cast<float>(1 << random_() % 4);
        std::memcpy(&cache[static_cast<size_t>(block * block_bytes + s.block_size * s.head_dim + 4 * token)],
                    &scale, 4);
      }
  }
  float logit(int b, int n, int64_t position, int plane) const {
    const int64_t entry = s.ragged ? prefix[static_cast<size_t>(b)] + position
                                   : int64_t{b} * columns_of_table + position / s.block_size;
    const int32_t block = table[static_cast<size_t>(entry)];
    if (block < 0 || block >= blocks) return NAN;
    const auto token = static_cast<int>(position % s.block_size);
    const uint8_t* base = &cache[static_cast<size_t>(block) * static_cast<size_t>(block_bytes)];
    float scale;
    std::memcpy(&scale, base + s.block_size * s.head_dim + 4 * token, 4);
    double sum = 0;
    for (int h = s.per_head ? plane : 0; h < (s.per_head ? plane + 1 : s.heads); ++h) {
      const size_t head = static_cast<size_t>(b * s.next_n + n) * s.heads + h;
      double dot = 0;
      for (int d = 0; d < s.head_dim; ++d) {
        const int in_block = s.shuffled
                                 ? token / 16 * 16 * s.head_dim + d / 16 * 256 + token % 16 * 16 + d % 16
                                 : token * s.head_dim + d;
        dot += decoded(q[head * s.head_dim + d], s.fnuz) * decoded(base[in_block], s.fnuz);
      }
      sum += (dot > 0 ? dot : 0) * weights[head]; // 0 for NaN, too
    }
    return static_cast<float>(sum * scale);
  }
  std::mt19937 random_;
};

// The call's tensors on the device.
class NaiveLaunch {
public:
  explicit NaiveLaunch(const NaiveCall& call)
      : q(call.q), cache(call.cache), weights(call.weights), lens(call.s.lens), table(call.table),
        prefix(call.prefix), logits(call.untouched()) {
    const NaiveShape& s = call.s;
    args.struct_size = sizeof args;
    args.batch = call.batch();
    args.next_n = s.next_n, args.heads = s.heads, args.head_dim = s.head_dim;
    args.block_size = s.block_size;
    args.layout = s.shuffled ? MQA_SHUFFLED : MQA_PLANAR;
    args.fp8 = s.fnuz ? MQA_E4M3FNUZ : MQA_E4M3FN;
    args.tail = s.neg_inf ? MQA_TAIL_NEG_INF : MQA_TAIL_UNTOUCHED;
    args.max_model_len = s.max_model_len, args.num_blocks = call.blocks;
    args.q = q.data;
    args.q_stride_head = s.head_dim;
    args.q_stride_next = s.heads * args.q_stride_head, args.q_stride_batch = s.next_n * args.q_stride_next;
    args.kv_cache = cache.data, args.kv_block_stride_bytes = call.block_bytes;
    args.weights = weights.data, args.weights_stride = s.heads;
    args.context_lens = lens.data, args.context_lens_stride = s.per_row ? s.next_n : 1;
    args.lens_per_row = s.per_row;
    args.block_table = table.data, args.block_table_stride = call.columns_of_table;
    args.logits = logits.data, args.logits_stride = call.stride();
    if (s.per_head) args.logits_stride_head = int64_t{call.batch()} * s.next_n * call.stride();
    if (s.ragged) args.slot_prefix = prefix.data, args.block_table_stride = 0, args.context_lens = nullptr;
  }
  mqa_status start(const mqa_config& config, hipStream_t stream, mqa_choice* choice) const {
    if (args.logits_stride_head) return mqa_per_head_logits(&args, &config, stream, choice);
    if (args.slot_prefix) return mqa_ragged_logits(&args, &config, stream, choice);
    return mqa_paged_logits(&args, &config, stream, choice);
  }
  OnDevice<uint8_t> q, cache;
  OnDevice<float> weights;
  OnDevice<int32_t> lens, table, prefix;
  OnDevice<float> logits;
  mqa_paged_logits_args args{};
};

// Every float of the output, those between the rows too.
inline void expect_same(const std::vector<float>& got, const std::vector<float>& expected, int stride) {
  ASSERT_EQ(got.size(), expected.size());
  int wrong = 0;
  for (size_t i = 0; i < got.size() && wrong < 5; ++i) {
    if (got[i] == expected[i] || (std::isnan(got[i]) && std::isnan(expected[i]))) continue;
    ADD_FAILURE() << "row " << i / stride << " column " << i % stride << ": " << got[i] << ", expected "
                  << expected[i];
    ++wrong;
  }
}
inline void expect_as_the_naive_loop(const NaiveShape& shape, const mqa_config& config, unsigned seed = 1) {
  const NaiveCall call(shape, seed);
  const NaiveLaunch launch(call);
  mqa_choice choice{};
  choice.struct_size = sizeof choice;
  ASSERT_EQ(launch.start(config, nullptr, &choice), MQA_OK) << mqa_last_error();
  EXPECT_EQ(choice.config.variant, config.variant);
  ASSERT_EQ(hipDeviceSynchronize(), hipSuccess);
  expect_same(launch.logits.host(), call.expected(), call.stride());
}

} // namespace mqa
