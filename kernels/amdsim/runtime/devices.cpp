// What the device says of itself. AMDSIM_DEVICE chooses, see settings.cpp.
#include "runtime.hpp"

using namespace amdsim;

namespace {

constexpr int hip_version = 50220730; // the headers that programs are compiled with
constexpr int lds_bytes = 65536;
constexpr int registers_per_block = 65536;
constexpr int threads_per_block_most = 1024;
constexpr int no_limit = 2147483647;

thread_local int current_device = 0;

bool is_device(int device) { return device >= 0 && device < C.devices; }
std::string device_name() { return std::string("amdsim ") + C.device().name; }

void set_limits(hipDeviceProp_t& p) {
  p.totalGlobalMem = mem_total();
  p.sharedMemPerBlock = p.maxSharedMemoryPerMultiProcessor = lds_bytes;
  p.regsPerBlock = registers_per_block;
  p.warpSize = 64;
  p.maxThreadsPerBlock = threads_per_block_most;
  for (int& most : p.maxThreadsDim) most = threads_per_block_most;
  p.maxGridSize[0] = no_limit;
  p.maxGridSize[1] = p.maxGridSize[2] = 65536;
  p.totalConstMem = p.memPitch = no_limit;
  p.textureAlignment = p.texturePitchAlignment = 256;
  p.maxThreadsPerMultiProcessor = 2048;
}

void set_hardware(hipDeviceProp_t& p, int device) {
  snprintf(p.name, sizeof p.name, "%s", device_name().c_str());
  snprintf(p.gcnArchName, sizeof p.gcnArchName, "%s", C.arch.c_str());
  p.gcnArch = 942;
  p.major = 9;
  p.minor = 4;
  p.multiProcessorCount = C.cus();
  p.clockRate = 2100000;
  p.memoryClockRate = 1300000;
  p.memoryBusWidth = 8192;
  p.l2CacheSize = 4 << 20;
  p.clockInstructionRate = 100000;
  p.pciBusID = device + 1;
}

void set_features(hipDeviceProp_t& p) {
  hipDeviceArch_t& a = p.arch;
  a.hasGlobalInt32Atomics = a.hasGlobalFloatAtomicExch = a.hasSharedInt32Atomics = 1;
  a.hasSharedFloatAtomicExch = a.hasFloatAtomicAdd = a.hasGlobalInt64Atomics = a.hasSharedInt64Atomics = 1;
  a.hasDoubles = a.hasWarpVote = a.hasWarpBallot = a.hasWarpShuffle = a.hasThreadFenceSystem = a.has3dGrid =
      1;
  p.concurrentKernels = p.canMapHostMemory = p.isLargeBar = p.managedMemory = p.ECCEnabled = 1;
}

// Attributes are fields of the properties, or constants.
struct Attribute {
  hipDeviceAttribute_t id;
  int (*value)(const hipDeviceProp_t&);
};
#define FIELD(id, field) {id, [](const hipDeviceProp_t& p) { return static_cast<int>(p.field); }}
#define CONSTANT(id, constant) {id, [](const hipDeviceProp_t&) { return constant; }}
const Attribute attributes[] = {
    FIELD(hipDeviceAttributeMultiprocessorCount, multiProcessorCount),
    FIELD(hipDeviceAttributeWarpSize, warpSize),
    FIELD(hipDeviceAttributeMaxThreadsPerBlock, maxThreadsPerBlock),
    FIELD(hipDeviceAttributeMaxBlockDimX, maxThreadsDim[0]),
    FIELD(hipDeviceAttributeMaxBlockDimY, maxThreadsDim[1]),
    FIELD(hipDeviceAttributeMaxBlockDimZ, maxThreadsDim[2]),
    FIELD(hipDeviceAttributeMaxGridDimX, maxGridSize[0]),
    FIELD(hipDeviceAttributeMaxGridDimY, maxGridSize[1]),
    FIELD(hipDeviceAttributeMaxGridDimZ, maxGridSize[2]),
    FIELD(hipDeviceAttributeMaxSharedMemoryPerBlock, sharedMemPerBlock),
    FIELD(hipDeviceAttributeMaxSharedMemoryPerMultiprocessor, sharedMemPerBlock),
    FIELD(hipDeviceAttributeSharedMemPerBlockOptin, sharedMemPerBlock),
    FIELD(hipDeviceAttributeMaxThreadsPerMultiProcessor, maxThreadsPerMultiProcessor),
    FIELD(hipDeviceAttributeComputeCapabilityMajor, major),
    FIELD(hipDeviceAttributeComputeCapabilityMinor, minor),
    FIELD(hipDeviceAttributeMaxRegistersPerBlock, regsPerBlock),
    FIELD(hipDeviceAttributeClockRate, clockRate),
    FIELD(hipDeviceAttributeMemoryClockRate, memoryClockRate),
    FIELD(hipDeviceAttributeMemoryBusWidth, memoryBusWidth),
    FIELD(hipDeviceAttributeL2CacheSize, l2CacheSize),
    FIELD(hipDeviceAttributeConcurrentKernels, concurrentKernels),
    FIELD(hipDeviceAttributeCanMapHostMemory, canMapHostMemory),
    FIELD(hipDeviceAttributeEccEnabled, ECCEnabled),
    FIELD(hipDeviceAttributeManagedMemory, managedMemory),
    CONSTANT(hipDeviceAttributeCooperativeLaunch, 0),
    CONSTANT(hipDeviceAttributeCooperativeMultiDeviceLaunch, 0),
    CONSTANT(hipDeviceAttributeIntegrated, 0),
    CONSTANT(hipDeviceAttributePageableMemoryAccess, 0),
};
#undef FIELD
#undef CONSTANT

template <class T> hipError_t give(T* where, T value) {
  if (!where) return fail(hipErrorInvalidValue);
  *where = value;
  return hipSuccess;
}

} // namespace

