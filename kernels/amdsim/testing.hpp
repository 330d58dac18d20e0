// What the simulator's own GoogleTests share.
#pragma once
#include "amdsim/control.h"

#include <gtest/gtest.h>
#include <hip/hip_runtime.h>

#include <cstring>
#include <vector>

namespace amdsim_test {

// Device memory of whole elements, zero at first.
template <class T> class DeviceArray {
public:
  explicit DeviceArray(size_t count) : count_(count) {
    EXPECT_EQ(hipMalloc(reinterpret_cast<void**>(&data_), count * sizeof(T)), hipSuccess)
        << amdsim_last_message();
    EXPECT_EQ(hipMemset(data_, 0, count * sizeof(T)), hipSuccess);
  }
  ~DeviceArray() { (void)hipFree(data_); }
  DeviceArray(const DeviceArray&) = delete;
  operator T*() { return data_; }
  std::vector<T> host() const {
    std::vector<T> copy(count_);
    EXPECT_EQ(hipMemcpy(copy.data(), data_, count_ * sizeof(T), hipMemcpyDeviceToHost), hipSuccess);
    return copy;
  }

private:
  T* data_ = nullptr;
  size_t count_;
};

// Messages stay off stderr, and every setting goes back to the environment's after a test.
class Simulator : public testing::Test {
protected:
  Simulator() { amdsim_quiet(1); }
  ~Simulator() override {
    for (const char* name : {"SCHED", "DEVICE", "CUS", "MEM_GIB", "POISON", "TIMEOUT", "MAX_INST", "CHECK",
                             "GUARD", "MFMA", "FP8"})
      amdsim_set(name, nullptr);
    amdsim_coverage_into(nullptr, 0);
    amdsim_collect_compares(0);
    amdsim_collect_counts(0);
    amdsim_clear_error();
    amdsim_quiet(0);
  }
};

} // namespace amdsim_test
