// Bad input of ragged, per-head and prefill logits and of the head sum, through the C API: status and
// message.
#include "kernels/launch.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <ostream>

namespace {

using ::testing::HasSubstr;
using Paged = mqa_paged_logits_args;
using Prefill = mqa_prefill_logits_args;
using Sum = mqa_head_sum_args;

alignas(16) int32_t somewhere[16];
const auto* const bytes = reinterpret_cast<const uint8_t*>(somewhere);
auto* const floats = reinterpret_cast<float*>(somewhere);

Paged legal_ragged() {
  Paged a{};
  a.struct_size = sizeof a;
  a.batch = a.next_n = 2, a.heads = 24, a.head_dim = 64, a.block_size = 1;
  a.max_model_len = 1000, a.num_blocks = 40;
  a.q_stride_head = 64, a.q_stride_next = 64 * 24, a.q_stride_batch = 64 * 48;
  a.kv_block_stride_bytes = 68, a.weights_stride = 24, a.logits_stride = 1000;
  a.q = a.kv_cache = bytes, a.weights = floats, a.logits = floats;
  a.slot_prefix = a.block_table = somewhere;
  return a;
}
Paged legal_per_head() {
  Paged a = legal_ragged();
  a.slot_prefix = nullptr, a.context_lens = somewhere, a.context_lens_stride = 1, a.block_table_stride = 1000;
  a.logits_stride_head = 4000;
  return a;
}
Prefill legal_prefill() {
  Prefill a{};
  a.struct_size = sizeof a;
  a.rows = 5, a.heads = 24, a.head_dim = 64, a.num_keys = 40, a.columns = 30;
  a.q = a.k = bytes, a.q_stride_head = 64, a.q_stride_row = 64 * 24, a.k_stride = 64;
  a.k_scales = a.weights = floats, a.k_scales_stride = 1, a.weights_stride = 24;
  a.starts = a.ends = somewhere, a.logits = floats, a.logits_stride = 30;
  return a;
}
Sum legal_sum() {
  static float per_head[64], sums[16];
  Sum a{};
  a.struct_size = sizeof a;
  a.rows = 2, a.heads = 3, a.columns = 8;
  a.per_head = per_head, a.stride_row = 8, a.stride_head = 16, a.sums = sums, a.sums_stride = 8;
  return a;
}

mqa_status call_ragged(const Paged& a) { return mqa_ragged_logits(&a, nullptr, nullptr, nullptr); }
mqa_status call_per_head(const Paged& a) { return mqa_per_head_logits(&a, nullptr, nullptr, nullptr); }
mqa_status call_prefill(const Prefill& a) { return mqa_prefill_logits(&a, nullptr, nullptr, nullptr); }
mqa_status call_sum(const Sum& a) { return mqa_head_sum(&a, nullptr); }

template <class Args> struct Bad {
  const char* what;
  void (*spoil)(Args&);
  const char* says;
  friend void PrintTo(const Bad& bad, std::ostream* to) { *to << bad.what; }
};
template <class Args> void expect_refused(Args a, const Bad<Args>& bad, mqa_status (*call)(const Args&)) {
  bad.spoil(a);
  EXPECT_EQ(call(a), MQA_INVALID_ARGUMENT);
  EXPECT_THAT(mqa_last_error(), HasSubstr(bad.says));
}
const auto name_of = [](const auto& info) { return info.param.what; };

class RaggedRefusal : public ::testing::TestWithParam<Bad<Paged>> {};
TEST_P(RaggedRefusal, NamesTheArgumentItsValueAndWhatIsAllowed) {
  expect_refused(legal_ragged(), GetParam(), call_ragged);
}
const Bad<Paged> kBadRagged[] = {
    {"struct_size", [](Paged& a) { a.struct_size -= 16; }, "struct_size is "},
    {"paged", [](Paged& a) { a.slot_prefix = nullptr; },
     "slot_prefix is NULL; a device pointer is needed; paged keys are mqa_paged_logits"},
    {"per_head", [](Paged& a) { a.logits_stride_head = 1; }, "per-head logits are mqa_per_head_logits"},
    {"prefix_odd", [](Paged& a) { a.slot_prefix = reinterpret_cast<const int32_t*>(bytes + 2); },
     "it must be aligned to 4 bytes"},
    {"block_size", [](Paged& a) { a.block_size = 64, a.kv_block_stride_bytes = 64 * 68; },
     "block_size is 64; allowed: 1 with ragged keys"},
    {"lens_per_row", [](Paged& a) { a.lens_per_row = 1; }, "lens_per_row is 1; allowed: 0 with ragged keys"},
    {"table_stride", [](Paged& a) { a.block_table_stride = 1000; },
     "block_table_stride is 1000; allowed: 0 with ragged keys"},
    {"batch", [](Paged& a) { a.batch = -7; }, "batch is -7; allowed: 0 and more"},
    {"rows", [](Paged& a) { a.batch = a.next_n = 1 << 16; }, "batch * next_n is 4294967296"},
    {"heads", [](Paged& a) { a.heads = 1025; }, "heads is 1025; allowed: 1 to 1024"},
    {"head_dim", [](Paged& a) { a.head_dim = 8; }, "head_dim is 8; allowed: multiples of 16"},
    {"max_model_len", [](Paged& a) { a.max_model_len = 0; }, "max_model_len is 0"},
    {"weights_stride", [](Paged& a) { a.weights_stride = 23; }, "weights_stride is 23; allowed: 24"},
    {"logits_stride", [](Paged& a) { a.logits_stride = 999; }, "logits_stride is 999; allowed: 1000"},
    {"table", [](Paged& a) { a.block_table = nullptr; }, "block_table is NULL"},
    {"logits", [](Paged& a) { a.logits = nullptr; }, "logits is NULL"},
};
INSTANTIATE_TEST_SUITE_P(All, RaggedRefusal, ::testing::ValuesIn(kBadRagged), name_of);

class PerHeadRefusal : public ::testing::TestWithParam<Bad<Paged>> {};
TEST_P(PerHeadRefusal, NamesTheArgumentItsValueAndWhatIsAllowed) {
  expect_refused(legal_per_head(), GetParam(), call_per_head);
}
const Bad<Paged> kBadPerHead[] = {
    {"struct_size", [](Paged& a) { a.struct_size = 0; }, "struct_size is 0"},
    {"sum", [](Paged& a) { a.logits_stride_head = 0; },
     "logits_stride_head is 0; allowed: the elements between the planes of two heads"},
    {"plane_short", [](Paged& a) { a.logits_stride_head = 3999; },
     "logits_stride_head is 3999; allowed: 4000"},
    {"plane_short_ragged",
     [](Paged& a) { a.slot_prefix = somewhere, a.block_table_stride = 0, a.logits_stride_head = 1; },
     "logits_stride_head is 1; allowed: 4000"},
    {"plane_negative", [](Paged& a) { a.logits_stride_head = -4000; }, "logits_stride_head is -4000"},
    {"plane_one_head", [](Paged& a) { a.heads = 1, a.logits_stride_head = 2; },
     "logits_stride_head is 2; allowed: 4000"},
    {"plane_wraps", [](Paged& a) { a.batch = 1 << 29, a.logits_stride = int64_t{1} << 40; },
     "logits_stride is 1099511627776 for 1073741824 items; allowed: a span of up to 2^60"},
    {"plane_huge", [](Paged& a) { a.logits_stride_head = INT64_MAX; },
     "logits_stride_head is 9223372036854775807"},
    {"next_n", [](Paged& a) { a.next_n = 0; }, "next_n is 0; allowed: 1 and more"},
    {"heads", [](Paged& a) { a.heads = 0; }, "heads is 0; allowed: 1 to 1024"},
    {"layout", [](Paged& a) { a.layout = MQA_SHUFFLED; }, "with layout shuffled"},
    {"table_stride", [](Paged& a) { a.block_table_stride = 999; },
     "block_table_stride is 999; allowed: 1000"},
    {"kv_stride", [](Paged& a) { a.kv_block_stride_bytes = 70; },
     "kv_block_stride_bytes is 70; allowed: multiples of 4"},
    {"context_lens", [](Paged& a) { a.context_lens = nullptr; }, "context_lens is NULL"},
};
INSTANTIATE_TEST_SUITE_P(All, PerHeadRefusal, ::testing::ValuesIn(kBadPerHead), name_of);

class PrefillRefusal : public ::testing::TestWithParam<Bad<Prefill>> {};
TEST_P(PrefillRefusal, NamesTheArgumentItsValueAndWhatIsAllowed) {
  expect_refused(legal_prefill(), GetParam(), call_prefill);
}
const Bad<Prefill> kBadPrefill[] = {
    {"struct_size", [](Prefill& a) { a.struct_size = 7; },
     "struct_size is 7; this library's mqa_prefill_logits_args"},
    {"rows", [](Prefill& a) { a.rows = -1; }, "rows is -1; allowed: 0 and more"},
    {"heads", [](Prefill& a) { a.heads = 2000; }, "heads is 2000; allowed: 1 to 1024"},
    {"head_dim", [](Prefill& a) { a.head_dim = 100; }, "head_dim is 100"},
    {"fp8", [](Prefill& a) { a.fp8 = 2; }, "fp8 is 2; allowed: 0 to 1"},
    {"tail", [](Prefill& a) { a.tail = -1; }, "tail is -1; allowed: 0 to 1"},
    {"compressed", [](Prefill& a) { a.compressed = 2; }, "compressed is 2; allowed: 0 to 1"},
    {"num_keys", [](Prefill& a) { a.num_keys = (1 << 24) + 1; },
     "num_keys is 16777217; allowed: 0 to 16777216"},
    {"columns", [](Prefill& a) { a.columns = 0; }, "columns is 0; allowed: 1 to 16777216"},
    {"q_stride_row", [](Prefill& a) { a.q_stride_row = 63; },
     "q_stride_row is 63; allowed: 64 to 2^40, or 0"},
    {"k_stride", [](Prefill& a) { a.k_stride = 60; }, "k_stride is 60; allowed: 64"},
    {"k_stride_odd", [](Prefill& a) { a.k_stride = 66; }, "k_stride is 66; allowed: multiples of 4"},
    {"scales_stride", [](Prefill& a) { a.k_scales_stride = 0; }, "k_scales_stride is 0; allowed: 1"},
    {"weights_stride", [](Prefill& a) { a.weights_stride = 1; }, "weights_stride is 1; allowed: 24"},
    {"logits_stride", [](Prefill& a) { a.logits_stride = 29; }, "logits_stride is 29; allowed: 30"},
    {"k", [](Prefill& a) { a.k = nullptr; }, "k is NULL"},
    {"k_odd", [](Prefill& a) { a.k += 1; }, "it must be aligned to 4 bytes"},
    {"starts", [](Prefill& a) { a.starts = nullptr; }, "starts is NULL"},
    {"ends", [](Prefill& a) { a.ends = nullptr; }, "ends is NULL"},
    {"logits", [](Prefill& a) { a.logits = nullptr; }, "logits is NULL"},
};
INSTANTIATE_TEST_SUITE_P(All, PrefillRefusal, ::testing::ValuesIn(kBadPrefill), name_of);

class SumRefusal : public ::testing::TestWithParam<Bad<Sum>> {};
TEST_P(SumRefusal, NamesTheArgumentItsValueAndWhatIsAllowed) {
  expect_refused(legal_sum(), GetParam(), call_sum);
}
const Bad<Sum> kBadSum[] = {
    {"struct_size", [](Sum& a) { a.struct_size = 1; }, "struct_size is 1; this library's mqa_head_sum_args"},
    {"rows", [](Sum& a) { a.rows = -2; }, "rows is -2"},
    {"too_many_rows", [](Sum& a) { a.rows = INT64_MAX; },
     "rows is 9223372036854775807; allowed: 0 to 2147483647"},
    {"heads", [](Sum& a) { a.heads = 0; }, "heads is 0; allowed: 1 to 1024"},
    {"columns", [](Sum& a) { a.columns = (1 << 24) + 1; }, "columns is 16777217; allowed: 1 to 16777216"},
    {"stride_row", [](Sum& a) { a.stride_row = 7; }, "stride_row is 7; allowed: 8"},
    {"stride_head", [](Sum& a) { a.stride_head = 15; }, "stride_head is 15; allowed: 16"},
    {"sums_stride", [](Sum& a) { a.sums_stride = -8; }, "sums_stride is -8; allowed: 8"},
    {"per_head", [](Sum& a) { a.per_head = nullptr; }, "per_head is NULL"},
    {"sums", [](Sum& a) { a.sums = nullptr; }, "sums is NULL"},
    {"sums_odd", [](Sum& a) { a.sums = reinterpret_cast<float*>(reinterpret_cast<uint8_t*>(a.sums) + 1); },
     "it must be aligned to 4 bytes"},
    {"in_place", [](Sum& a) { a.sums = const_cast<float*>(a.per_head); }, "inside per_head"},
    {"last_plane", [](Sum& a) { a.sums = const_cast<float*>(a.per_head) + 47; }, "inside per_head"},
};
INSTANTIATE_TEST_SUITE_P(All, SumRefusal, ::testing::ValuesIn(kBadSum), name_of);

TEST(FormsValidation, RefusesNullArguments) {
  EXPECT_EQ(mqa_ragged_logits(nullptr, nullptr, nullptr, nullptr), MQA_INVALID_ARGUMENT);
  EXPECT_EQ(mqa_per_head_logits(nullptr, nullptr, nullptr, nullptr), MQA_INVALID_ARGUMENT);
  EXPECT_EQ(mqa_prefill_logits(nullptr, nullptr, nullptr, nullptr), MQA_INVALID_ARGUMENT);
  EXPECT_EQ(mqa_head_sum(nullptr, nullptr), MQA_INVALID_ARGUMENT);
  EXPECT_STREQ(mqa_last_error(), "args is NULL");
}
TEST(FormsValidation, AcceptsNothingToDoWithoutPointers) {
  Sum a = legal_sum();
  a.rows = 0, a.per_head = a.sums = nullptr;
  EXPECT_EQ(call_sum(a), MQA_OK) << mqa_last_error();
}
TEST(FormsValidation, AcceptsSumsRightBehindTheLastPlane) {
  Sum a = legal_sum();
  a.sums = const_cast<float*>(a.per_head) + 48;
  EXPECT_EQ(mqa::why_invalid(a), "");
}

} // namespace
