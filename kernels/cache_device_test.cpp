// Cache writer and gather on a device, through the C API: what the lab's oracle cannot ask, because a case
// has no field for it or a contract leaves it out.
#include "kernels/mqa.h"
#include "refimpl/cache_write.hpp"
#include "refimpl/fp8.hpp"
#include "refimpl/key_types.hpp"
#include "refimpl/random.hpp"

#include <hip/hip_runtime_api.h>

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <vector>

namespace mqalab {
namespace {

constexpr uint8_t kUntouched = 0xa5;

template <class T> class OnDevice {
public:
  explicit OnDevice(const std::vector<T>& host) : count_(host.size()) {
    EXPECT_EQ(hipMalloc(&data_, count_ * sizeof(T) + 4), hipSuccess);
    EXPECT_EQ(hipMemcpy(data_, host.data(), count_ * sizeof(T), hipMemcpyHostToDevice), hipSuccess);
  }
  ~OnDevice() { (void)hipFree(data_); }
  T* get() const { return static_cast<T*>(data_); }
  std::vector<T> read() const {
    std::vector<T> host(count_);
    EXPECT_EQ(hipMemcpy(host.data(), data_, count_ * sizeof(T), hipMemcpyDeviceToHost), hipSuccess);
    return host;
  }

private:
  void* data_ = nullptr;
  size_t count_;
};

// A writer call whose token i goes to slot i.
struct Writer {
  Problem p;
  std::vector<std::vector<float>> keys; // values that the key type holds
  int64_t misaligned_elements = 0;

