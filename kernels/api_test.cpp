// The C API on a device: a case small enough to work out by hand, and what it says when it refuses.
#include "kernels/mqa.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <hip/hip_runtime_api.h>

#include <cmath>
#include <cstring>
#include <vector>

namespace {

// Device copy of a host vector, freed with it.
template <class T> struct OnDevice {
  T* data = nullptr;
  size_t count;
  explicit OnDevice(const std::vector<T>& host) : count(host.size()) {
    EXPECT_EQ(hipMalloc(reinterpret_cast<void**>(&data), count * sizeof(T)), hipSuccess);
    EXPECT_EQ(hipMemcpy(data, host.data(), count * sizeof(T), hipMemcpyHostToDevice), hipSuccess);
  }
  ~OnDevice() { (void)hipFree(data); }
  std::vector<T> host() const {
    std::vector<T> copy(count);
    EXPECT_EQ(hipMemcpy(copy.data(), data, count * sizeof(T), hipMemcpyDeviceToHost), hipSuccess);
    return copy;
  }
};

constexpr float kSentinel = 12345.0f;

// 8 heads of ones, keys of twos in the first dim and a half in the last: dot = 2.5; block size 1, two tokens,
// reversed.
struct Small {
  bool fnuz;
  uint8_t one = fnuz ? 0x40 : 0x38, two = fnuz ? 0x48 : 0x40, half = fnuz ? 0x38 : 0x30;
  OnDevice<uint8_t> q{std::vector<uint8_t>(8 * 32, one)};
  OnDevice<uint8_t> kv{cache()};
  OnDevice<float> weights{{1, 2, 3, 4, -1, -2, -3, 1}}; // sum 5
  OnDevice<int32_t> lens{{2}}, table{{1, 0, 99, -1}};
  OnDevice<float> logits{std::vector<float>(8, kSentinel)};

