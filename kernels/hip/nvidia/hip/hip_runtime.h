// HIP's device side over CUDA, for nvcc: the runtime API plus launch syntax and the few HIP-only names of
// kernel code. Matrix, conversion and memory primitives are not here: they differ in more than a name and
// live in kernels/arch/.
#pragma once
#include <cuda_runtime.h>

#include <hip/hip_runtime_api.h>

#define HIP_KERNEL_NAME(...) __VA_ARGS__
#define HIP_DYNAMIC_SHARED(type, name) extern __shared__ type name[];
#define hipThreadIdx_x threadIdx.x
#define hipBlockIdx_x blockIdx.x
#define hipBlockDim_x blockDim.x
#define hipGridDim_x gridDim.x

// The kernel may be a template instance in parentheses or in HIP_KERNEL_NAME(...).
#define hipLaunchKernelGGL(kernel, grid, block, lds_bytes, stream, ...)                                      \
  do {                                                                                                       \
    kernel<<<(grid), (block), (lds_bytes), (stream)>>>(__VA_ARGS__);                                         \
  } while (0)
