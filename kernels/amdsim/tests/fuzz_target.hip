// libFuzzer, guided by the machine code's edges, must find a word that a kernel compares byte by byte;
// nothing in the host code tells how many bytes are right. Built with AddressSanitizer: faults of the kernel,
// by signal and by check, must not end the process.
#include "amdsim/control.h"

#include <cstdio>
#include <cstdlib>
#include <hip/hip_runtime.h>
#include <unistd.h>

__attribute__((section("__libfuzzer_extra_counters"))) static uint8_t edges[65536];

__global__ void compare(const uint8_t* word, int* found) {
  if (word[0] != 'm') return;
  if (word[1] != 'q') return;
  if (word[2] == 'a') *found = 1;
}
__global__ void wild(int* p, int distance) { p[distance + threadIdx.x] = 1; }

static void expect(hipError_t got, hipError_t wanted, const char* what) {
  if (got == wanted) return;
  printf("%s: %s, expected %s: %s\n", what, hipGetErrorName(got), hipGetErrorName(wanted),
         amdsim_last_message());
  abort();
}

static void expect_fault(const char* check, int distance) {
  int* p;
  amdsim_set("CHECK", check); // 0: only the guard pages are left, that is a signal
  expect(hipMalloc(reinterpret_cast<void**>(&p), 256), hipSuccess, "hipMalloc");
  wild<<<1, 64>>>(p, distance);
  expect(hipDeviceSynchronize(), hipErrorIllegalAddress, "a wild store");
  amdsim_clear_error();
  amdsim_set("CHECK", nullptr);
  expect(hipFree(p), hipSuccess, "hipFree");
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 4) return 0;
  amdsim_quiet(1);
  amdsim_coverage_into(edges, sizeof edges);
  uint8_t* word;
  int *found, host_found;
  expect(hipMalloc(reinterpret_cast<void**>(&word), 4), hipSuccess, "hipMalloc");
  expect(hipMalloc(reinterpret_cast<void**>(&found), 4), hipSuccess, "hipMalloc");
  expect(hipMemset(found, 0, 4), hipSuccess, "hipMemset");
  expect(hipMemcpy(word, data, 4, hipMemcpyHostToDevice), hipSuccess, "hipMemcpy");
  compare<<<1, 1>>>(word, found);
  expect(hipMemcpy(&host_found, found, 4, hipMemcpyDeviceToHost), hipSuccess, "hipMemcpy");
  expect(hipFree(word), hipSuccess, "hipFree");
  expect(hipFree(found), hipSuccess, "hipFree");
  amdsim_coverage_into(nullptr, 0);
  if (data[0] % 16 == 0) expect_fault("1", 1), expect_fault("0", 1000);
  if (!host_found) return 0;
  puts("the word was found");
  fflush(stdout);
  _exit(0); // exit() would be reported as a crash
}
