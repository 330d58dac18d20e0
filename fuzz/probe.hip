// The probe's kernels: a block a dot, and in it one instruction of the unit.  Every row of one operand and
// every column of the other is the same, so that all results are, and only the order of k matters.
#include "fuzz/probe_launch.hpp"
#include "kernels/arch/arch.hpp"
#if defined(__CUDACC__)
#include "kernels/hopper/wgmma.hpp"
#endif

#include <hip/hip_runtime.h>

namespace mqalab {
namespace {

using mqa::Arch;

// As the general kernel adds up: one fused multiply-add after the other.
__global__ void one_by_one(const FusedDot* dots, float* sums) {
  const FusedDot& dot = dots[blockIdx.x];
  float sum = dot.c;
  for (int word = 0; word < 8; ++word) {
    Arch::Pair a[2], b[2];
    Arch::decode_values(a, dot.a[word], false);
    Arch::decode_values(b, dot.b[word], false);
    for (int i = 0; i < 2; ++i) {
      sum = fmaf(a[i].x, b[i].x, sum);
      sum = fmaf(a[i].y, b[i].y, sum);
    }
  }
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

#if defined(__CUDACC__)
__global__ void mma_fp16(const FusedDot* dots, float* sums) {
  const FusedDot& dot = dots[blockIdx.x];
  const int quarter = static_cast<int>(threadIdx.x % 4);
  const uint32_t a[4] = {dot.a[quarter], dot.a[quarter], dot.a[4 + quarter], dot.a[4 + quarter]};
  const uint32_t b[2] = {dot.b[quarter], dot.b[4 + quarter]};
  float low[2] = {dot.c, dot.c}, high[2] = {dot.c, dot.c};
  Arch::mma(low, high, a, b);
  if (threadIdx.x == 0) sums[blockIdx.x] = low[0];
}

// Rows of 128 bytes, of which one step takes the first 32.
__device__ void fill_rows(uint4* rows, int count, const uint32_t (&words)[8]) {
  for (int i = static_cast<int>(threadIdx.x); i < count * 8; i += static_cast<int>(blockDim.x)) {
    const int row = i / 8, chunk = i % 8;
    rows[row * 8 + (chunk ^ row % 8)] =
        chunk < 2 ? uint4{words[4 * chunk], words[4 * chunk + 1], words[4 * chunk + 2], words[4 * chunk + 3]}
                  : uint4{0, 0, 0, 0};
  }
}
__global__ void wgmma_fp8(const FusedDot* dots, float* sums) {
  __shared__ __align__(1024) uint4 keys[64 * 8];
  __shared__ __align__(1024) uint4 queries[32 * 8];
  const FusedDot& dot = dots[blockIdx.x];
  fill_rows(keys, 64, dot.a);
  fill_rows(queries, 32, dot.b);
  mqa::hopper::fence_shared();
  __syncthreads();
  float sum[16];
  for (float& x : sum) {
    x = dot.c;
    asm volatile("" : "+f"(x)); // in its register before the fence
  }
  mqa::hopper::fence();
  mqa::hopper::product<false>(sum, mqa::hopper::descriptor(keys), mqa::hopper::descriptor(queries));
  mqa::hopper::commit();
  mqa::hopper::wait<0>();
  if (threadIdx.x == 0) sums[blockIdx.x] = sum[0];
}
#else
__global__ void mfma_fp8(const FusedDot* dots, float* sums) {
  const FusedDot& dot = dots[blockIdx.x];
  const int word = 2 * static_cast<int>(threadIdx.x / 16);
  const Arch::Quad sum = Arch::mfma(dot.a + word, dot.b + word, Arch::Quad{dot.c, dot.c, dot.c, dot.c});
  if (threadIdx.x == 0) sums[blockIdx.x] = sum.x;
}
#endif

} // namespace

hipError_t launch_probe(Unit unit, const FusedDot* dots, float* sums, int count) {
  const dim3 grid(static_cast<uint32_t>(count)), wave(Arch::kLanes);
  switch (unit) {
  case Unit::vector_fma: one_by_one<<<grid, wave, 0, nullptr>>>(dots, sums); break;
#if defined(__CUDACC__)
  case Unit::mma_fp16: mma_fp16<<<grid, wave, 0, nullptr>>>(dots, sums); break;
  case Unit::wgmma_fp8: wgmma_fp8<<<grid, dim3(128), 0, nullptr>>>(dots, sums); break;
#else
  case Unit::mfma_fp8: mfma_fp8<<<grid, wave, 0, nullptr>>>(dots, sums); break;
#endif
  default: return hipErrorInvalidValue;
  }
  return hipGetLastError();
}

} // namespace mqalab
