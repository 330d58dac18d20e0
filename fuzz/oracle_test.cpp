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

// A small case of every other operation that makes logits: odd strides, several sequences, both tails.
constexpr const char* kRagged =
    R"({"op": "ragged_mqa_logits", "batch": 3, "next_n": 2, "context_lens": [5, 0, 70],
    "max_model_len": 64, "tail": "neg_inf", "strides": {"logits": 67, "kv_block": 140}, "data": {"lane": "numeric"}})";
constexpr const char* kPerHead =
    R"({"op": "per_head_mqa_logits", "batch": 2, "next_n": 2, "block_size": 16, "heads": 9,
    "context_lens": [40, 7], "max_model_len": 64, "strides": {"logits_head": 261, "logits": 65}, "data": {"lane": "numeric"}})";
constexpr const char* kPerHeadRagged =
    R"({"op": "per_head_ragged_mqa_logits", "batch": 2, "context_lens": [40, 7],
    "max_model_len": 64, "tail": "neg_inf", "data": {"lane": "special"}})";
constexpr const char* kHeadSum =
    R"({"op": "per_head_sum", "batch": 2, "next_n": 2, "block_size": 16, "context_lens": [40, 7],
    "max_model_len": 64, "tail": "neg_inf", "strides": {"logits_head": 300, "logits": 65}, "data": {"lane": "numeric"}})";
constexpr const char* kPrefill =
    R"({"op": "prefill_mqa_logits", "next_n": 4, "lens_per_row": true, "starts": [0, 3, 20, 50],
    "context_lens": [40, 7, 64, 10], "max_model_len": 50, "num_blocks": 90, "tail": "neg_inf",
    "strides": {"kv_block": 140, "key_scales": 3, "logits": 70}, "data": {"lane": "numeric"}})";
constexpr const char* kCompressed =
    R"({"op": "prefill_mqa_logits", "compressed": true, "next_n": 4, "lens_per_row": true,
    "starts": [0, 3, 20, 50], "context_lens": [40, 7, 64, 10], "max_model_len": 41, "data": {"lane": "numeric"}})";
constexpr const char* kOtherForms[] = {kRagged, kPerHead, kPerHeadRagged, kHeadSum, kPrefill, kCompressed};

TEST(Oracle, TheProductionKernelsOfEveryOperationAreRight) {
  Oracle oracle;
  for (const char* json : kOtherForms)
    for (int32_t variant : {MQA_VARIANT_AUTO, MQA_VARIANT_GENERAL}) {
      Case c = of(json);
      c.config.variant = variant;
      ASSERT_EQ(why_illegal(c), "") << json;
      const Verdict v = oracle.check(c);
      EXPECT_EQ(v.verdict, VerdictClass::ok) << json << "\n" << v.message;
      EXPECT_GT(v.cells_checked, 100);
    }
}

TEST(Oracle, NoRowsLaunchNothingInEveryOperation) {
  Oracle oracle;
  for (const char* json :
       {R"({"op": "ragged_mqa_logits", "batch": 0, "context_lens": []})",
        R"({"op": "per_head_mqa_logits", "batch": 0, "context_lens": []})",
        R"({"op": "per_head_ragged_mqa_logits", "batch": 0, "context_lens": []})",
        R"({"op": "per_head_sum", "tail": "neg_inf", "batch": 0, "context_lens": []})",
        R"({"op": "prefill_mqa_logits", "batch": 0, "lens_per_row": true, "context_lens": []})"}) {
    const Verdict v = oracle.check(of(json));
    EXPECT_EQ(v.verdict, VerdictClass::ok) << json << "\n" << v.message;
  }
}

TEST(Oracle, PlanesPast2To31BytesAreWatched) {
  Oracle oracle;
  const Verdict v = oracle.check(of(
      R"({"op": "per_head_mqa_logits", "heads": 3, "context_lens": [20], "max_model_len": 20, "strides": {"logits_head": 536870912}})"));
  EXPECT_EQ(v.verdict, VerdictClass::ok) << v.message;
  EXPECT_LT(v.cells_checked, 2000);
}

// The production kernel, then `cell` of the output of the first plane or row is spoilt.
template <int kElement>
hipError_t forgets(const mqa::PagedArgs& a, const mqa::LaunchConfig& c, hipStream_t s) {
  const float old = peek(a.logits + kElement);
  const hipError_t error = launch_right(a, c, s);
  poke(a.logits + kElement, old);
  return error;
}

TEST(Oracle, AForgottenCellIsUntouchedInEveryOperation) {
  Oracle oracle;
  for (const char* json : kOtherForms) {
    const Fault fault = spoiling(&forgets<2>);
    const Verdict v = oracle.check(of(json), &fault);
    // A head sum adds up what was forgotten: a NaN.
    EXPECT_EQ(v.verdict, json == kHeadSum ? VerdictClass::wrong_class : VerdictClass::untouched)
        << json << v.message;
    ASSERT_FALSE(v.first_bad.empty());
    EXPECT_EQ(v.first_bad[0].row, 0);
    EXPECT_EQ(v.first_bad[0].column, 2);
  }
}

