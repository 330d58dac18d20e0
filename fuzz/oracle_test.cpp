// The oracle on a device.  Wrong kernels are made on the host: the production launch, then a copy that spoils
// what it left; so every verdict can be had, also those that no planted fault gives.
#include "fuzz/oracle.hpp"

#include "fuzz/endless.hpp"
#include "fuzz/json_reader.hpp"

#include <gmock/gmock.h>

#include <bit>
#include <vector>

namespace mqalab {
namespace {

using testing::HasSubstr;

constexpr const char* kNumeric = R"({"block_size": 16, "context_lens": [40], "max_model_len": 64,
                                     "data": {"lane": "numeric"}, "strides": {"logits": 70}})";

Case of(const std::string& json) { return case_from_json(json, "test"); }

Fault spoiling(mqa::LaunchFn launch) { return {"spoiling", "", "", FaultKind::must_kill, launch, "{}"}; }

template <class T> T peek(const T* device) {
  T value{};
  (void)hipMemcpy(&value, device, sizeof value, hipMemcpyDeviceToHost);
  return value;
}
template <class T> void poke(T* device, T value) {
  (void)hipMemcpy(device, &value, sizeof value, hipMemcpyHostToDevice);
}
hipError_t launch_right(const mqa::PagedArgs& a, const mqa::LaunchConfig& c, hipStream_t s) {
  const hipError_t error = mqa::launch_paged_logits(a, c, s);
  return error == hipSuccess ? hipDeviceSynchronize() : error;
}
// The last bit: far inside the numeric lane's bound, so only a comparison of launches can see it.
void flip_last_bit(float* cell) {
  poke(cell, std::bit_cast<float>(std::bit_cast<uint32_t>(peek(cell)) ^ 1u));
}

TEST(Oracle, TheProductionKernelIsRightOnOddShapes) {
  Oracle oracle;
  for (
      const char* json :
      {"{}", kNumeric, R"({"batch": 0, "context_lens": []})",
       R"({"context_lens": [-3], "max_model_len": 7, "tail": "neg_inf"})",
       R"({"batch": 3, "next_n": 3, "heads": 40, "block_size": 32, "layout": "shuffled", "context_lens": [1, 65, 200],
            "max_model_len": 201, "tail": "neg_inf", "strides": {"logits": 211, "weights": 43, "q": [16500, 5400, 130], "kv_block": 4300},
            "block_table": {"mode": "shuffled", "padding": "poisoned"}})",
       R"({"batch": 2, "next_n": 2, "context_lens": [5, 0, 9, 64], "max_model_len": 64, "head_dim": 64, "fp8": "e4m3fnuz"})",
       R"({"context_lens": [40], "max_model_len": 40, "head_dim": 32, "data": {"lane": "special"}})",
       R"({"context_lens": [40], "max_model_len": 40, "data": {"pattern": "raw_bytes"}})",
       R"({"block_size": 16, "context_lens": [200], "max_model_len": 200, "block_table": {"set": [[0, 3, -1], [0, 5, 2147483647]]}})",
       R"({"block_size": 16, "context_lens": [33], "max_model_len": 33, "block_table": {"mode": "high"}})",
       R"({"batch": 2, "context_lens": [1, 1], "strides": {"logits": 536870912}})"}) {
    const Case c = of(json);
    ASSERT_EQ(why_illegal(c), "") << json;
    const Verdict v = oracle.check(c);
    EXPECT_EQ(v.verdict, VerdictClass::ok) << json << "\n" << v.message;
  }
}

TEST(Oracle, TheAskedConfigurationRuns) {
  Oracle oracle;
  Case c = of(R"({"context_lens": [300], "max_model_len": 300})");
  c.config = {MQA_VARIANT_DIRECT, 64, 3, 4};
  const Verdict v = oracle.check(c);
  EXPECT_EQ(v.verdict, VerdictClass::ok) << v.message;
  EXPECT_EQ(v.launched.config.variant, MQA_VARIANT_DIRECT);
  EXPECT_EQ(v.launched.config.chunk_k, 64);
  EXPECT_EQ(v.launched.config.split_kv, 3);
  EXPECT_EQ(v.launched.source, MQA_SOURCE_EXPLICIT);
}

TEST(Oracle, ARowThatIsNotStoredPast2To31BytesIsUntouched) {
  Oracle oracle;
  const Verdict v =
      oracle.check(of(R"({"batch": 2, "context_lens": [1, 1], "strides": {"logits": 536870912}})"),
                   find_fault("out_offset_32"));
  EXPECT_EQ(v.verdict, VerdictClass::untouched);
  ASSERT_FALSE(v.first_bad.empty());
  EXPECT_EQ(v.first_bad[0].row, 1);
}

