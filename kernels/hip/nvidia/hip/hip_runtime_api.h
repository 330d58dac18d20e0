/* The HIP runtime API over the CUDA runtime, for host files of any C99 or C++ compiler (no nvcc needed): what
 * mqalab uses and no more.  Odd: hipGetErrorName gives CUDA's names (cudaErrorIllegalAddress). */
#ifndef MQA_NVIDIA_HIP_RUNTIME_API_H
#define MQA_NVIDIA_HIP_RUNTIME_API_H

#ifndef __HIP_PLATFORM_NVIDIA__
#define __HIP_PLATFORM_NVIDIA__ 1
#endif

#include <hip/hip_constants.h>

#include <cuda_runtime_api.h>

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* ---- Types ---- */
typedef cudaError_t hipError_t;
typedef cudaStream_t hipStream_t;
typedef cudaEvent_t hipEvent_t;
typedef cudaGraph_t hipGraph_t;
typedef cudaGraphExec_t hipGraphExec_t;
typedef cudaGraphNode_t hipGraphNode_t;
typedef cudaHostFn_t hipHostFn_t;
typedef enum cudaMemcpyKind hipMemcpyKind;
typedef enum cudaFuncAttribute hipFuncAttribute;
typedef enum cudaFuncCache hipFuncCache_t;
typedef enum cudaDeviceAttr hipDeviceAttribute_t;
typedef enum cudaStreamCaptureMode hipStreamCaptureMode;
typedef enum cudaStreamCaptureStatus hipStreamCaptureStatus;
typedef enum cudaGraphNodeType hipGraphNodeType;
typedef struct cudaFuncAttributes hipFuncAttributes;
typedef struct cudaPointerAttributes hipPointerAttribute_t;
typedef void* hipDeviceptr_t;
typedef int hipDevice_t;

/* HIP's names; gcnArchName is "sm_90a" on Hopper: the target whose instructions the kernels may use. */
typedef struct hipDeviceProp_t {
  char name[256], gcnArchName[256];
  size_t totalGlobalMem, totalConstMem, memPitch;
  size_t sharedMemPerBlock, sharedMemPerBlockOptin, maxSharedMemoryPerMultiProcessor;
  int regsPerBlock, warpSize, maxThreadsPerBlock, maxThreadsDim[3], maxGridSize[3];
  int clockRate, memoryClockRate, memoryBusWidth, clockInstructionRate; /* kHz, kHz, bits, kHz */
  int major, minor, multiProcessorCount, l2CacheSize, maxThreadsPerMultiProcessor, computeMode;
  int concurrentKernels, cooperativeLaunch, integrated, canMapHostMemory, managedMemory, ECCEnabled;
  int pciDomainID, pciBusID, pciDeviceID, isMultiGpuBoard;
} hipDeviceProp_t;

/* ---- Functions that differ in name only: FORWARD(HIP, CUDA, parameters, arguments) ---- */
#define MQA_FORWARD(hip, cuda, parameters, arguments)                                                        \
  static inline hipError_t hip parameters { return cuda arguments; }

MQA_FORWARD(hipGetDevice, cudaGetDevice, (int* device), (device))
MQA_FORWARD(hipSetDevice, cudaSetDevice, (int device), (device))
MQA_FORWARD(hipGetDeviceCount, cudaGetDeviceCount, (int* count), (count))
MQA_FORWARD(hipDeviceGetAttribute, cudaDeviceGetAttribute,
            (int* value, hipDeviceAttribute_t attribute, int device), (value, attribute, device))
MQA_FORWARD(hipDeviceGetPCIBusId, cudaDeviceGetPCIBusId, (char* id, int bytes, int device),
            (id, bytes, device))
MQA_FORWARD(hipDeviceSynchronize, cudaDeviceSynchronize, (void), ())
MQA_FORWARD(hipDeviceReset, cudaDeviceReset, (void), ())
MQA_FORWARD(hipDriverGetVersion, cudaDriverGetVersion, (int* version), (version))
MQA_FORWARD(hipRuntimeGetVersion, cudaRuntimeGetVersion, (int* version), (version))
MQA_FORWARD(hipGetLastError, cudaGetLastError, (void), ())
MQA_FORWARD(hipPeekAtLastError, cudaPeekAtLastError, (void), ())

MQA_FORWARD(hipFree, cudaFree, (void* pointer), (pointer))
MQA_FORWARD(hipFreeAsync, cudaFreeAsync, (void* pointer, hipStream_t stream), (pointer, stream))
MQA_FORWARD(hipHostFree, cudaFreeHost, (void* pointer), (pointer))
MQA_FORWARD(hipHostRegister, cudaHostRegister, (void* pointer, size_t bytes, unsigned flags),
            (pointer, bytes, flags))