HIP_ENTRY hipInit(unsigned) {
  const ApiCall call;
  return hipSuccess;
}
HIP_ENTRY hipDriverGetVersion(int* version) { return give(version, hip_version); }
HIP_ENTRY hipRuntimeGetVersion(int* version) { return give(version, hip_version); }

HIP_ENTRY hipGetDeviceCount(int* count) {
  const ApiCall call;
  if (give(count, C.devices) != hipSuccess) return hipErrorInvalidValue;
  return C.devices ? hipSuccess : fail(hipErrorNoDevice);
}
HIP_ENTRY hipGetDevice(int* device) {
  const ApiCall call;
  return give(device, current_device);
}
HIP_ENTRY hipSetDevice(int device) {
  const ApiCall call;
  if (!is_device(device)) return fail(hipErrorInvalidDevice);
  current_device = device;
  return hipSuccess;
}
HIP_ENTRY hipDeviceGet(hipDevice_t* handle, int device) {
  const ApiCall call;
  if (!handle || !is_device(device)) return fail(hipErrorInvalidDevice);
  *handle = device;
  return hipSuccess;
}
HIP_ENTRY hipDeviceGetName(char* name, int bytes, hipDevice_t device) {
  const ApiCall call;
  if (!name || bytes <= 0 || !is_device(device)) return fail(hipErrorInvalidValue);
  snprintf(name, bytes, "%s", device_name().c_str());
  return hipSuccess;
}
HIP_ENTRY hipDeviceTotalMem(size_t* bytes, hipDevice_t) {
  const ApiCall call;
  return give(bytes, mem_total());
}
HIP_ENTRY hipDeviceComputeCapability(int* major, int* minor, hipDevice_t) {
  if (!major || !minor) return fail(hipErrorInvalidValue);
  *major = 9;
  *minor = 4;
  return hipSuccess;
}

HIP_ENTRY hipGetDeviceProperties(hipDeviceProp_t* properties, int device) {
  const ApiCall call;
  if (!properties) return fail(hipErrorInvalidValue);
  if (!is_device(device)) return fail(hipErrorInvalidDevice);
  memset(properties, 0, sizeof *properties);
  set_limits(*properties);
  set_hardware(*properties, device);
  set_features(*properties);
  return hipSuccess;
}

HIP_ENTRY hipDeviceGetAttribute(int* value, hipDeviceAttribute_t id, int device) {
  hipDeviceProp_t properties;
  if (const hipError_t error = hipGetDeviceProperties(&properties, device); error != hipSuccess) return error;
  for (const Attribute& a : attributes)
    if (a.id == id) return give(value, a.value(properties));
  return misuse(hipErrorInvalidValue, "hipDeviceGetAttribute: attribute %d is not implemented",
                static_cast<int>(id));
}

HIP_ENTRY hipDeviceSynchronize() {
  const ApiCall call;
  if (any_capture())
    return misuse(hipErrorStreamCaptureUnsupported, "hipDeviceSynchronize while a stream is capturing");
  return fail(sticky_error);
}
HIP_ENTRY hipDeviceReset() {
  const ApiCall call;
  sticky_error = hipSuccess;
  return hipSuccess;
}
HIP_ENTRY hipGetDeviceFlags(unsigned* flags) { return give(flags, 0u); }
HIP_ENTRY hipSetDeviceFlags(unsigned) { return hipSuccess; }
HIP_ENTRY hipDeviceGetStreamPriorityRange(int* least, int* greatest) {
  if (least) *least = 1;
  if (greatest) *greatest = -1;
  return hipSuccess;
}
HIP_ENTRY hipDeviceCanAccessPeer(int* can, int, int) { return give(can, 0); }