  std::vector<uint8_t> key_tensor() const {
    const int32_t bytes = key_bytes(p.key_type);
    std::vector<uint8_t> out(
        static_cast<size_t>((misaligned_elements + int64_t(keys.size()) * p.keys_stride) * bytes));
    for (size_t t = 0; t < keys.size(); ++t)
      for (int32_t d = 0; d < p.head_dim; ++d)
        store_key_bits(p.key_type, encode_key(p.key_type, keys[t][size_t(d)]),
                       out.data() + (misaligned_elements + int64_t(t) * p.keys_stride + d) * bytes);
    return out;
  }
  std::vector<uint8_t> run(const std::vector<int64_t>& slots) const {
    const OnDevice<uint8_t> tensor(key_tensor());
    const OnDevice<int64_t> device_slots(slots);
    const OnDevice<uint8_t> cache(std::vector<uint8_t>(size_t(kv_cache_bytes(p)), kUntouched));
    mqa_cache_write_args a{};
    a.struct_size = sizeof a;
    a.tokens = int64_t(slots.size()), a.head_dim = p.head_dim, a.block_size = p.block_size,
    a.layout = p.layout, a.fp8 = p.fp8, a.key_type = p.key_type, a.scale_format = p.scale_format,
    a.num_blocks = p.num_blocks;
    a.keys = tensor.get() + misaligned_elements * key_bytes(p.key_type), a.keys_stride = p.keys_stride;
    a.slots = device_slots.get();
    a.kv_cache = cache.get(), a.kv_block_stride_bytes = p.kv_block_stride_bytes;
    EXPECT_EQ(mqa_cache_write(&a, nullptr), MQA_OK) << mqa_last_error();
    EXPECT_EQ(hipDeviceSynchronize(), hipSuccess);
    return cache.read();
  }
  std::vector<uint8_t> expected(const std::vector<int64_t>& slots) const {
    SparseBuffer cache(kv_cache_bytes(p));
    std::memset(cache.fill(0, cache.size()).data(), kUntouched, size_t(cache.size()));
    for (size_t t = 0; t < slots.size(); ++t)
      if (is_written(p, slots[t])) put_token(p, cache, slots[t], quantise(keys[t], p.fp8, p.scale_format));
    return {cache.data(), cache.data() + cache.size()};
  }
};

Problem cache_of(int32_t head_dim, int32_t block_size, mqa_layout layout, int64_t blocks) {
  Problem p;
  p.op = Operation::cache_write;
  p.head_dim = head_dim, p.block_size = block_size, p.layout = layout, p.num_blocks = blocks;
  p.kv_block_stride_bytes = int64_t{block_size} * (head_dim + 4), p.keys_stride = head_dim;
  return p;
}

// Every value of the type, at scale 1: each token starts with the largest code's value.
void expect_every_value_encoded(mqa_key_type type, mqa_fp8 flavour) {
  const float largest = flavour == MQA_E4M3FN ? 448 : 240;
  Writer w{cache_of(256, 1, MQA_PLANAR, 260), {}, 0};
  w.p.key_type = type, w.p.fp8 = flavour;
  std::vector<int64_t> slots;
  for (uint32_t bits = 0; bits < 0x10000;) {
    std::vector<float> key{largest};
    for (int d = 1; d < 256; ++d) {
      const float x = decode_key(type, bits < 0x10000 ? bits++ : 0);
      key.push_back(std::isnan(x) || std::fabs(x) <= largest ? x : largest);
    }
    w.keys.push_back(key);
    slots.push_back(int64_t(slots.size()));
  }
  const std::vector<uint8_t> got = w.run(slots);
  for (size_t t = 0; t < slots.size(); ++t)
    for (size_t d = 0; d < 256; ++d)
      ASSERT_EQ(got[t * 260 + d], encode_fp8(flavour, w.keys[t][d])) << w.keys[t][d] << " type " << type;
}
TEST(CacheWriteOnDevice, EncodesEveryBf16AndFp16) {
  for (const mqa_fp8 flavour : {MQA_E4M3FN, MQA_E4M3FNUZ}) {
    expect_every_value_encoded(MQA_KEY_BF16, flavour);
    expect_every_value_encoded(MQA_KEY_FP16, flavour);
  }
}

TEST(CacheWriteOnDevice, AgreesForEveryHeadDimAndAlignment) {
  const Stream random(3, 4);
  uint64_t next = 0;
  for (int32_t head_dim = 16; head_dim <= 256; head_dim += 16)
    for (const mqa_layout layout : {MQA_PLANAR, MQA_SHUFFLED}) {
      Writer w{cache_of(head_dim, 48, layout, 2), {}, int64_t(random.below(8, next++))};
      w.p.key_type = mqa_key_type(random.below(3, next++)), w.p.fp8 = mqa_fp8(random.below(2, next++));
      w.p.scale_format = mqa_scale_format(random.below(2, next++));
      w.p.keys_stride += int64_t(random.below(3, next++)),
          w.p.kv_block_stride_bytes += 4 * int64_t(random.below(3, next++));
      std::vector<int64_t> slots;
      for (int64_t t = 0; t < 70; ++t) {
        std::vector<float> key;
        for (int32_t d = 0; d < head_dim; ++d) {
          const uint64_t draw = next++;
          const double x =
              t % 2 ? std::bit_cast<float>(uint32_t(random.word(draw))) : random.at(draw).gaussian();
          key.push_back(decode_key(w.p.key_type, encode_key(w.p.key_type, x)));
        }
        w.keys.push_back(key), slots.push_back((t * 61) % 96);
      }
      ASSERT_EQ(w.run(slots), w.expected(slots)) << head_dim << " dims, layout " << layout;
    }
}

TEST(CacheWriteOnDevice, SlotsOutsideThePoolAreSkipped) {
  Writer w{cache_of(32, 16, MQA_SHUFFLED, 2), std::vector(7, std::vector<float>(32, 3.0f)), 0};
  const std::vector<int64_t> slots{-1, 31, 32, INT64_MIN, 0, INT64_MAX, int64_t{1} << 32};
  EXPECT_EQ(w.run(slots), w.expected(slots));
}
TEST(CacheWriteOnDevice, AnEmptyPoolTakesNothing) {
  Writer w{cache_of(32, 1, MQA_PLANAR, 0), {std::vector<float>(32, 1.0f)}, 0};
  EXPECT_TRUE(w.run({0}).empty());
}

// A gather over blocks of 16 tokens of 16 dims; byte d of physical slot s is s + d, its scale s.
struct Gather {
  std::vector<int32_t> prefix, table;
  int64_t table_stride = 0, tokens = 0, keys_stride = 16, scales_stride = 1, misaligned_bytes = 0;
  int32_t blocks = 4;
  std::vector<uint8_t> keys{};
  std::vector<float> scales{};