MQA_FORWARD(hipHostUnregister, cudaHostUnregister, (void* pointer), (pointer))
MQA_FORWARD(hipMemGetInfo, cudaMemGetInfo, (size_t* free_bytes, size_t* total_bytes),
            (free_bytes, total_bytes))
MQA_FORWARD(hipPointerGetAttributes, cudaPointerGetAttributes,
            (hipPointerAttribute_t * attributes, const void* pointer), (attributes, pointer))
MQA_FORWARD(hipMemcpy, cudaMemcpy, (void* to, const void* from, size_t bytes, hipMemcpyKind kind),
            (to, from, bytes, kind))
MQA_FORWARD(hipMemcpyAsync, cudaMemcpyAsync,
            (void* to, const void* from, size_t bytes, hipMemcpyKind kind, hipStream_t stream),
            (to, from, bytes, kind, stream))
MQA_FORWARD(hipMemcpy2D, cudaMemcpy2D,
            (void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width_bytes,
             size_t height, hipMemcpyKind kind),
            (to, to_pitch, from, from_pitch, width_bytes, height, kind))
MQA_FORWARD(hipMemcpy2DAsync, cudaMemcpy2DAsync,
            (void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width_bytes,
             size_t height, hipMemcpyKind kind, hipStream_t stream),
            (to, to_pitch, from, from_pitch, width_bytes, height, kind, stream))
MQA_FORWARD(hipMemcpyHtoD, cudaMemcpy, (hipDeviceptr_t to, void* from, size_t bytes),
            (to, from, bytes, cudaMemcpyHostToDevice))
MQA_FORWARD(hipMemcpyDtoH, cudaMemcpy, (void* to, hipDeviceptr_t from, size_t bytes),
            (to, from, bytes, cudaMemcpyDeviceToHost))
MQA_FORWARD(hipMemset, cudaMemset, (void* pointer, int value, size_t bytes), (pointer, value, bytes))
MQA_FORWARD(hipMemsetAsync, cudaMemsetAsync, (void* pointer, int value, size_t bytes, hipStream_t stream),
            (pointer, value, bytes, stream))
MQA_FORWARD(hipMemset2D, cudaMemset2D,
            (void* pointer, size_t pitch, int value, size_t width_bytes, size_t height),
            (pointer, pitch, value, width_bytes, height))
MQA_FORWARD(hipMemset2DAsync, cudaMemset2DAsync,
            (void* pointer, size_t pitch, int value, size_t width_bytes, size_t height, hipStream_t stream),
            (pointer, pitch, value, width_bytes, height, stream))

MQA_FORWARD(hipStreamCreate, cudaStreamCreate, (hipStream_t * stream), (stream))
MQA_FORWARD(hipStreamCreateWithFlags, cudaStreamCreateWithFlags, (hipStream_t * stream, unsigned flags),
            (stream, flags))
MQA_FORWARD(hipStreamCreateWithPriority, cudaStreamCreateWithPriority,
            (hipStream_t * stream, unsigned flags, int priority), (stream, flags, priority))
MQA_FORWARD(hipStreamDestroy, cudaStreamDestroy, (hipStream_t stream), (stream))
MQA_FORWARD(hipStreamSynchronize, cudaStreamSynchronize, (hipStream_t stream), (stream))
MQA_FORWARD(hipStreamQuery, cudaStreamQuery, (hipStream_t stream), (stream))
MQA_FORWARD(hipStreamWaitEvent, cudaStreamWaitEvent, (hipStream_t stream, hipEvent_t event, unsigned flags),
            (stream, event, flags))
MQA_FORWARD(hipStreamBeginCapture, cudaStreamBeginCapture, (hipStream_t stream, hipStreamCaptureMode mode),
            (stream, mode))
MQA_FORWARD(hipStreamEndCapture, cudaStreamEndCapture, (hipStream_t stream, hipGraph_t* graph),
            (stream, graph))
MQA_FORWARD(hipStreamIsCapturing, cudaStreamIsCapturing, (hipStream_t stream, hipStreamCaptureStatus* status),
            (stream, status))
MQA_FORWARD(hipLaunchHostFunc, cudaLaunchHostFunc, (hipStream_t stream, hipHostFn_t function, void* argument),
            (stream, function, argument))