TEST(Oracle, AStoreBesideTheLogitsIsSeenInTheGuards) {
  Oracle oracle;
  const Fault before = spoiling([](const mqa::PagedArgs& a, const mqa::LaunchConfig& c, hipStream_t s) {
    const hipError_t error = launch_right(a, c, s);
    poke(a.logits - 3, 1.0f);
    return error;
  });
  const Fault behind = spoiling([](const mqa::PagedArgs& a, const mqa::LaunchConfig& c, hipStream_t s) {
    const hipError_t error = launch_right(a, c, s);
    poke(a.logits + a.logits_stride * a.batch * a.next_n, 1.0f);
    return error;
  });
  EXPECT_THAT(oracle.check(Case{}, &before).message, HasSubstr("3 elements before the first row"));
  EXPECT_THAT(oracle.check(Case{}, &behind).message, HasSubstr("0 elements behind the last row"));
  EXPECT_EQ(oracle.check(Case{}).verdict, VerdictClass::ok) << "the canaries were put back";
}

TEST(Oracle, AWriteIntoAnInputIsTouched) {
  Oracle oracle;
  const Fault writes_q = spoiling([](const mqa::PagedArgs& a, const mqa::LaunchConfig& c, hipStream_t s) {
    const hipError_t error = launch_right(a, c, s);
    poke(const_cast<uint8_t*>(a.q) + 17, static_cast<uint8_t>(peek(a.q + 17) ^ 1));
    return error;
  });
  const Verdict v = oracle.check(Case{}, &writes_q);
  EXPECT_EQ(v.verdict, VerdictClass::touched);
  EXPECT_THAT(v.message, HasSubstr("q byte 17"));
}

TEST(Oracle, AResultThatDependsOnUnneededMemoryIsRead) {
  Oracle oracle;
  const Fault reads_padding =
      spoiling([](const mqa::PagedArgs& a, const mqa::LaunchConfig& c, hipStream_t s) {
        const hipError_t error = launch_right(a, c, s);
        if (peek(a.kv_cache + 2 * a.kv_block_stride_bytes + 15 * 128) & 1)
          flip_last_bit(a.logits + 20); // token 47 of 40
        return error;
      });
  const Verdict v = oracle.check(of(kNumeric), &reads_padding);
  EXPECT_EQ(v.verdict, VerdictClass::read);
  EXPECT_EQ(v.signature.pattern, "depends on unneeded memory");
  ASSERT_EQ(v.first_bad.size(), 1u);
  EXPECT_EQ(v.first_bad[0].column, 20);
}

TEST(Oracle, AResultThatDependsOnTheTablesPaddingIsRead) {
  Oracle oracle;
  const Fault reads_table = spoiling([](const mqa::PagedArgs& a, const mqa::LaunchConfig& c, hipStream_t s) {
    const hipError_t error = launch_right(a, c, s);
    if (peek(a.block_table + 3) == -1) flip_last_bit(a.logits);
    return error;
  });
  const char* dense =
      R"({"block_size": 16, "context_lens": [48], "max_model_len": 64, "num_blocks": 4, "data": {"lane": "numeric"}})";
  EXPECT_EQ(oracle.check(of(dense), &reads_table).verdict, VerdictClass::read);
}

TEST(Oracle, AResultThatDependsOnTheOldOutputIsRead) {
  Oracle oracle;
  const Fault reads_old = spoiling([](const mqa::PagedArgs& a, const mqa::LaunchConfig& c, hipStream_t s) {
    uint32_t old = 0;
    for (int i = 64; i < 70; ++i) old = old * 31 + std::bit_cast<uint32_t>(peek(a.logits + i));
    const hipError_t error = launch_right(a, c, s);
    poke(a.logits + 20,
         std::bit_cast<float>((std::bit_cast<uint32_t>(peek(a.logits + 20)) & ~15u) | (old & 15u)));
    return error;
  });
  const Verdict v = oracle.check(of(kNumeric), &reads_old);
  EXPECT_EQ(v.verdict, VerdictClass::read);
  EXPECT_EQ(v.signature.pattern, "depends on the old output");
}

TEST(Oracle, AResultThatChangesFromLaunchToLaunchIsUnstable) {
  Oracle oracle;
  const Fault moody = spoiling([](const mqa::PagedArgs& a, const mqa::LaunchConfig& c, hipStream_t s) {
    static int launches = 0;
    const hipError_t error = launch_right(a, c, s);
    if (++launches % 3 != 1) flip_last_bit(a.logits + 20);
    return error;
  });
  EXPECT_EQ(oracle.check(of(kNumeric), &moody).verdict, VerdictClass::unstable);
}

