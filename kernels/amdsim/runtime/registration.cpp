// What a compiled program says at start: its fat binary, and which of its host addresses stand for kernels
// and variables. A fat binary is loaded when something of it is first used.
#include "runtime.hpp"

using namespace amdsim;

namespace {

constexpr uint32_t fat_binary_magic = 0x48495046; // "HIPF"

struct FatBinary {
  const void* bundle = nullptr;
  CodeObj* co = nullptr;
  bool tried = false;
  std::string error;
  std::vector<std::pair<std::string, void*>> managed; // __managed__ variables: name, memory
};
struct HostFunction {
  FatBinary* fat;
  std::string name;
  Kernel* kernel = nullptr;
};
struct HostVariable {
  FatBinary* fat;
  std::string name;
  size_t bytes;
};

// Never destroyed: programs unregister from their exit handlers.
auto& host_functions() {
  static auto* all = new std::map<const void*, HostFunction>;
  return *all;
}
auto& host_variables() {
  static auto* all = new std::map<const void*, HostVariable>;
  return *all;
}

CodeObj* load(FatBinary& fat) {
  if (std::exchange(fat.tried, true)) return fat.co;
  fat.co = load_code_object(fat.bundle, 0, fat.error);
  if (!fat.co) return nullptr;
  for (const auto& [name, memory] : fat.managed) {
    const auto symbol = fat.co->symbols.find(name);
    if (symbol != fat.co->symbols.end())
      memcpy(reinterpret_cast<void*>(symbol->second.first), &memory, sizeof memory);
  }
  return fat.co;
}

Kernel* find_host_kernel(const void* function, hipError_t& error) {
  const auto found = host_functions().find(function);
  if (found == host_functions().end()) {
    error = misuse(hipErrorInvalidDeviceFunction, "%p is no registered kernel", function);
    return nullptr;
  }
  HostFunction& host = found->second;
  if (host.kernel) return host.kernel;
  const CodeObj* co = load(*host.fat);
  if (!co) {
    error = misuse(hipErrorNoBinaryForGpu, "kernel %s: %s", host.name.c_str(), host.fat->error.c_str());
    return nullptr;
  }
  const auto kernel = co->kernels.find(host.name);
  if (kernel == co->kernels.end()) {
    error = misuse(hipErrorInvalidDeviceFunction, "the code object has no kernel %s", host.name.c_str());
    return nullptr;
  }
  return host.kernel = kernel->second;
}

// ---- variables ----------------------------------------------------------------------------------
struct DeviceVariable {
  char* data = nullptr;
  size_t bytes = 0;
};
hipError_t find_variable(const void* symbol, DeviceVariable& variable) {
  const auto found = host_variables().find(symbol);
  if (found == host_variables().end()) return fail(hipErrorInvalidSymbol);
  const HostVariable& host = found->second;
  const CodeObj* co = load(*host.fat);
  if (!co)
    return misuse(hipErrorNoBinaryForGpu, "variable %s: %s", host.name.c_str(), host.fat->error.c_str());
  const auto device = co->symbols.find(host.name);
  if (device == co->symbols.end())
    return misuse(hipErrorInvalidSymbol, "the code object has no variable %s", host.name.c_str());
  variable = {reinterpret_cast<char*>(device->second.first), host.bytes};
  return hipSuccess;
}

enum class Direction { to_symbol, from_symbol };
hipError_t copy_symbol(Direction direction, const void* symbol, void* host, size_t bytes, size_t offset,
                       hipStream_t stream) {
  DeviceVariable variable;
  if (const hipError_t error = find_variable(symbol, variable); error != hipSuccess) return error;
  if (offset + bytes > variable.bytes) return fail(hipErrorInvalidValue);
  char* device = variable.data + offset;
  return submit(stream, [=] {
    if (direction == Direction::to_symbol)
      memmove(device, host, bytes);
    else
      memmove(host, device, bytes);
    return hipSuccess;
  });
}

FatBinary* fat_of(void* handle) { return static_cast<FatBinary*>(handle); }

} // namespace

Kernel* amdsim::find_kernel(const void* function, hipError_t& error) {
  const auto handle = static_cast<hipFunction_t>(const_cast<void*>(function));
  return is_module_function(handle) ? handle->kernel : find_host_kernel(function, error);
}