MQA_FORWARD(hipEventCreate, cudaEventCreate, (hipEvent_t * event), (event))
MQA_FORWARD(hipEventCreateWithFlags, cudaEventCreateWithFlags, (hipEvent_t * event, unsigned flags),
            (event, flags))
MQA_FORWARD(hipEventDestroy, cudaEventDestroy, (hipEvent_t event), (event))
MQA_FORWARD(hipEventSynchronize, cudaEventSynchronize, (hipEvent_t event), (event))
MQA_FORWARD(hipEventQuery, cudaEventQuery, (hipEvent_t event), (event))
MQA_FORWARD(hipEventElapsedTime, cudaEventElapsedTime,
            (float* milliseconds, hipEvent_t begin, hipEvent_t end), (milliseconds, begin, end))

MQA_FORWARD(hipGraphLaunch, cudaGraphLaunch, (hipGraphExec_t exec, hipStream_t stream), (exec, stream))
MQA_FORWARD(hipGraphExecDestroy, cudaGraphExecDestroy, (hipGraphExec_t exec), (exec))
MQA_FORWARD(hipGraphDestroy, cudaGraphDestroy, (hipGraph_t graph), (graph))
MQA_FORWARD(hipGraphGetNodes, cudaGraphGetNodes, (hipGraph_t graph, hipGraphNode_t* nodes, size_t* count),
            (graph, nodes, count))
MQA_FORWARD(hipGraphNodeGetType, cudaGraphNodeGetType, (hipGraphNode_t node, hipGraphNodeType* type),
            (node, type))

MQA_FORWARD(hipFuncSetAttribute, cudaFuncSetAttribute,
            (const void* kernel, hipFuncAttribute attribute, int value), (kernel, attribute, value))
MQA_FORWARD(hipFuncGetAttributes, cudaFuncGetAttributes, (hipFuncAttributes * attributes, const void* kernel),
            (attributes, kernel))
MQA_FORWARD(hipFuncSetCacheConfig, cudaFuncSetCacheConfig, (const void* kernel, hipFuncCache_t cache),
            (kernel, cache))
MQA_FORWARD(hipOccupancyMaxActiveBlocksPerMultiprocessor, cudaOccupancyMaxActiveBlocksPerMultiprocessor,
            (int* blocks, const void* kernel, int block_threads, size_t dynamic_lds_bytes),
            (blocks, kernel, block_threads, dynamic_lds_bytes))
MQA_FORWARD(hipLaunchKernel, cudaLaunchKernel,
            (const void* kernel, dim3 grid, dim3 block, void** arguments, size_t lds_bytes,
             hipStream_t stream),
            (kernel, grid, block, arguments, lds_bytes, stream))
MQA_FORWARD(hipLaunchCooperativeKernel, cudaLaunchCooperativeKernel,
            (const void* kernel, dim3 grid, dim3 block, void** arguments, unsigned lds_bytes,
             hipStream_t stream),
            (kernel, grid, block, arguments, lds_bytes, stream))
#undef MQA_FORWARD

/* ---- Functions that take more than a new name ---- */
static inline const char* hipGetErrorName(hipError_t error) { return cudaGetErrorName(error); }
static inline const char* hipGetErrorString(hipError_t error) { return cudaGetErrorString(error); }

/* HIP's arguments where C++ headers have defaults, so that C and C++ callers may write the same. */
#ifdef __cplusplus
template <class T> inline hipError_t hipMalloc(T** pointer, size_t bytes) {
  return cudaMalloc((void**)pointer, bytes);
}
template <class T> inline hipError_t hipMallocAsync(T** pointer, size_t bytes, hipStream_t stream) {
  return cudaMallocAsync((void**)pointer, bytes, stream);
}
template <class T>
inline hipError_t hipHostMalloc(T** pointer, size_t bytes, unsigned flags = hipHostMallocDefault) {
  return cudaHostAlloc((void**)pointer, bytes, flags);
}
static inline hipError_t hipEventRecord(hipEvent_t event, hipStream_t stream = nullptr) {
  return cudaEventRecord(event, stream);
}
#else
static inline hipError_t hipMalloc(void** pointer, size_t bytes) { return cudaMalloc(pointer, bytes); }
static inline hipError_t hipMallocAsync(void** pointer, size_t bytes, hipStream_t stream) {
  return cudaMallocAsync(pointer, bytes, stream);
}
static inline hipError_t hipHostMalloc(void** pointer, size_t bytes, unsigned flags) {
  return cudaHostAlloc(pointer, bytes, flags);
}
static inline hipError_t hipEventRecord(hipEvent_t event, hipStream_t stream) {
  return cudaEventRecord(event, stream);
}
#endif