TEST(Oracle, RepeatsFindWhatTwoLaunchesDoNot) {
  Oracle oracle;
  const Fault rare = spoiling([](const mqa::PagedArgs& a, const mqa::LaunchConfig& c, hipStream_t s) {
    static int launches = 0;
    const hipError_t error = launch_right(a, c, s);
    if (++launches % 10 == 8) flip_last_bit(a.logits + 20);
    return error;
  });
  EXPECT_EQ(oracle.check(of(kNumeric), &rare).verdict, VerdictClass::ok);
  OracleOptions options;
  options.repeats = 8;
  EXPECT_EQ(oracle.check(of(kNumeric), &rare, options).verdict, VerdictClass::unstable);
}

TEST(Oracle, ALaunchThatFailsIsAFaultAndTheNextOneRuns) {
  Oracle oracle;
  const Fault fails = spoiling(
      [](const mqa::PagedArgs&, const mqa::LaunchConfig&, hipStream_t) { return hipErrorLaunchFailure; });
  EXPECT_EQ(oracle.check(Case{}, &fails).verdict, VerdictClass::fault);
  EXPECT_EQ(oracle.check(Case{}).verdict, VerdictClass::ok);
}

#ifdef MQALAB_SIM
TEST(Oracle, AnEndlessKernelIsAHangAndTheNextLaunchRuns) {
  Oracle oracle;
  const Fault endless = spoiling(&launch_endless);
  const Verdict v = oracle.check(Case{}, &endless);
  EXPECT_EQ(v.verdict, VerdictClass::hang) << v.message;
  EXPECT_EQ(oracle.check(Case{}).verdict, VerdictClass::ok);
}

TEST(Oracle, AReadBehindATensorIsAFaultThatNamesTheAccess) {
  Oracle oracle;
  const Fault long_context = spoiling([](const mqa::PagedArgs& a, const mqa::LaunchConfig& c, hipStream_t s) {
    mqa::PagedArgs wrong = a;
    wrong.num_blocks = INT32_MAX;
    return launch_right(wrong, c, s);
  });
  const Verdict v = oracle.check(of(R"({"block_table": {"set": [[0, 0, 1000]]}})"), &long_context);
  EXPECT_EQ(v.verdict, VerdictClass::fault);
  EXPECT_THAT(v.message, HasSubstr("reads"));
}
#endif

TEST(Oracle, AnImpossibleConfigurationIsRejectedAndNoFinding) {
  Oracle oracle;
  Case c = of(R"({"next_n": 40, "heads": 128, "context_lens": [40], "max_model_len": 40})");
  c.config.variant = MQA_VARIANT_STAGED;
  const Verdict v = oracle.check(c);
  EXPECT_EQ(v.verdict, VerdictClass::rejected);
  EXPECT_THAT(v.message, HasSubstr("LDS"));
}

TEST(Oracle, IllegalCasesAreRefusedByTheLibraryInWords) {
  Oracle oracle;
  for (const char* json :
       {R"({"batch": -1})", R"({"next_n": 0})", R"({"heads": 12})",
        R"({"heads": 2147483640, "head_dim": 2147483647})", R"({"head_dim": 48})", R"({"block_size": 24})",
        R"({"block_size": 0})", R"({"layout": "shuffled"})", R"({"max_model_len": 0})",
        R"({"max_model_len": 16777217})", R"({"num_blocks": -1})", R"({"config": {"chunk_k": 100}})",
        R"({"config": {"split_kv": -1}})", R"({"config": {"wave_per_eu": 3}})",
        R"({"strides": {"kv_block": 134}})", R"({"batch": 2, "strides": {"weights": 7}})",
        R"({"batch": 2, "max_model_len": 9, "strides": {"logits": 8}})",
        R"({"batch": 2, "strides": {"q": [-1, 0, 0]}})"}) {
    const Verdict v = oracle.check(of(json));
    EXPECT_EQ(v.verdict, VerdictClass::rejected) << json << "\n" << v.message;
    EXPECT_GT(v.message.size(), 20u);
  }
}

TEST(Oracle, ACaseBeyondTheLabsLimitsGetsNoVerdict) {
  Oracle oracle;
  EXPECT_EQ(oracle.check(of(R"({"batch": 3, "max_model_len": 16777216})")).verdict, VerdictClass::none);
}

TEST(Oracle, RunLeavesItsPrefillWhereNothingIsWritten) {
  Oracle oracle;
  mqa_choice launched{};
  std::string error;
  const auto logits = oracle.run(of(R"({"context_lens": [2], "max_model_len": 3, "strides": {"logits": 4}})"),
                                 nullptr, &launched, &error);
  EXPECT_EQ(error, "");
  ASSERT_EQ(logits.size(), 4u);
  EXPECT_NE(std::bit_cast<uint32_t>(logits[1]), 0x7fc0deadu);
  EXPECT_EQ(std::bit_cast<uint32_t>(logits[2]), 0x7fc0deadu);
  EXPECT_EQ(std::bit_cast<uint32_t>(logits[3]), 0x7fc0deadu);
  EXPECT_GT(launched.config.chunk_k, 0);
}

} // namespace
} // namespace mqalab
