// Every refusal names the argument, the value and what is allowed.
#include "kernels/launch.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

namespace mqa {
namespace {

using Args = mqa_paged_logits_args;

Args legal() {
  Args a{};
  a.struct_size = sizeof a;
  a.batch = 2;
  a.next_n = 2;
  a.heads = 32;
  a.head_dim = 128;
  a.block_size = 64;
  a.max_model_len = 1000;
  a.num_blocks = 40;
  a.q_stride_head = 128;
  a.q_stride_next = 128 * 32;
  a.q_stride_batch = 128 * 32 * 2;
  a.kv_block_stride_bytes = 64 * 132;
  a.weights_stride = 32;
  a.context_lens_stride = 1;
  a.block_table_stride = 16;
  a.logits_stride = 1000;
  static const int32_t somewhere[4] = {};
  a.q = a.kv_cache = reinterpret_cast<const uint8_t*>(somewhere);
  a.weights = reinterpret_cast<const float*>(somewhere);
  a.context_lens = a.block_table = somewhere;
  a.logits = reinterpret_cast<float*>(const_cast<int32_t*>(somewhere));
  return a;
}

struct Bad {
  const char* what;
  std::function<void(Args&)> spoil;
  const char* says;
};

class Refusal : public ::testing::TestWithParam<Bad> {};
TEST_P(Refusal, NamesTheArgumentItsValueAndWhatIsAllowed) {
  Args a = legal();
  GetParam().spoil(a);
  EXPECT_EQ(mqa_paged_logits(&a, nullptr, nullptr, nullptr), MQA_INVALID_ARGUMENT);
  EXPECT_THAT(mqa_last_error(), ::testing::HasSubstr(GetParam().says));
}

const Bad kBad[] = {
    {"struct_size", [](Args& a) { a.struct_size = 8; }, "struct_size is 8"},
    {"batch", [](Args& a) { a.batch = -1; }, "batch is -1; allowed: 0 and more"},
    {"next_n", [](Args& a) { a.next_n = 0; }, "next_n is 0; allowed: 1 and more"},
    {"rows", [](Args& a) { a.batch = a.next_n = 1 << 16; }, "batch * next_n is 4294967296"},
    {"heads_none", [](Args& a) { a.heads = 0; }, "heads is 0; allowed: 1 to 1024"},
    {"heads_many", [](Args& a) { a.heads = 1025; }, "heads is 1025"},
    {"head_dim", [](Args& a) { a.head_dim = 90; }, "head_dim is 90; allowed: multiples of 16 from 16 to 256"},
    {"head_dim_big", [](Args& a) { a.head_dim = 272; }, "head_dim is 272"},
    {"block_size", [](Args& a) { a.block_size = 24; },
     "block_size is 24; allowed: 1, or a multiple of 16 up to 1024"},
    {"block_size_big", [](Args& a) { a.block_size = 2048; }, "block_size is 2048"},
    {"shuffled_one", [](Args& a) { a.layout = MQA_SHUFFLED, a.block_size = 1, a.block_table_stride = 1000; },
     "with layout shuffled"},
    {"layout", [](Args& a) { a.layout = 7; }, "layout is 7; allowed: 0 to 1"},
    {"fp8", [](Args& a) { a.fp8 = -3; }, "fp8 is -3; allowed: 0 to 1"},
    {"tail", [](Args& a) { a.tail = 2; }, "tail is 2; allowed: 0 to 1"},
    {"lens_per_row", [](Args& a) { a.lens_per_row = 5; }, "lens_per_row is 5"},
    {"max_model_len", [](Args& a) { a.max_model_len = 0; }, "max_model_len is 0; allowed: 1 to 16777216"},
    {"max_model_len_big", [](Args& a) { a.max_model_len = (1 << 24) + 1; }, "max_model_len is 16777217"},
    {"num_blocks", [](Args& a) { a.num_blocks = -5; }, "num_blocks is -5"},
    {"q_stride_head", [](Args& a) { a.q_stride_head = 127; },
     "q_stride_head is 127; allowed: 128 to 2^40, or 0"},
    {"q_stride_next", [](Args& a) { a.q_stride_next = -128; }, "q_stride_next is -128"},
    {"q_stride_batch", [](Args& a) { a.q_stride_batch = INT64_MAX; },
     "q_stride_batch is 9223372036854775807"},
    {"kv_small", [](Args& a) { a.kv_block_stride_bytes = 8444; },
     "kv_block_stride_bytes is 8444; allowed: 8448"},
    {"kv_odd", [](Args& a) { a.kv_block_stride_bytes = 8450; }, "multiples of 4"},
    {"weights_stride", [](Args& a) { a.weights_stride = 31; }, "weights_stride is 31"},
    {"lens_stride", [](Args& a) { a.lens_per_row = 1; }, "context_lens_stride is 1; allowed: 2"},
    {"table_stride", [](Args& a) { a.block_table_stride = 15; }, "block_table_stride is 15; allowed: 16"},
    {"logits_stride", [](Args& a) { a.logits_stride = 999; }, "logits_stride is 999; allowed: 1000"},
    {"q", [](Args& a) { a.q = nullptr; }, "q is NULL"},
    {"kv_cache", [](Args& a) { a.kv_cache = nullptr; }, "kv_cache is NULL"},
    {"kv_cache_odd", [](Args& a) { a.kv_cache += 2; }, "it must be aligned to 4 bytes"},
    {"weights", [](Args& a) { a.weights = nullptr; }, "weights is NULL"},
    {"context_lens", [](Args& a) { a.context_lens = nullptr; }, "context_lens is NULL"},
    {"block_table", [](Args& a) { a.block_table = nullptr; }, "block_table is NULL"},
    {"logits", [](Args& a) { a.logits = nullptr; }, "logits is NULL"},
    {"ragged", [](Args& a) { a.slot_prefix = a.context_lens; },
     "slot_prefix is set; allowed: NULL in this function; ragged keys are mqa_ragged_logits"},
    {"per_head", [](Args& a) { a.logits_stride_head = 4000; },
     "logits_stride_head is 4000; allowed: 0 in this function; per-head logits are mqa_per_head_logits"},
};
INSTANTIATE_TEST_SUITE_P(All, Refusal, ::testing::ValuesIn(kBad),
                         [](const auto& info) { return info.param.what; });

TEST(Validation, AcceptsTheLegalCall) { EXPECT_EQ(why_invalid(legal(), false), ""); }
TEST(Validation, AcceptsAnEmptyBatchWithoutPointers) {
  Args a = legal();
  a.batch = 0;
  a.q = nullptr;
  a.logits = nullptr;
  EXPECT_EQ(why_invalid(a, false), "");
}
TEST(Validation, AcceptsSharedQueriesAndTables) {
  Args a = legal();
  a.q_stride_head = a.q_stride_batch = a.weights_stride = a.block_table_stride = 0;
  EXPECT_EQ(why_invalid(a, false), "");
}
TEST(Validation, AcceptsAnEmptyPoolWithoutPointer) {
  Args a = legal();
  a.num_blocks = 0;
  a.kv_cache = nullptr;
  EXPECT_EQ(why_invalid(a, false), "");
}

} // namespace
} // namespace mqa