/* CUDA has no log buffer; HIP documents it as optional. */
static inline hipError_t hipGraphInstantiate(hipGraphExec_t* exec, hipGraph_t graph,
                                             hipGraphNode_t* error_node, char* log, size_t log_bytes) {
  if (error_node) *error_node = NULL;
  if (log && log_bytes) *log = '\0';
  return cudaGraphInstantiate(exec, graph, 0);
}

/* The device the calling thread uses, with its context made current: what driver functions need. */
static inline hipError_t mqa_current_device(int* device) {
  const hipError_t error = cudaGetDevice(device);
  return error != cudaSuccess ? error : cudaSetDevice(*device);
}

/* The CUDA runtime fills bytes only, so this finds the driver's function at run time: nothing links against
 * libcuda. */
static inline hipError_t hipMemsetD32Async(hipDeviceptr_t to, int value, size_t count, hipStream_t stream) {
  union {
    void* address;
    int (*call)(uint64_t, unsigned, size_t, cudaStream_t);
  } fill = {NULL};
  enum cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
  int device = 0;
  hipError_t error = mqa_current_device(&device);
  if (error == cudaSuccess)
    error =
        cudaGetDriverEntryPointByVersion("cuMemsetD32Async", &fill.address, 12000, cudaEnableDefault, &found);
  if (error != cudaSuccess) return error;
  if (found != cudaDriverEntryPointSuccess) return cudaErrorSymbolNotFound;
  return (hipError_t)fill.call((uintptr_t)to, (unsigned)value, count, stream);
}
static inline hipError_t hipMemsetD32(hipDeviceptr_t to, int value, size_t count) {
  const hipError_t error = hipMemsetD32Async(to, value, count, NULL);
  return error != cudaSuccess ? error : cudaStreamSynchronize(NULL);
}

/* Fields that both structures have, under one name and type. */
/* clang-format off */
#define MQA_SAME_FIELDS(X)                                                                                   \
  X(name) X(totalGlobalMem) X(totalConstMem) X(memPitch) X(sharedMemPerBlock) X(sharedMemPerBlockOptin)      \
  X(regsPerBlock) X(warpSize) X(maxThreadsPerBlock) X(maxThreadsDim) X(maxGridSize) X(memoryBusWidth)        \
  X(major) X(minor) X(multiProcessorCount) X(l2CacheSize) X(maxThreadsPerMultiProcessor)                     \
  X(concurrentKernels) X(cooperativeLaunch) X(integrated) X(canMapHostMemory) X(managedMemory)               \
  X(ECCEnabled) X(pciDomainID) X(pciBusID) X(pciDeviceID) X(isMultiGpuBoard)
/* clang-format on */
static inline hipError_t hipGetDeviceProperties(hipDeviceProp_t* out, int device) {
  struct cudaDeviceProp in;
  hipError_t error = cudaGetDeviceProperties(&in, device);
  if (error != cudaSuccess) return error;
  memset(out, 0, sizeof *out);
#define MQA_COPY(field) memcpy(&out->field, &in.field, sizeof out->field);
  MQA_SAME_FIELDS(MQA_COPY)
#undef MQA_COPY
#undef MQA_SAME_FIELDS
  out->maxSharedMemoryPerMultiProcessor = in.sharedMemPerMultiprocessor;
  out->clockInstructionRate = 1000000; /* %globaltimer counts nanoseconds */
  snprintf(out->gcnArchName, sizeof out->gcnArchName, "sm_%d%d%s", in.major, in.minor,
           in.major >= 9 ? "a" : "");
  const struct {
    enum cudaDeviceAttr attribute;
    int* value;
  } rest[] = {/* not in cudaDeviceProp since CUDA 13 */
              {cudaDevAttrClockRate, &out->clockRate},
              {cudaDevAttrMemoryClockRate, &out->memoryClockRate},
              {cudaDevAttrComputeMode, &out->computeMode}};
  for (size_t i = 0; i < sizeof rest / sizeof rest[0] && error == cudaSuccess; ++i)
    error = cudaDeviceGetAttribute(rest[i].value, rest[i].attribute, device);
  return error;
}
static inline hipError_t hipDeviceGetName(char* name, int bytes, hipDevice_t device) {
  hipDeviceProp_t properties;
  const hipError_t error = hipGetDeviceProperties(&properties, device);
  if (error == cudaSuccess) snprintf(name, (size_t)bytes, "%s", properties.name);
  return error;
}

#endif /* MQA_NVIDIA_HIP_RUNTIME_API_H */
