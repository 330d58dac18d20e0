// Golden keys: a changed key makes every row of every database unreachable, so a change here needs a new key
// version.
#include "kernels/problem_key.hpp"

#include <gtest/gtest.h>

namespace mqa {
namespace {

mqa_paged_logits_args decode_args() {
  mqa_paged_logits_args a{};
  a.batch = 64, a.next_n = 1, a.heads = 64, a.head_dim = 128, a.block_size = 64;
  a.max_model_len = a.logits_stride = 131072;
  return a;
}
std::string key_of(const mqa_paged_logits_args& a) { return to_string(problem_key(a)); }

TEST(ProblemKey, IsGolden) {
  mqa_paged_logits_args a = decode_args();
  EXPECT_EQ(key_of(a), "paged_mqa_logits/v1/b64/mml131072/n1/h64/d128/bs64/planar/e4m3fn/untouched/dense");
  a.batch = 33, a.max_model_len = 100000, a.next_n = 2, a.heads = 32, a.head_dim = 64, a.block_size = 1;
  a.layout = MQA_SHUFFLED, a.fp8 = MQA_E4M3FNUZ, a.tail = MQA_TAIL_NEG_INF;
  EXPECT_EQ(key_of(a), "paged_mqa_logits/v1/b64/mml131072/n2/h32/d64/bs1/shuffled/e4m3fnuz/neg_inf/padded");
  a.batch = 1024, a.next_n = 1, a.logits_stride = 1 << 20;
  EXPECT_EQ(key_of(a), "paged_mqa_logits/v1/b1024/mml131072/n1/h32/d64/bs1/shuffled/e4m3fnuz/neg_inf/far");
}

TEST(ProblemKey, NamesTheOperation) {
  const int32_t somewhere = 0;
  mqa_paged_logits_args a = decode_args();
  a.block_size = 1, a.slot_prefix = &somewhere;
  EXPECT_EQ(key_of(a), "ragged_mqa_logits/v1/b64/mml131072/n1/h64/d128/bs1/planar/e4m3fn/untouched/dense");
  a.logits_stride_head = 1 << 24;
  EXPECT_EQ(key_of(a),
            "per_head_ragged_mqa_logits/v1/b64/mml131072/n1/h64/d128/bs1/planar/e4m3fn/untouched/dense");
  a.slot_prefix = nullptr;
  EXPECT_EQ(key_of(a), "per_head_mqa_logits/v1/b64/mml131072/n1/h64/d128/bs1/planar/e4m3fn/untouched/dense");
  mqa_prefill_logits_args p{};
  p.rows = 5000, p.heads = 64, p.head_dim = 128, p.columns = p.logits_stride = 8192, p.fp8 = MQA_E4M3FNUZ;
  EXPECT_EQ(to_string(problem_key(p)),
            "prefill_mqa_logits/v1/b8192/mml8192/n1/h64/d128/bs1/planar/e4m3fnuz/untouched/dense");
  EXPECT_EQ(parse_problem_key(to_string(problem_key(p))), problem_key(p));
}

TEST(ProblemKey, PutsNeighboursOfAPowerOfTwoWhereTheyBelong) {
  mqa_paged_logits_args a = decode_args();
  for (const auto& [given, bucket] : {std::pair{0, 1u}, {1, 1u}, {2, 2u}, {3, 4u}, {64, 64u}, {65, 128u}}) {
    a.batch = given;
    EXPECT_EQ(problem_key(a).batch_bucket, bucket) << given;
  }
  for (const auto& [given, bucket] : {std::pair{1, 1u}, {2048, 2048u}, {2049, 4096u}, {1 << 24, 1u << 24}}) {
    a.max_model_len = given;
    EXPECT_EQ(problem_key(a).max_model_len_bucket, bucket) << given;
  }
}

TEST(ProblemKey, CallsLogitsFarFromTheFirstByteThat32BitsCannotReach) {
  mqa_paged_logits_args a = decode_args();
  a.max_model_len = 1 << 20, a.logits_stride = 1 << 20, a.batch = 512;
  EXPECT_EQ(problem_key(a).stride_class, static_cast<uint8_t>(StrideClass::dense));
  a.batch = 513;
  EXPECT_EQ(problem_key(a).stride_class, static_cast<uint8_t>(StrideClass::far));
}

TEST(ProblemKey, TellsApartWhateverChangesValidity) {
  const mqa_paged_logits_args base = decode_args();
  const auto differs = [&](auto change) {
    mqa_paged_logits_args a = base;
    change(a);
    return !(problem_key(a) == problem_key(base));
  };
  EXPECT_TRUE(differs([](auto& a) { a.next_n = 2; }));
  EXPECT_TRUE(differs([](auto& a) { a.heads = 32; }));
  EXPECT_TRUE(differs([](auto& a) { a.head_dim = 64; }));
  EXPECT_TRUE(differs([](auto& a) { a.block_size = 16; }));
  EXPECT_TRUE(differs([](auto& a) { a.layout = MQA_SHUFFLED; }));
  EXPECT_TRUE(differs([](auto& a) { a.fp8 = MQA_E4M3FNUZ; }));
  EXPECT_TRUE(differs([](auto& a) { a.tail = MQA_TAIL_NEG_INF; }));
  EXPECT_TRUE(differs([](auto& a) { a.logits_stride += 1; }));
  EXPECT_TRUE(differs([](auto& a) { a.logits_stride_head = 1; }));
  EXPECT_TRUE(differs([](auto& a) {
    static const int32_t somewhere = 0;
    a.slot_prefix = &somewhere;
  }));
}

TEST(ProblemKey, ReadsBackEveryTextItWrites) {
  mqa_paged_logits_args a = decode_args();
  for (int batch : {1, 7, 1 << 20})
    for (int fp8 : {0, 1})
      for (int64_t stride : {int64_t{131072}, int64_t{131073}, int64_t{1} << 40}) {
        a.batch = batch, a.fp8 = fp8, a.logits_stride = stride;
        EXPECT_EQ(parse_problem_key(key_of(a)), problem_key(a)) << key_of(a);
      }
}

TEST(ProblemKey, RefusesEveryOtherText) {
  const std::string good = key_of(decode_args());
  for (size_t cut = 0; cut < good.size(); ++cut) EXPECT_FALSE(parse_problem_key(good.substr(0, cut))) << cut;
  for (const char* text :
       {"", "x", "top_mqa_logits/v1/b64/mml131072/n1/h64/d128/bs64/planar/e4m3fn/untouched/dense",
        "paged_mqa_logits/v2/b64/mml131072/n1/h64/d128/bs64/planar/e4m3fn/untouched/dense",
        "paged_mqa_logits/v1/b63/mml131072/n1/h64/d128/bs64/planar/e4m3fn/untouched/dense",
        "paged_mqa_logits/v1/b064/mml131072/n1/h64/d128/bs64/planar/e4m3fn/untouched/dense",
        "paged_mqa_logits/v1/b64/mml131072/n1/h64/d128/bs64/round/e4m3fn/untouched/dense",
        "paged_mqa_logits/v1/b64/mml131072/n99999/h64/d128/bs64/planar/e4m3fn/untouched/dense"})
    EXPECT_FALSE(parse_problem_key(text)) << text;
  EXPECT_FALSE(parse_problem_key(good + " "));
}

} // namespace
} // namespace mqa
