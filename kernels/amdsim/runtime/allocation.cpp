// hipMalloc and its kin, and questions about pointers.
#include "runtime.hpp"

using namespace amdsim;

namespace {

hipError_t allocate(void** p, size_t bytes, MemKind kind, const char* what, unsigned flags) {
  if (!p) return fail(hipErrorInvalidValue);
  *p = nullptr;
  if (!bytes) return hipSuccess;
  const Alloc* a = mem_alloc(bytes, kind, what, flags);
  if (!a) return fail(hipErrorOutOfMemory);
  *p = reinterpret_cast<void*>(a->base);
  return hipSuccess;
}

hipError_t free_allocation(const char* call, void* p, MemKind a, MemKind b) {
  if (!p || mem_free(p, a, b)) return hipSuccess;
  return misuse(hipErrorInvalidValue, "%s(%p): not an allocation's start: %s", call, p,
                mem_describe(reinterpret_cast<uintptr_t>(p)));
}

Alloc* find(const void* p) { return mem_find(reinterpret_cast<uintptr_t>(p)); }

} // namespace

HIP_ENTRY hipMalloc(void** p, size_t bytes) {
  const ApiCall call;
  if (p && bytes && sticky_error != hipSuccess) return fail(sticky_error);
  return allocate(p, bytes, MemKind::Device, "hipMalloc", 0);
}
HIP_ENTRY hipExtMallocWithFlags(void** p, size_t bytes, unsigned) { return hipMalloc(p, bytes); }
HIP_ENTRY hipMallocAsync(void** p, size_t bytes, hipStream_t) { return hipMalloc(p, bytes); }
HIP_ENTRY hipMallocPitch(void** p, size_t* pitch, size_t width, size_t height) {
  if (!pitch) return fail(hipErrorInvalidValue);
  *pitch = (width + 255) & ~size_t(255);
  return hipMalloc(p, *pitch * height);
}
HIP_ENTRY hipMallocManaged(void** p, size_t bytes, unsigned flags) {
  const ApiCall call;
  if (!bytes) return fail(hipErrorInvalidValue);
  return allocate(p, bytes, MemKind::Managed, "hipMallocManaged", flags);
}
HIP_ENTRY hipFree(void* p) {
  const ApiCall call;
  if (p && sticky_error != hipSuccess) return fail(sticky_error);
  return free_allocation("hipFree", p, MemKind::Device, MemKind::Managed);
}
HIP_ENTRY hipFreeAsync(void* p, hipStream_t) { return hipFree(p); }

HIP_ENTRY hipHostMalloc(void** p, size_t bytes, unsigned flags) {
  const ApiCall call;
  return allocate(p, bytes, MemKind::Host, "hipHostMalloc", flags);
}
HIP_ENTRY hipHostAlloc(void** p, size_t bytes, unsigned flags) { return hipHostMalloc(p, bytes, flags); }
HIP_ENTRY hipMallocHost(void** p, size_t bytes) { return hipHostMalloc(p, bytes, 0); }
HIP_ENTRY hipHostFree(void* p) {
  const ApiCall call;
  return free_allocation("hipHostFree", p, MemKind::Host, MemKind::Host);
}
HIP_ENTRY hipFreeHost(void* p) { return hipHostFree(p); }

HIP_ENTRY hipHostRegister(void* p, size_t bytes, unsigned) {
  const ApiCall call;
  if (!p || !bytes) return fail(hipErrorInvalidValue);
  if (find(p)) return fail(hipErrorHostMemoryAlreadyRegistered);
  mem_register(p, bytes, MemKind::Host, "hipHostRegister");
  return hipSuccess;
}
HIP_ENTRY hipHostUnregister(void* p) {
  const ApiCall call;
  return mem_unregister(p) ? hipSuccess : fail(hipErrorHostMemoryNotRegistered);
}

// ---- questions ----------------------------------------------------------------------------------
HIP_ENTRY hipHostGetDevicePointer(void** device, void* host, unsigned) {
  const ApiCall call;
  if (!device || !find(host)) return fail(hipErrorInvalidValue);
  *device = host;
  return hipSuccess;
}
HIP_ENTRY hipHostGetFlags(unsigned* flags, void* host) {
  const ApiCall call;
  const Alloc* a = find(host);
  if (!flags || !a) return fail(hipErrorInvalidValue);
  *flags = a->flags;
  return hipSuccess;
}
HIP_ENTRY hipMemGetInfo(size_t* free_bytes, size_t* total_bytes) {
  const ApiCall call;
  if (free_bytes) *free_bytes = mem_total() - mem_used();
  if (total_bytes) *total_bytes = mem_total();
  return hipSuccess;
}
HIP_ENTRY hipMemGetAddressRange(hipDeviceptr_t* base, size_t* bytes, hipDeviceptr_t p) {
  const ApiCall call;
  const Alloc* a = find(p);
  if (!a) return fail(hipErrorNotFound);
  if (base) *base = reinterpret_cast<void*>(a->base);
  if (bytes) *bytes = a->end - a->base;
  return hipSuccess;
}
HIP_ENTRY hipMemPtrGetInfo(void* p, size_t* bytes) {
  const ApiCall call;
  const Alloc* a = find(p);
  if (!a || !bytes) return fail(hipErrorInvalidValue);
  *bytes = a->end - a->base;
  return hipSuccess;
}
HIP_ENTRY hipPointerGetAttributes(hipPointerAttribute_t* attributes, const void* p) {
  const ApiCall call;
  if (!attributes) return fail(hipErrorInvalidValue);
  memset(attributes, 0, sizeof *attributes);
  const Alloc* a = find(p);
  if (!a || a->kind == MemKind::Internal) return fail(hipErrorInvalidValue);
  const bool host = a->kind == MemKind::Host, managed = a->kind == MemKind::Managed;
  attributes->memoryType = host ? hipMemoryTypeHost : hipMemoryTypeDevice;
  attributes->devicePointer = const_cast<void*>(p);
  attributes->hostPointer = host || managed ? const_cast<void*>(p) : nullptr;
  attributes->isManaged = managed;
  attributes->allocationFlags = a->flags;
  return hipSuccess;
}
