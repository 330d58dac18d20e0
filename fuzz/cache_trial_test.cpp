// The oracle on the cache writer and the gather: every generated case passes, and what a wrong kernel does is
// named.
#include "fuzz/fault.hpp"
#include "fuzz/generator.hpp"
#include "fuzz/oracle.hpp"

#include <gmock/gmock.h>

#include <vector>

namespace mqalab {
namespace {

using testing::HasSubstr;

Case of(const std::string& json) { return case_from_json(json, "test"); }

template <class Fn> Fault spoiling(Fn launch) {
  return {"spoiling", "", "", FaultKind::must_kill, +launch, "{}"};
}

template <class T> T peek(const T* device) {
  T value{};
  (void)hipMemcpy(&value, device, sizeof value, hipMemcpyDeviceToHost);
  return value;
}
template <class T> void poke(T* device, T value) {
  (void)hipMemcpy(device, &value, sizeof value, hipMemcpyHostToDevice);
}
void flip(const uint8_t* byte) { poke(const_cast<uint8_t*>(byte), static_cast<uint8_t>(peek(byte) ^ 1)); }

hipError_t write_right(const mqa_cache_write_args& a, hipStream_t s) {
  const hipError_t error = mqa::launch_cache_write(a, s);
  return error == hipSuccess ? hipDeviceSynchronize() : error;
}
hipError_t gather_right(const mqa_cache_gather_args& a, hipStream_t s) {
  const hipError_t error = mqa::launch_cache_gather(a, s);
  return error == hipSuccess ? hipDeviceSynchronize() : error;
}

constexpr const char* kWriter =
    R"({"op": "cache_write", "block_size": 16, "context_lens": [20], "max_model_len": 20,
  "strides": {"kv_block": 2200}, "block_table": {"mode": "strided", "period": 2}})";
constexpr const char* kGather =
    R"({"op": "cache_gather", "batch": 2, "context_lens": [3, 2], "max_model_len": 3,
  "strides": {"keys": 131, "key_scales": 3}})";

Verdict check(const char* json, const Fault& fault) {
  Oracle oracle;
  return oracle.check(of(json), &fault);
}

TEST(CacheTrial, GeneratedCasesPass) {
  Oracle oracle;
  Random random(21);
  for (const Operation op : {Operation::cache_write, Operation::cache_gather})
    for (int i = 0; i < 150; ++i) {
      const Case c = generate_case(random, op);
      ASSERT_EQ(why_illegal(c), "") << to_json(c);
      const Verdict v = oracle.check(c);
      ASSERT_EQ(v.verdict, VerdictClass::ok) << to_json(c) << "\n" << v.message;
    }
}

