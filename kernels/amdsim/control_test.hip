// Settings at run time, device presets, and life after a fault.
#include "testing.hpp"

using namespace amdsim_test;
using testing::Values;

namespace {

__global__ void store(int* out, int index) { out[index] = 1; }
__global__ void forever(volatile int* flag) {
  while (!*flag) {
  }
}
__global__ void sum_of_lds(int* out) { // reads what nobody wrote
  __shared__ int lds[64];
  volatile int* v = lds;
  out[threadIdx.x] = v[threadIdx.x];
}
__global__ void order_of_blocks(int* out) {
  if (!threadIdx.x) out[1 + atomicAdd(out, 1)] = blockIdx.x;
}

bool says(const char* words) { return std::string(amdsim_last_message()).find(words) != std::string::npos; }

class Control : public Simulator {
protected:
  DeviceArray<int> out{64};
};

TEST_F(Control, AFaultIsForgottenButAllocationsStay) {
  store<<<1, 1>>>(out, 3);
  store<<<1, 1>>>(out, 64);
  EXPECT_EQ(hipDeviceSynchronize(), hipErrorIllegalAddress);
  EXPECT_TRUE(says("0 bytes past the end of hipMalloc")) << amdsim_last_message();
  amdsim_clear_error();
  EXPECT_STREQ(amdsim_last_message(), "");
  EXPECT_EQ(hipGetLastError(), hipSuccess);
  store<<<1, 1>>>(out, 5);
  EXPECT_EQ(hipDeviceSynchronize(), hipSuccess);
  const std::vector<int> values = out.host();
  EXPECT_EQ(values[3] + values[5], 2);
}

TEST_F(Control, HipDeviceResetFreesNothingEither) {
  store<<<1, 1>>>(out, 64);
  EXPECT_EQ(hipDeviceReset(), hipSuccess);
  EXPECT_EQ(out.host()[0], 0);
}

TEST_F(Control, MisuseIsALastMessageToo) {
  EXPECT_EQ(hipFree(reinterpret_cast<char*>(static_cast<int*>(out)) + 4), hipErrorInvalidValue);
  EXPECT_TRUE(says("not an allocation's start")) << amdsim_last_message();
}

TEST_F(Control, QuietKeepsMessagesFromStderr) {
  testing::internal::CaptureStderr();
  store<<<1, 1>>>(out, 64);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(amdsim_quiet(0), 1);
  amdsim_clear_error();
  testing::internal::CaptureStderr();
  store<<<1, 1>>>(out, 64);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), std::string("amdsim: ") + amdsim_last_message() + "\n");
  EXPECT_EQ(amdsim_quiet(1), 0);
}

TEST_F(Control, AHangEndsAfterItsTime) {
  ASSERT_EQ(amdsim_set("TIMEOUT", "0.05"), 0);
  forever<<<1, 64>>>(out);
  EXPECT_EQ(hipDeviceSynchronize(), hipErrorLaunchTimeOut);
  EXPECT_TRUE(says("AMDSIM_TIMEOUT=0.05")) << amdsim_last_message();
}

TEST_F(Control, TheScheduleChangesFromLaunchToLaunch) {
  const auto order = [&](const char* schedule) {
    EXPECT_EQ(amdsim_set("SCHED", schedule), 0) << amdsim_last_message();
    EXPECT_EQ(hipMemset(out, 0, 64 * sizeof(int)), hipSuccess);
    order_of_blocks<<<4, 64>>>(out);
    const std::vector<int> all = out.host();
    return std::vector<int>(all.begin() + 1, all.begin() + 5);
  };
  EXPECT_EQ(order("reverse"), (std::vector<int>{3, 2, 1, 0}));
  EXPECT_EQ(order(nullptr), (std::vector<int>{0, 1, 2, 3}));
}

TEST_F(Control, PoisonFillsWhatWasNeverWritten) {
  ASSERT_EQ(amdsim_set("POISON", "7fc0dead"), 0);
  sum_of_lds<<<1, 64>>>(out);
  EXPECT_EQ(out.host()[17], 0x7fc0dead);
  int* fresh;
  ASSERT_EQ(hipMalloc(reinterpret_cast<void**>(&fresh), 400), hipSuccess);
  EXPECT_EQ(fresh[99], 0x7fc0dead);
  EXPECT_EQ(hipFree(fresh), hipSuccess);
}

struct Refused {
  const char *name, *value, *allowed;
};
class RefusedSettings : public Simulator, public testing::WithParamInterface<Refused> {};
TEST_P(RefusedSettings, ChangeNothingAndSayWhatIsAllowed) {
  EXPECT_EQ(amdsim_set(GetParam().name, GetParam().value), -1);
  EXPECT_TRUE(says(GetParam().allowed)) << amdsim_last_message();
  hipDeviceProp_t p;
  EXPECT_EQ(hipGetDeviceProperties(&p, 0), hipSuccess);
  EXPECT_EQ(p.multiProcessorCount, 304);
}
INSTANTIATE_TEST_SUITE_P(, RefusedSettings,
                         Values(Refused{"SCHEDULE", "random", "CHECK GUARD"},
                                Refused{"SCHED", "randomly", "random[:SEED]"},
                                Refused{"SCHED", "random:", "random[:SEED]"},
                                Refused{"DEVICE", "mi300", "mi300x-cpx"}, Refused{"CUS", "-1", "1 to 4096"},
                                Refused{"CUS", "80x", "1 to 4096"}, Refused{"POISON", "xyz", "7fc0dead"},
                                Refused{"MFMA", "fast", "cdna3"}, Refused{"TIMEOUT", "nan", "seconds"},
                                Refused{nullptr, "1", "CHECK GUARD"}));

struct Preset {
  const char* name;
  int cus, xccs;
  size_t gib;
};
class Presets : public Simulator, public testing::WithParamInterface<Preset> {};
TEST_P(Presets, SayWhatTheDeviceIs) {
  const Preset& preset = GetParam();
  ASSERT_EQ(amdsim_set("DEVICE", preset.name), 0);
  hipDeviceProp_t p;
  ASSERT_EQ(hipGetDeviceProperties(&p, 0), hipSuccess);
  EXPECT_EQ(p.name, std::string("amdsim ") + preset.name);
  EXPECT_STREQ(p.gcnArchName, "gfx942:sramecc+:xnack-");
  EXPECT_EQ(p.multiProcessorCount, preset.cus);
  EXPECT_EQ(p.totalGlobalMem, preset.gib << 30);
  EXPECT_EQ(p.sharedMemPerBlock, 65536u);
  EXPECT_EQ(amdsim_xcc_count(), preset.xccs);
  ASSERT_EQ(amdsim_set("CUS", "20"), 0);
  ASSERT_EQ(hipGetDeviceProperties(&p, 0), hipSuccess);
  EXPECT_EQ(p.multiProcessorCount, 20);
}
INSTANTIATE_TEST_SUITE_P(, Presets,
                         Values(Preset{"mi300x", 304, 8, 192}, Preset{"mi300a", 228, 6, 128},
                                Preset{"mi300x-cpx", 38, 1, 24}, Preset{"cu80", 80, 4, 192}));

TEST_F(Control, ADeviceHasNoMoreMemoryThanItSays) {
  ASSERT_EQ(amdsim_set("DEVICE", "mi300x-cpx"), 0);
  void* p;
  EXPECT_EQ(hipMalloc(&p, size_t{25} << 30), hipErrorOutOfMemory);
  EXPECT_EQ(hipMalloc(&p, size_t{20} << 30), hipSuccess);
  EXPECT_EQ(hipFree(p), hipSuccess);
}

} // namespace
