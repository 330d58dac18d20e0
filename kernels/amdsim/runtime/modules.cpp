// Modules: code objects that a program loads by itself, from a file or from memory.
#include "runtime.hpp"

#include <fstream>
#include <iterator>

using namespace amdsim;

struct ihipModule_t {
  CodeObj* co;
};

namespace {

std::map<Kernel*, hipFunction_t>& functions() {
  static auto* all = new std::map<Kernel*, hipFunction_t>;
  return *all;
}

hipFunction_t function_of(Kernel* kernel) {
  hipFunction_t& function = functions()[kernel];
  if (!function) function = new ihipModuleSymbol_t{kernel};
  return function;
}

void forget_functions(const CodeObj& co) {
  std::erase_if(functions(), [&](const auto& entry) {
    if (entry.first->co != &co) return false;
    delete entry.second;
    return true;
  });
}

// bytes 0: as many as the image says
hipError_t load_module(hipModule_t* module, const char* what, const void* image, size_t bytes) {
  if (!module) return fail(hipErrorInvalidValue);
  std::string error;
  CodeObj* co = load_code_object(image, bytes, error);
  if (!co) return misuse(hipErrorNoBinaryForGpu, "%s: %s", what, error.c_str());
  *module = new ihipModule_t{co};
  return hipSuccess;
}

} // namespace

bool amdsim::is_module_function(hipFunction_t function) {
  return std::any_of(functions().begin(), functions().end(),
                     [&](const auto& entry) { return entry.second == function; });
}

HIP_ENTRY hipModuleLoadData(hipModule_t* module, const void* image) {
  const ApiCall call;
  return image ? load_module(module, "hipModuleLoadData", image, 0) : fail(hipErrorInvalidValue);
}
HIP_ENTRY hipModuleLoadDataEx(hipModule_t* module, const void* image, unsigned, hipJitOption*, void**) {
  return hipModuleLoadData(module, image);
}
HIP_ENTRY hipModuleLoad(hipModule_t* module, const char* name) {
  const ApiCall call;
  if (!name) return fail(hipErrorInvalidValue);
  std::ifstream file(name, std::ios::binary);
  const std::vector<char> image{std::istreambuf_iterator<char>(file), {}};
  if (!file.is_open() || file.bad() || image.empty()) return fail(hipErrorFileNotFound);
  return load_module(module, name, image.data(), image.size());
}
HIP_ENTRY hipModuleUnload(hipModule_t module) {
  const ApiCall call;
  if (!module) return fail(hipErrorInvalidHandle);
  forget_functions(*module->co);
  unload_code_object(module->co);
  delete module;
  return hipSuccess;
}
HIP_ENTRY hipModuleGetFunction(hipFunction_t* function, hipModule_t module, const char* name) {
  const ApiCall call;
  if (!function || !module || !name) return fail(hipErrorInvalidValue);
  const auto kernel = module->co->kernels.find(name);
  if (kernel == module->co->kernels.end()) return fail(hipErrorNotFound);
  *function = function_of(kernel->second);
  return hipSuccess;
}
HIP_ENTRY hipModuleGetGlobal(hipDeviceptr_t* p, size_t* bytes, hipModule_t module, const char* name) {
  const ApiCall call;
  if (!module || !name) return fail(hipErrorInvalidValue);
  const auto symbol = module->co->symbols.find(name);
  if (symbol == module->co->symbols.end()) return fail(hipErrorNotFound);
  if (p) *p = reinterpret_cast<void*>(symbol->second.first);
  if (bytes) *bytes = symbol->second.second;
  return hipSuccess;
}
