// The arch layer of sm_90 and the HIP header over CUDA, on the device (built for nvidia only): what the host
// cannot enumerate, namely the conversion instruction, the loads, the matrix unit and the runtime calls.
#include "kernels/arch/nvidia.hpp"
#include "kernels/fp8_test.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>
#include <vector>

namespace mqa {
namespace {

#define EXPECT_HIP(call) EXPECT_EQ(call, hipSuccess) << #call

template <class T> class DeviceArray {
public:
  explicit DeviceArray(size_t count) : count_(count) { EXPECT_HIP(hipMalloc(&data_, count * sizeof(T))); }
  explicit DeviceArray(const std::vector<T>& host) : DeviceArray(host.size()) {
    EXPECT_HIP(hipMemcpy(data_, host.data(), count_ * sizeof(T), hipMemcpyHostToDevice));
  }
  ~DeviceArray() { EXPECT_HIP(hipFree(data_)); }
  T* data() const { return data_; }
  std::vector<T> host() const {
    std::vector<T> out(count_);
    EXPECT_HIP(hipMemcpy(out.data(), data_, count_ * sizeof(T), hipMemcpyDeviceToHost));
    return out;
  }

private:
  T* data_ = nullptr;
  size_t count_;
};

// ---- decoding ----
__global__ void decode_all(uint32_t* halves, bool fnuz) { // thread i: bytes 4i .. 4i+3
  const uint32_t i = threadIdx.x, word = 4 * i | (4 * i + 1) << 8 | (4 * i + 2) << 16 | (4 * i + 3) << 24;
  for (int pair = 0; pair < 2; ++pair) halves[2 * i + pair] = Nvidia::halves(word, pair, fnuz);
}
TEST(Nvidia, DecodesEveryByteOfBothFlavoursExactly) {
  for (const bool fnuz : {false, true}) {
    DeviceArray<uint32_t> device(128);
    decode_all<<<1, 64>>>(device.data(), fnuz);
    const auto halves = device.host();
    for (int byte = 0; byte < 256; ++byte) {
      const double got = half_value(static_cast<uint16_t>(halves[byte / 2] >> 16 * (byte % 2)));
      const double want = decoded(static_cast<uint8_t>(byte), fnuz);
      EXPECT_TRUE(std::isnan(want) ? std::isnan(got) : got == want)
          << "fnuz " << fnuz << ", byte " << byte << ": got " << got << ", expected " << want;
    }
  }
}

// ---- product ----
struct ProductArgs {
  const uint8_t *keys, *queries; // [32][D], [16][D]
  float* dots;                   // [32 tokens][16 heads]
  bool fnuz;
};
template <int D> __global__ void all_dots(ProductArgs p, PagedArgs a) {
  constexpr int bytes = Nvidia::kChunkBytes<D>;
  const int lane = threadIdx.x, first = bytes * Nvidia::quarter(lane);
  uint32_t raw_keys[Nvidia::kSlots][D / 16], raw_query[Nvidia::kFragmentHeads][D / 16];
  for (int c = 0; c < Nvidia::kChunks<D>; ++c) {
    for (int slot = 0; slot < Nvidia::kSlots; ++slot)
      Nvidia::load_key_bytes<bytes>(raw_keys[slot] + c * bytes / 4,
                                    p.keys + Nvidia::slot_token(slot, lane) * D + 64 * c + first, a);
    for (int j = 0; j < Nvidia::kFragmentHeads; ++j)
      Nvidia::load_bytes<bytes>(raw_query[j] + c * bytes / 4,
                                p.queries + Nvidia::fragment_head(lane, j) * D + 64 * c + first);
  }
  Nvidia::KeyFragment<D> keys[Nvidia::kSlots];
  Nvidia::decode_keys<D>(keys, raw_keys, p.fnuz);
  const auto product = Nvidia::product<D>(keys, Nvidia::decode_query<D>(raw_query, p.fnuz));
  for (int slot = 0; slot < Nvidia::kSlots; ++slot)
    for (int v = 0; v < 4; ++v)
      p.dots[Nvidia::slot_token(slot, lane) * kHeadTile + Nvidia::head_in_tile(v, Nvidia::quarter(lane))] =
          product.value[slot][v];
}

// Bytes of integers -8..8, which both flavours have; `values` receives the integers.
std::vector<uint8_t> integer_bytes(size_t count, bool fnuz, uint32_t seed, std::vector<int>* values) {
  std::vector<std::vector<uint8_t>> byte_of(17);
  for (int byte = 0; byte < 256; ++byte) {
    const double value = decoded(static_cast<uint8_t>(byte), fnuz);
    if (std::abs(value) <= 8 && value == std::floor(value))
      byte_of[static_cast<int>(value) + 8].push_back(byte);
  }
  std::mt19937 random(seed);
  std::vector<uint8_t> bytes(count);
  for (uint8_t& byte : bytes) {
    values->push_back(static_cast<int>(random() % 17) - 8);
    byte = byte_of[values->back() + 8].front();
  }
  return bytes;
}

// Keys start at a multiple of 16 plus key_shift bytes, queries at one plus query_shift.
template <int D> void expect_exact_dots(bool fnuz, int key_shift, int query_shift) {
  std::vector<int> key_values, query_values;
  auto keys = integer_bytes(Nvidia::kLanes * D, fnuz, 1, &key_values);
  auto queries = integer_bytes(kHeadTile * D, fnuz, 2, &query_values);
  keys.insert(keys.begin(), key_shift, 0x7f);
  queries.insert(queries.begin(), query_shift, 0x7f);
  DeviceArray<uint8_t> device_keys(keys), device_queries(queries);
  DeviceArray<float> dots(Nvidia::kLanes * kHeadTile);
  PagedArgs a = {};
  a.aligned16 = key_shift % 16 == 0;
  all_dots<D><<<1, Nvidia::kLanes>>>(
      {device_keys.data() + key_shift, device_queries.data() + query_shift, dots.data(), fnuz}, a);
  const auto got = dots.host();
  for (int token = 0; token < Nvidia::kLanes; ++token)
    for (int head = 0; head < kHeadTile; ++head) {
      int want = 0;
      for (int d = 0; d < D; ++d) want += key_values[token * D + d] * query_values[head * D + d];
      ASSERT_EQ(got[token * kHeadTile + head], want)
          << "D " << D << ", fnuz " << fnuz << ", shifts " << key_shift << " and " << query_shift
          << ", token " << token << ", head " << head;
    }
}
TEST(Nvidia, DotsOfIntegersAreExactAtEveryAlignment) {
  for (const bool fnuz : {false, true})
    for (const int key_shift : {0, 4, 8, 12})
      for (const int query_shift : {0, 1, 2, 3, 4, 8}) {
        expect_exact_dots<32>(fnuz, key_shift, query_shift);
        expect_exact_dots<64>(fnuz, key_shift, query_shift);
        expect_exact_dots<128>(fnuz, key_shift, query_shift);
      }
}

// ---- stores ----
__global__ void store_at(float* base, uint32_t offset_bytes) {
  Nvidia::buffer_store_32(base, offset_bytes, 1.0f);
}
TEST(Nvidia, BufferStoreIsDroppedFrom2GiBOn) {
  constexpr size_t kLimit = (size_t{1} << 31) / sizeof(float);
  DeviceArray<float> memory(kLimit + 2);
  EXPECT_HIP(hipMemsetD32(memory.data() + kLimit - 2, 0, 4));
  store_at<<<1, 1>>>(memory.data(), 0x7ffffffcu);
  store_at<<<1, 1>>>(memory.data(), 0x80000000u);
  float got[4];
  EXPECT_HIP(hipMemcpy(got, memory.data() + kLimit - 2, sizeof got, hipMemcpyDeviceToHost));
  EXPECT_EQ(got[0], 0.0f);
  EXPECT_EQ(got[1], 1.0f);
  EXPECT_EQ(got[2], 0.0f);
  EXPECT_EQ(got[3], 0.0f);
}

// ---- runtime ----
TEST(NvidiaRuntime, NamesTheTargetWhoseInstructionsTheKernelsUse) {
  hipDeviceProp_t properties;
  ASSERT_EQ(hipGetDeviceProperties(&properties, 0), hipSuccess);
  EXPECT_EQ(std::string(properties.gcnArchName), "sm_90a");
  EXPECT_EQ(properties.warpSize, Nvidia::kLanes);
  int count = 0;
  EXPECT_HIP(hipDeviceGetAttribute(&count, hipDeviceAttributeMultiprocessorCount, 0));
  EXPECT_EQ(count, properties.multiProcessorCount);
}
TEST(NvidiaRuntime, FillsWordsAlsoInACapturedGraph) {
  DeviceArray<uint32_t> words(1000);
  hipStream_t stream;
  hipGraph_t graph;
  hipGraphExec_t exec;
  ASSERT_EQ(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking), hipSuccess);
  EXPECT_HIP(hipMemsetD32Async(words.data(), 0x7fc0dead, 1000, stream));
  EXPECT_HIP(hipStreamSynchronize(stream));
  EXPECT_EQ(words.host(), std::vector<uint32_t>(1000, 0x7fc0dead));
  ASSERT_EQ(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal), hipSuccess);
  EXPECT_HIP(hipMemsetD32Async(words.data(), 7, 1000, stream));
  ASSERT_EQ(hipStreamEndCapture(stream, &graph), hipSuccess);
  size_t nodes = 0;
  EXPECT_HIP(hipGraphGetNodes(graph, nullptr, &nodes));
  EXPECT_EQ(nodes, 1u);
  ASSERT_EQ(hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0), hipSuccess);
  EXPECT_EQ(words.host(), std::vector<uint32_t>(1000, 0x7fc0dead));
  EXPECT_HIP(hipGraphLaunch(exec, stream));
  EXPECT_HIP(hipStreamSynchronize(stream));
  EXPECT_EQ(words.host(), std::vector<uint32_t>(1000, 7));
  EXPECT_HIP(hipGraphExecDestroy(exec));
  EXPECT_HIP(hipGraphDestroy(graph));
  EXPECT_HIP(hipStreamDestroy(stream));
}
TEST(NvidiaRuntime, ReportsABadLaunchOnceAndGoesOn) {
  store_at<<<1, 4096>>>(nullptr, 0);
  EXPECT_NE(hipGetLastError(), hipSuccess);
  EXPECT_HIP(hipGetLastError());
  EXPECT_HIP(hipDeviceSynchronize());
}

} // namespace
} // namespace mqa
