// The loader on files that are no whole code objects: each
// is refused with a reason, whatever is wrong with it.
#include "testing.hpp"

#include <fstream>
#include <iterator>
#include <sys/mman.h>
#include <unistd.h>

using namespace amdsim_test;

namespace {

std::vector<char> read_file(const std::string& name) {
  std::ifstream file(name, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class CodeObject : public Simulator {
protected:
  // Loads these bytes as a file. Returns whether they were taken, and wants a reason if not.
  bool loads(const std::vector<char>& bytes) {
    EXPECT_EQ(ftruncate(memory_file_, 0), 0);
    EXPECT_EQ(pwrite(memory_file_, bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
    const std::string name = "/proc/self/fd/" + std::to_string(memory_file_);
    hipModule_t module;
    const hipError_t error = hipModuleLoad(&module, name.c_str());
    if (error == hipSuccess) return hipModuleUnload(module) == hipSuccess;
    EXPECT_TRUE(error == hipErrorNoBinaryForGpu || bytes.empty());
    EXPECT_TRUE(strlen(amdsim_last_message()) > 20 || bytes.empty());
    amdsim_clear_error();
    return false;
  }
  ~CodeObject() override { close(memory_file_); }

  const std::vector<char> whole_ = read_file(MOD_CO);
  const int memory_file_ = memfd_create("code object", 0);
};

TEST_F(CodeObject, AWholeOneIsTaken) { EXPECT_TRUE(loads(whole_)); }

TEST_F(CodeObject, CutShortAnywhereItIsRefused) {
  for (size_t bytes = 0; bytes < whole_.size(); bytes += bytes < 600 ? 1 : 37)
    EXPECT_FALSE(loads({whole_.begin(), whole_.begin() + bytes}))
        << bytes << " of " << whole_.size() << " bytes";
}

TEST_F(CodeObject, AnyWrongByteIsTakenOrRefusedButDoesNoHarm) {
  for (size_t at = 0; at < whole_.size(); at += 3) {
    std::vector<char> wrong = whole_;
    wrong[at] ^= at % 2 ? 0xff : 0x80;
    loads(wrong);
  }
}

TEST_F(CodeObject, AKernelRunsFromIt) {
  hipModule_t module;
  hipFunction_t function;
  ASSERT_EQ(hipModuleLoad(&module, MOD_CO), hipSuccess) << amdsim_last_message();
  ASSERT_EQ(hipModuleGetFunction(&function, module, "mod_kernel"), hipSuccess);
  DeviceArray<int> out(64);
  int *data = out, addend = 7, count = 50;
  void* arguments[] = {&data, &addend, &count};
  ASSERT_EQ(hipModuleLaunchKernel(function, 1, 1, 1, 64, 1, 1, 0, nullptr, arguments, nullptr), hipSuccess);
  EXPECT_EQ(out.host()[49], 7);
  EXPECT_EQ(out.host()[50], 0);
  EXPECT_EQ(hipModuleUnload(module), hipSuccess);
  EXPECT_EQ(hipModuleLaunchKernel(function, 1, 1, 1, 64, 1, 1, 0, nullptr, arguments, nullptr),
            hipErrorInvalidHandle);
}

} // namespace