TEST(Oracle, AStoreBesideAPlaneOrBehindTheLastOneIsSeen) {
  Oracle oracle;
  const auto spoil = [](const char* json, auto launch) {
    const Fault fault = spoiling(launch);
    return Oracle().check(of(json), &fault);
  };
  const Verdict gap = spoil(kPerHead, [](const mqa::PagedArgs& a, const mqa::LaunchConfig& c, hipStream_t s) {
    const hipError_t error = launch_right(a, c, s);
    poke(a.logits + 2 * a.logits_stride_head - 1, 1.0f);
    return error;
  });
  EXPECT_EQ(gap.verdict, VerdictClass::touched);
  EXPECT_THAT(gap.message, HasSubstr("head 1 row 3"));
  const Verdict behind =
      spoil(kHeadSum, [](const mqa::PagedArgs& a, const mqa::LaunchConfig& c, hipStream_t s) {
        const hipError_t error = launch_right(a, c, s);
        poke(a.logits + 7 * a.logits_stride_head + 4 * a.logits_stride, 1.0f);
        return error;
      });
  EXPECT_THAT(behind.message,
              HasSubstr("the zone around the planes was written, 0 bytes behind the last row"));
}

TEST(Oracle, AWriteIntoAnInputOfItsOwnIsTouchedInEveryOperation) {
  const Fault ragged = spoiling([](const mqa::PagedArgs& a, const mqa::LaunchConfig& c, hipStream_t s) {
    const hipError_t error = launch_right(a, c, s);
    poke(const_cast<int32_t*>(a.slot_prefix), peek(a.slot_prefix) ^ 1);
    return error;
  });
  EXPECT_THAT(Oracle().check(of(kRagged), &ragged).message, HasSubstr("slot_prefix"));
  const Fault prefill = spoiling([](const mqa::PagedArgs& a, const mqa::LaunchConfig& c, hipStream_t s) {
    const hipError_t error = launch_right(a, c, s);
    poke(const_cast<int32_t*>(a.row_starts), 1);
    return error;
  });
  EXPECT_THAT(Oracle().check(of(kPrefill), &prefill).message, HasSubstr("into an input: starts"));
}

TEST(Oracle, AKeyThatNoRowSeesIsUnneededMemory) {
  Oracle oracle;
  const Fault reads_key = spoiling([](const mqa::PagedArgs& a, const mqa::LaunchConfig& c, hipStream_t s) {
    const hipError_t error = launch_right(a, c, s);
    if (peek(a.kv_cache + 60 * a.kv_block_stride_bytes) & 1)
      flip_last_bit(a.logits + 4); // no column shows key 60
    return error;
  });
  const Verdict v = oracle.check(of(kPrefill), &reads_key);
  EXPECT_EQ(v.verdict, VerdictClass::read) << v.message;
  EXPECT_EQ(v.signature.pattern, "depends on unneeded memory");
}

TEST(Oracle, AHeadSumFaultStandsInForTheSecondStep) {
  Oracle oracle;
  const Fault drops_last{"drops the last head",
                         "",
                         "",
                         FaultKind::must_kill,
                         mqa::HeadSumFn([](const mqa_head_sum_args& a, hipStream_t s) {
                           mqa_head_sum_args fewer = a;
                           --fewer.heads;
                           return mqa::launch_head_sum(fewer, s);
                         }),
                         "{}"};
  EXPECT_EQ(oracle.check(of(kHeadSum), &drops_last).verdict, VerdictClass::value);
  EXPECT_EQ(oracle.check(of(kPerHead), &drops_last).verdict, VerdictClass::rejected);
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
  EXPECT_THAT(oracle.check(Case{}, &before).message, HasSubstr("12 bytes before the first row"));
  EXPECT_THAT(oracle.check(Case{}, &behind).message, HasSubstr("0 bytes behind the last row"));
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
       {R"({"batch": -1})",
        R"({"next_n": 0})",
        R"({"heads": 1025})",
        R"({"heads": 2147483640, "head_dim": 2147483647})",
        R"({"head_dim": 40})",
        R"({"block_size": 24})",
        R"({"block_size": 0})",
        R"({"layout": "shuffled"})",
        R"({"max_model_len": 0})",
        R"({"max_model_len": 16777217})",
        R"({"num_blocks": -1})",
        R"({"config": {"chunk_k": 100}})",
        R"({"config": {"split_kv": -1}})",
        R"({"config": {"wave_per_eu": 3}})",
        R"({"strides": {"kv_block": 134}})",
        R"({"batch": 2, "strides": {"weights": 7}})",
        R"({"batch": 2, "max_model_len": 9, "strides": {"logits": 8}})",
        R"({"batch": 2, "strides": {"q": [-1, 0, 0]}})",
        R"({"op": "ragged_mqa_logits", "heads": 0})",
        R"({"op": "ragged_mqa_logits", "config": {"chunk_k": 100}})",
        R"({"op": "per_head_mqa_logits", "max_model_len": 9, "strides": {"logits_head": 8}})",
        R"({"op": "per_head_ragged_mqa_logits", "max_model_len": 0})",
        R"({"op": "per_head_sum", "max_model_len": 9, "strides": {"logits_head": 8}})",
        R"({"op": "prefill_mqa_logits", "head_dim": 40})",
        R"({"op": "prefill_mqa_logits", "num_blocks": 16777217})",
        R"({"op": "prefill_mqa_logits", "strides": {"kv_block": 130}})",
        R"({"op": "prefill_mqa_logits", "config": {"split_kv": -1}})"}) {
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