// ---- called by the compiler's constructors ------------------------------------------------------
extern "C" void** __hipRegisterFatBinary(const void* wrapper) {
  const ApiCall call;
  struct Wrapper {
    uint32_t magic, version;
    const void* bundle;
    const void* unused;
  };
  const auto* w = static_cast<const Wrapper*>(wrapper);
  if (w->magic != fat_binary_magic) {
    report("__hipRegisterFatBinary: magic %#x is not HIPF", w->magic);
    abort();
  }
  static auto& all =
      *new std::vector<FatBinary*>; // never freed, and reachable, so that leak checkers stay quiet
  auto* fat = all.emplace_back(new FatBinary);
  fat->bundle = w->bundle;
  return reinterpret_cast<void**>(fat);
}

// Runs from the program's own exit handlers: forgets the host's names only.
extern "C" void __hipUnregisterFatBinary(void** handle) {
  const ApiCall call;
  const auto of_this = [fat = fat_of(handle)](const auto& entry) { return entry.second.fat == fat; };
  std::erase_if(host_functions(), of_this);
  std::erase_if(host_variables(), of_this);
}

extern "C" void __hipRegisterFunction(void** handle, const void* host, char*, const char* name, unsigned,
                                      void*, void*, void*, void*, int*) {
  const ApiCall call;
  host_functions()[host] = {fat_of(handle), name};
}

extern "C" void __hipRegisterVar(void** handle, void* host, char*, char* name, int, size_t bytes, int, int) {
  const ApiCall call;
  host_variables()[host] = {fat_of(handle), name, bytes};
}

extern "C" void __hipRegisterManagedVar(void* handle, void** pointer, void* initial, const char* name,
                                        size_t bytes, unsigned) {
  const ApiCall call;
  const Alloc* memory = mem_alloc(bytes, MemKind::Managed, "__managed__ variable");
  if (!memory) {
    report("out of memory for a __managed__ variable");
    abort();
  }
  *pointer = reinterpret_cast<void*>(memory->base);
  memcpy(*pointer, initial, bytes);
  fat_of(handle)->managed.emplace_back(name, *pointer);
  host_variables()[pointer] = {fat_of(handle), name, bytes};
}

extern "C" void __hipRegisterSurface(void**, void*, char*, char*, int, int) {
  amdsim_unimplemented_abort("__hipRegisterSurface");
}
extern "C" void __hipRegisterTexture(void**, void*, char*, char*, int, int, int) {
  amdsim_unimplemented_abort("__hipRegisterTexture");
}

// ---- device variables ---------------------------------------------------------------------------
HIP_ENTRY hipGetSymbolAddress(void** p, const void* symbol) {
  const ApiCall call;
  DeviceVariable variable;
  const hipError_t error = find_variable(symbol, variable);
  if (error == hipSuccess && p) *p = variable.data;
  return error;
}
HIP_ENTRY hipGetSymbolSize(size_t* bytes, const void* symbol) {
  const ApiCall call;
  DeviceVariable variable;
  const hipError_t error = find_variable(symbol, variable);
  if (error == hipSuccess && bytes) *bytes = variable.bytes;
  return error;
}
HIP_ENTRY hipMemcpyToSymbolAsync(const void* symbol, const void* host, size_t bytes, size_t offset,
                                 hipMemcpyKind, hipStream_t s) {
  const ApiCall call;
  return copy_symbol(Direction::to_symbol, symbol, const_cast<void*>(host), bytes, offset, s);
}
HIP_ENTRY hipMemcpyFromSymbolAsync(void* host, const void* symbol, size_t bytes, size_t offset, hipMemcpyKind,
                                   hipStream_t s) {
  const ApiCall call;
  return copy_symbol(Direction::from_symbol, symbol, host, bytes, offset, s);
}
HIP_ENTRY hipMemcpyToSymbol(const void* symbol, const void* host, size_t bytes, size_t offset,
                            hipMemcpyKind kind) {
  const ApiCall call;
  if (sticky_error != hipSuccess) return fail(sticky_error);
  return hipMemcpyToSymbolAsync(symbol, host, bytes, offset, kind, nullptr);
}
HIP_ENTRY hipMemcpyFromSymbol(void* host, const void* symbol, size_t bytes, size_t offset,
                              hipMemcpyKind kind) {
  const ApiCall call;
  if (sticky_error != hipSuccess) return fail(sticky_error);
  return hipMemcpyFromSymbolAsync(host, symbol, bytes, offset, kind, nullptr);
}