  std::vector<uint8_t> cache() const {
    std::vector<uint8_t> bytes(2 * 36, 0);
    for (int t = 0; t < 2; ++t) {
      bytes[t * 36] = two;
      bytes[t * 36 + 31] = half;
      const float scale = t == 0 ? 4.0f : 0.5f;
      std::memcpy(&bytes[t * 36 + 32], &scale, 4);
    }
    return bytes;
  }
  mqa_paged_logits_args args() const {
    mqa_paged_logits_args a{};
    a.struct_size = sizeof a;
    a.batch = a.next_n = 1;
    a.heads = 8;
    a.head_dim = 32;
    a.block_size = 1;
    a.fp8 = fnuz ? MQA_E4M3FNUZ : MQA_E4M3FN;
    a.tail = MQA_TAIL_NEG_INF;
    a.max_model_len = 4;
    a.num_blocks = 2;
    a.q = q.data;
    a.q_stride_head = 32;
    a.q_stride_next = a.q_stride_batch = 256;
    a.kv_cache = kv.data;
    a.kv_block_stride_bytes = 36;
    a.weights = weights.data;
    a.weights_stride = 8;
    a.context_lens = lens.data;
    a.context_lens_stride = 1;
    a.block_table = table.data;
    a.block_table_stride = 4;
    a.logits = logits.data;
    a.logits_stride = 8;
    return a;
  }
};

TEST(Api, ComputesTheHandWorkedCaseInBothFlavours) {
  for (bool fnuz : {false, true}) {
    const Small small{fnuz};
    const auto args = small.args();
    mqa_choice choice{};
    choice.struct_size = sizeof choice;
    const mqa_config automatic{};
    ASSERT_EQ(mqa_paged_logits(&args, &automatic, nullptr, &choice), MQA_OK) << mqa_last_error();
    const float inf = INFINITY;
    EXPECT_THAT(small.logits.host(), ::testing::ElementsAre(2.5f * 5 * 0.5f, 2.5f * 5 * 4, -inf, -inf,
                                                            kSentinel, kSentinel, kSentinel, kSentinel));
    EXPECT_EQ(choice.source, MQA_SOURCE_EXPLICIT);
    EXPECT_EQ(choice.config.variant, MQA_VARIANT_STAGED);
    EXPECT_EQ(choice.config.split_kv, 1);
  }
}

TEST(Api, ABadBlockIdGivesNanForItsTokenOnly) {
  const Small small{true};
  auto args = small.args();
  args.num_blocks = 1; // the table's first entry, 1, is now outside
  const mqa_config automatic{};
  ASSERT_EQ(mqa_paged_logits(&args, &automatic, nullptr, nullptr), MQA_OK) << mqa_last_error();
  const auto got = small.logits.host();
  EXPECT_TRUE(std::isnan(got[0]));
  EXPECT_EQ(got[1], 2.5f * 5 * 4);
}

TEST(Api, AnEmptyPoolGivesNanForEveryToken) {
  const Small small{true};
  auto args = small.args();
  args.num_blocks = 0;
  args.kv_cache = nullptr;
  const mqa_config automatic{};
  ASSERT_EQ(mqa_paged_logits(&args, &automatic, nullptr, nullptr), MQA_OK) << mqa_last_error();
  const auto got = small.logits.host();
  EXPECT_TRUE(std::isnan(got[0]));
  EXPECT_TRUE(std::isnan(got[1]));
  EXPECT_EQ(got[2], -INFINITY);
}

TEST(Api, RefusesWithAMessageAndLaunchesNothing) {
  const Small small{true};
  auto args = small.args();
  args.heads = 0;
  EXPECT_EQ(mqa_paged_logits(&args, nullptr, nullptr, nullptr), MQA_INVALID_ARGUMENT);
  EXPECT_THAT(mqa_last_error(), ::testing::HasSubstr("heads is 0"));
  EXPECT_THAT(small.logits.host(), ::testing::Each(kSentinel));
  EXPECT_EQ(mqa_paged_logits(nullptr, nullptr, nullptr, nullptr), MQA_INVALID_ARGUMENT);
}

TEST(Api, AnEmptyBatchIsOk) {
  mqa_paged_logits_args args = Small{true}.args();
  args.batch = 0;
  EXPECT_EQ(mqa_paged_logits(&args, nullptr, nullptr, nullptr), MQA_OK) << mqa_last_error();
}

TEST(Api, TheSecondArgumentOfAChoiceIsChecked) {
  const auto args = Small{true}.args();
  mqa_choice choice{};
  EXPECT_EQ(mqa_choose(&args, &choice), MQA_INVALID_ARGUMENT);
  EXPECT_THAT(mqa_last_error(), ::testing::HasSubstr("struct_size"));
}

TEST(Api, AChoiceShowsTheSlowPathAndWhy) {
  auto args = Small{true}.args();
  args.head_dim = 16;
  args.kv_cache = nullptr, args.q = nullptr; // a choice needs no pointer
  mqa_choice choice{};
  choice.struct_size = sizeof choice;
  ASSERT_EQ(mqa_choose(&args, &choice), MQA_OK) << mqa_last_error();
  EXPECT_EQ(choice.config.variant, MQA_VARIANT_GENERAL);
  EXPECT_THAT(choice.reason, ::testing::HasSubstr("the slow path"));
}
TEST(Api, AChoiceKnowsRaggedAndPerHeadCalls) {
  auto args = Small{true}.args();
  mqa_choice choice{};
  choice.struct_size = sizeof choice;
  args.slot_prefix = args.context_lens;
  EXPECT_EQ(mqa_choose(&args, &choice), MQA_INVALID_ARGUMENT);
  EXPECT_THAT(mqa_last_error(), ::testing::HasSubstr("block_table_stride is 4; allowed: 0 with ragged keys"));
  args.block_table_stride = 0, args.logits_stride_head = 8;
  ASSERT_EQ(mqa_choose(&args, &choice), MQA_OK) << mqa_last_error();
  EXPECT_EQ(choice.config.wave_per_eu, 2);
}

TEST(Api, TheKernelHashIsSixteenHexadecimalDigits) {
  EXPECT_THAT(mqa_kernel_hash(), ::testing::MatchesRegex("[0-9a-f]{16}"));
  EXPECT_STRNE(mqa_kernel_hash(), "0000000000000000");
}

TEST(Api, AGraphReplayUsesTheLengthsOfTheMoment) {
  const Small small{true};
  const auto args = small.args();
  const mqa_config automatic{};
  hipStream_t stream;
  ASSERT_EQ(hipStreamCreate(&stream), hipSuccess);
  hipGraph_t graph;
  hipGraphExec_t executable;
  ASSERT_EQ(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal), hipSuccess);
  ASSERT_EQ(mqa_paged_logits(&args, &automatic, stream, nullptr), MQA_OK) << mqa_last_error();
  ASSERT_EQ(hipStreamEndCapture(stream, &graph), hipSuccess);
  ASSERT_EQ(hipGraphInstantiate(&executable, graph, nullptr, nullptr, 0), hipSuccess);
  const int32_t one = 1;
  ASSERT_EQ(hipMemcpy(small.lens.data, &one, 4, hipMemcpyHostToDevice), hipSuccess);
  ASSERT_EQ(hipGraphLaunch(executable, stream), hipSuccess);
  ASSERT_EQ(hipStreamSynchronize(stream), hipSuccess);
  const auto got = small.logits.host();
  EXPECT_EQ(got[0], 2.5f * 5 * 0.5f);
  EXPECT_EQ(got[1], -INFINITY);
  (void)hipGraphExecDestroy(executable);
  (void)hipGraphDestroy(graph);
  (void)hipStreamDestroy(stream);
}

} // namespace
