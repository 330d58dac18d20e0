// What a kernel uses, and how many of its blocks a compute unit holds.
#include "runtime.hpp"

using namespace amdsim;

namespace {

constexpr uint32_t lds_bytes_most = 65536, lds_granule_bytes = 512;
constexpr unsigned threads_per_block_most = 1024;
constexpr unsigned simds_per_cu = 4, waves_per_simd_most = 8, blocks_per_cu_most = 32;
constexpr unsigned registers_of_a_lane = 512, register_granule = 8; // VGPRs and AGPRs together, in each SIMD

unsigned threads_most(const Kernel& k) { return std::min(threads_per_block_most, k.max_wg); }

int blocks_per_cu(const Kernel& k, int threads, size_t dynamic_lds) {
  if (threads < 1 || threads > static_cast<int>(threads_most(k)) || k.lds + dynamic_lds > lds_bytes_most)
    return 0;
  const unsigned registers = ((k.rsrc1 & 63) + 1) * register_granule;
  const unsigned waves = std::min(waves_per_simd_most, registers_of_a_lane / registers) * simds_per_cu;
  const unsigned by_registers = waves / ((threads + 63) / 64);
  const size_t lds = (k.lds + dynamic_lds + lds_granule_bytes - 1) / lds_granule_bytes * lds_granule_bytes;
  const size_t by_lds = lds ? lds_bytes_most / lds : blocks_per_cu_most;
  return std::min<size_t>({by_registers, by_lds, blocks_per_cu_most});
}

} // namespace

HIP_ENTRY hipFuncGetAttributes(hipFuncAttributes* attributes, const void* function) {
  const ApiCall call;
  if (!attributes) return fail(hipErrorInvalidValue);
  hipError_t error = hipSuccess;
  const Kernel* k = find_kernel(function, error);
  if (!k) return error;
  memset(attributes, 0, sizeof *attributes);
  attributes->binaryVersion = 942;
  attributes->ptxVersion = 30;
  attributes->localSizeBytes = k->priv;
  attributes->sharedSizeBytes = k->lds;
  attributes->maxDynamicSharedSizeBytes = lds_bytes_most - k->lds;
  attributes->maxThreadsPerBlock = k->max_wg;
  attributes->numRegs = k->vgprs;
  return hipSuccess;
}

HIP_ENTRY hipFuncGetAttribute(int* value, hipFunction_attribute attribute, hipFunction_t function) {
  hipFuncAttributes a;
  if (const hipError_t error = hipFuncGetAttributes(&a, function); error != hipSuccess) return error;
  switch (attribute) {
  case HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK: *value = a.maxThreadsPerBlock; break;
  case HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES: *value = a.sharedSizeBytes; break;
  case HIP_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES: *value = a.localSizeBytes; break;
  case HIP_FUNC_ATTRIBUTE_NUM_REGS: *value = a.numRegs; break;
  case HIP_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES: *value = a.maxDynamicSharedSizeBytes; break;
  case HIP_FUNC_ATTRIBUTE_BINARY_VERSION: *value = a.binaryVersion; break;
  default:
    return misuse(hipErrorInvalidValue, "hipFuncGetAttribute: attribute %d is not implemented",
                  static_cast<int>(attribute));
  }
  return hipSuccess;
}

HIP_ENTRY hipFuncSetAttribute(const void* function, hipFuncAttribute attribute, int value) {
  const ApiCall call;
  hipError_t error = hipSuccess;
  Kernel* k = find_kernel(function, error);
  if (!k) return error;
  if (attribute == hipFuncAttributePreferredSharedMemoryCarveout) return hipSuccess;
  const bool fits = value >= 0 && static_cast<uint32_t>(value) + k->lds <= lds_bytes_most;
  if (attribute != hipFuncAttributeMaxDynamicSharedMemorySize || !fits) return fail(hipErrorInvalidValue);
  k->max_dyn_lds = value;
  return hipSuccess;
}
HIP_ENTRY hipFuncSetCacheConfig(const void*, hipFuncCache_t) { return hipSuccess; }
HIP_ENTRY hipFuncSetSharedMemConfig(const void*, hipSharedMemConfig) { return hipSuccess; }

HIP_ENTRY hipOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* function, int threads,
                                                       size_t dynamic_lds) {
  const ApiCall call;
  if (!blocks) return fail(hipErrorInvalidValue);
  hipError_t error = hipSuccess;
  const Kernel* k = find_kernel(function, error);
  if (k) *blocks = blocks_per_cu(*k, threads, dynamic_lds);
  return error;
}
HIP_ENTRY hipOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void* function,
                                                                int threads, size_t dynamic_lds, unsigned) {
  return hipOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function, threads, dynamic_lds);
}
HIP_ENTRY hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, hipFunction_t function, int threads,
                                                             size_t dynamic_lds) {
  return hipOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function, threads, dynamic_lds);
}
HIP_ENTRY hipModuleOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, hipFunction_t function,
                                                                      int threads, size_t dynamic_lds,
                                                                      unsigned) {
  return hipOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function, threads, dynamic_lds);
}

// The most threads on a compute unit; of equals, the largest block.
HIP_ENTRY hipOccupancyMaxPotentialBlockSize(int* grid, int* block, const void* function, size_t dynamic_lds,
                                            int limit) {
  const ApiCall call;
  hipError_t error = hipSuccess;
  const Kernel* k = find_kernel(function, error);
  if (!k) return error;
  const int most = std::min<unsigned>(limit > 0 ? limit : threads_per_block_most, k->max_wg);
  int best = 64, best_threads = 0;
  for (int size = 64; size <= most; size += 64) {
    const int threads = blocks_per_cu(*k, size, dynamic_lds) * size;
    if (threads >= best_threads) best_threads = threads, best = size;
  }
  if (block) *block = best;
  if (grid) *grid = blocks_per_cu(*k, best, dynamic_lds) * C.cus();
  return hipSuccess;
}