  void run() {
    constexpr int64_t kStride = 16 * 20;
    std::vector<uint8_t> cache(size_t(blocks * kStride));
    for (int32_t slot = 0; slot < 16 * blocks; ++slot) {
      uint8_t* block = cache.data() + slot / 16 * kStride;
      for (int d = 0; d < 16; ++d) block[slot % 16 * 16 + d] = uint8_t(slot + d);
      const auto scale = float(slot);
      std::memcpy(block + 256 + slot % 16 * 4, &scale, 4);
    }
    const OnDevice<uint8_t> device_cache(cache);
    const OnDevice<int32_t> device_prefix(prefix), device_table(table);
    const OnDevice<uint8_t> device_keys(
        std::vector<uint8_t>(size_t(tokens * keys_stride + misaligned_bytes), kUntouched));
    const OnDevice<float> device_scales(std::vector<float>(size_t(tokens * scales_stride), -1.0f));
    mqa_cache_gather_args a{};
    a.struct_size = sizeof a;
    a.batch = int32_t(prefix.size()) - 1, a.head_dim = 16, a.block_size = 16, a.num_blocks = blocks;
    a.kv_cache = device_cache.get(), a.kv_block_stride_bytes = kStride;
    a.block_table = device_table.get(), a.block_table_stride = table_stride;
    a.cu_seq_lens = device_prefix.get(), a.tokens = tokens;
    a.keys = device_keys.get() + misaligned_bytes, a.keys_stride = keys_stride;
    a.scales = device_scales.get(), a.scales_stride = scales_stride;
    ASSERT_EQ(mqa_cache_gather(&a, nullptr), MQA_OK) << mqa_last_error();
    ASSERT_EQ(hipDeviceSynchronize(), hipSuccess) << "a wild access";
    keys = device_keys.read(), scales = device_scales.read();
  }
  // The slot that an output row holds; -1: not written.
  int32_t slot(int64_t row) const {
    const uint8_t* key = keys.data() + misaligned_bytes + row * keys_stride;
    const float scale = scales[size_t(row * scales_stride)];
    for (int d = 0; d < 16; ++d)
      EXPECT_EQ(key[d], scale < 0 ? kUntouched : uint8_t(int32_t(scale) + d))
          << "row " << row << " dim " << d;
    return int32_t(scale);
  }
  std::vector<int32_t> slots() const {
    std::vector<int32_t> all;
    for (int64_t row = 0; row < tokens; ++row) all.push_back(slot(row));
    return all;
  }
};

TEST(CacheGatherOnDevice, RowsOutsideTheSequencesAreNotWritten) {
  Gather g{{2, 4, 4, 5}, {3, 0, 1}, 1, 7};
  g.run();
  EXPECT_EQ(g.slots(), (std::vector<int32_t>{-1, -1, 48, 49, 16, -1, -1}));
}
TEST(CacheGatherOnDevice, RowsFromTheTokensOnAreNotWritten) {
  Gather g{{0, 9}, {2}, 1, 5};
  g.run();
  EXPECT_EQ(g.slots(), (std::vector<int32_t>{32, 33, 34, 35, 36}));
}
TEST(CacheGatherOnDevice, OddStridesAndAddresses) {
  Gather g{{0, 17, 18}, {1, 0, 3, 2}, 2, 18};
  g.keys_stride = 19, g.scales_stride = 3, g.misaligned_bytes = 3;
  g.run();
  EXPECT_EQ(g.slot(0), 16);
  EXPECT_EQ(g.slot(15), 31);
  EXPECT_EQ(g.slot(16), 0);
  EXPECT_EQ(g.slot(17), 48);
  for (int64_t row = 0; row < 18; ++row)
    for (int64_t byte = 16; byte < 19; ++byte) EXPECT_EQ(g.keys[size_t(3 + row * 19 + byte)], kUntouched);
}
TEST(CacheGatherOnDevice, ASharedTable) {
  Gather g{{0, 2, 3}, {2}, 0, 3};
  g.run();
  EXPECT_EQ(g.slots(), (std::vector<int32_t>{32, 33, 32}));
}
TEST(CacheGatherOnDevice, AMissingBlockGivesZerosAndTheNaNScale) {
  for (const int32_t id : {-1, 4, INT32_MIN, INT32_MAX}) {
    Gather g{{0, 1}, {id}, 1, 1};
    g.run();
    EXPECT_EQ(g.keys, std::vector<uint8_t>(16, 0));
    EXPECT_EQ(std::bit_cast<uint32_t>(g.scales[0]), 0x7fc00000u);
  }
}
TEST(CacheGatherOnDevice, PrefixesThatDoNotAscendReachNoForeignMemory) {
  for (const std::vector<int32_t>& prefix : {std::vector<int32_t>{9, 3, 0},
                                             {-5, -3, 2},
                                             {0, 5, 2},
                                             {4, 4, 4},
                                             {5, -5, 5},
                                             {-9, -7, -5},
                                             {3, 0, INT32_MIN}}) {
    Gather g{prefix, {1, 2}, 1, 6};
    g.run();
    for (const int32_t slot : g.slots()) EXPECT_LT(slot, 48);
  }
}
TEST(CacheGatherOnDevice, ASequenceThatBeginsBelowRowZeroShowsItsRest) {
  Gather g{{-2, 3}, {1}, 1, 4};
  g.run();
  EXPECT_EQ(g.slots(), (std::vector<int32_t>{18, 19, 20, -1}));
}

} // namespace
} // namespace mqalab