TEST(CacheTrial, AByteInThePaddingOfABlockIsTouched) {
  const Verdict v = check(kWriter, spoiling([](const mqa_cache_write_args& a, hipStream_t s) {
                            const hipError_t error = write_right(a, s);
                            flip(a.kv_cache + 2 * a.kv_block_stride_bytes - 1);
                            return error;
                          }));
  EXPECT_EQ(v.verdict, VerdictClass::touched);
  EXPECT_EQ(v.signature.region, "padding");
}
TEST(CacheTrial, ABlockThatNoSlotNamesIsTouched) {
  const Verdict v = check(kWriter, spoiling([](const mqa_cache_write_args& a, hipStream_t s) {
                            const hipError_t error = write_right(a, s);
                            flip(a.kv_cache + a.kv_block_stride_bytes);
                            return error;
                          }));
  EXPECT_EQ(v.verdict, VerdictClass::touched);
  EXPECT_EQ(v.signature.region, "another slot");
}
TEST(CacheTrial, AStoreBesideTheCacheIsSeenInTheGuards) {
  const Verdict v = check(kWriter, spoiling([](const mqa_cache_write_args& a, hipStream_t s) {
                            const hipError_t error = write_right(a, s);
                            flip(a.kv_cache - 8);
                            return error;
                          }));
  EXPECT_EQ(v.verdict, VerdictClass::guard);
  EXPECT_THAT(v.message, HasSubstr("8 bytes before the first row"));
}
TEST(CacheTrial, AWriteIntoTheKeysIsTouched) {
  const Verdict v = check(kWriter, spoiling([](const mqa_cache_write_args& a, hipStream_t s) {
                            const hipError_t error = write_right(a, s);
                            flip(static_cast<const uint8_t*>(a.keys));
                            return error;
                          }));
  EXPECT_EQ(v.verdict, VerdictClass::touched);
  EXPECT_EQ(v.signature.pattern, "input changed");
}
TEST(CacheTrial, AResultThatChangesIsUnstable) {
  const Verdict v = check(kWriter, spoiling([](const mqa_cache_write_args& a, hipStream_t s) {
                            static int launches = 0;
                            const hipError_t error = write_right(a, s);
                            if (++launches > 1) flip(a.kv_cache);
                            return error;
                          }));
  EXPECT_EQ(v.verdict, VerdictClass::unstable);
}
TEST(CacheTrial, AResultThatDependsOnASkippedTokenIsRead) {
  constexpr const char* kSkips =
      R"({"op": "cache_write", "context_lens": [2], "max_model_len": 2, "writer": {"skip_every": 2}})";
  const Verdict v = check(kSkips, spoiling([](const mqa_cache_write_args& a, hipStream_t s) {
                            const hipError_t error = write_right(a, s);
                            const auto skipped = peek(static_cast<const uint16_t*>(a.keys) + a.keys_stride);
                            if (skipped == 0x4700) flip(a.kv_cache); // 2^15, the second poison
                            return error;
                          }));
  EXPECT_EQ(v.verdict, VerdictClass::read);
  EXPECT_EQ(v.signature.pattern, "depends on unneeded memory");
}
TEST(CacheTrial, AResultThatDependsOnTheOldCacheIsRead) {
  const Verdict v = check(kWriter, spoiling([](const mqa_cache_write_args& a, hipStream_t s) {
                            static uint8_t first = peek(a.kv_cache);
                            const bool changed = peek(a.kv_cache) != first;
                            const hipError_t error = write_right(a, s);
                            if (changed) flip(a.kv_cache);
                            return error;
                          }));
  EXPECT_EQ(v.verdict, VerdictClass::read);
  EXPECT_EQ(v.signature.pattern, "depends on the old output");
}

TEST(CacheTrial, AByteBetweenTwoGatheredRowsIsTouched) {
  const Verdict v = check(kGather, spoiling([](const mqa_cache_gather_args& a, hipStream_t s) {
                            const hipError_t error = gather_right(a, s);
                            flip(a.keys + 2 * a.keys_stride - 1);
                            return error;
                          }));
  EXPECT_EQ(v.verdict, VerdictClass::touched);
  ASSERT_FALSE(v.first_bad.empty());
  EXPECT_EQ(v.first_bad[0].row, 1);
  EXPECT_EQ(v.first_bad[0].column, 130);
}
TEST(CacheTrial, AByteOfAScaleIsAValue) {
  const Verdict v = check(kGather, spoiling([](const mqa_cache_gather_args& a, hipStream_t s) {
                            const hipError_t error = gather_right(a, s);
                            flip(reinterpret_cast<const uint8_t*>(a.scales + 4 * a.scales_stride));
                            return error;
                          }));
  EXPECT_EQ(v.verdict, VerdictClass::value);
  ASSERT_EQ(v.first_bad.size(), 1u);
  EXPECT_EQ(v.first_bad[0].row, 4);
  EXPECT_EQ(v.first_bad[0].column, 128);
}
TEST(CacheTrial, AFaultOfAnotherOperationIsRejected) {
  Oracle oracle;
  const Verdict v = oracle.check(of(kGather), find_fault("writer_224"));
  EXPECT_EQ(v.verdict, VerdictClass::rejected);
  EXPECT_THAT(v.message, HasSubstr("is planted in "));
}

} // namespace
} // namespace mqalab
