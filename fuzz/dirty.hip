#include "fuzz/dirty.hpp"

#include <hip/hip_runtime.h>

namespace mqalab {
namespace {

constexpr int kThreads = 512;
#if defined(__CUDACC__)
// An SM has 228 KiB for blocks of 48 KiB, and 65536 registers: 64 for each thread of two blocks.
constexpr int kBlocksOfUnit = 4, kRegisters = 48;
#else
constexpr int kBlocksOfUnit = 1, kRegisters = 112; // of the 128 that two blocks of 512 threads would have
#endif

// `rounds` is 1 and `zero` is 0; a compiler that knew it would keep one register.
__global__ __launch_bounds__(kThreads) void leave_words(uint32_t word, int lds_words, int rounds,
                                                        uint32_t zero) {
  extern __shared__ uint32_t lds[];
  for (int i = static_cast<int>(threadIdx.x); i < lds_words; i += kThreads) lds[i] = word;
  uint32_t held[kRegisters];
#pragma unroll
  for (int i = 0; i < kRegisters; ++i) held[i] = word + zero * (threadIdx.x + static_cast<uint32_t>(i));
  for (int round = 0; round < rounds; ++round) {
#pragma unroll
    for (int i = 0; i < kRegisters; ++i) held[i] ^= held[(i + 1) % kRegisters] ^ word;
  }
  uint32_t all = 0;
#pragma unroll
  for (const uint32_t x : held) all = 31 * all + x;
  if (all == zero) lds[0] = all;
}

} // namespace

int dirty_blocks(const mqa::DeviceFacts& facts) { return facts.compute_units * kBlocksOfUnit; }

hipError_t dirty_compute_units(uint32_t word, const mqa::DeviceFacts& facts, hipStream_t stream) {
  const int lds_words = facts.lds_bytes / 4;
  leave_words<<<dim3(static_cast<uint32_t>(dirty_blocks(facts))), dim3(kThreads),
                static_cast<uint32_t>(4 * lds_words), stream>>>(word, lds_words, 1, 0);
  return hipGetLastError();
}

} // namespace mqalab
