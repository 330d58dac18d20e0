// Kernel launches: the configuration is checked, arguments
// are packed as the kernel expects them, the executor runs.
#include "runtime.hpp"

#include <string_view>

using namespace amdsim;

namespace {

constexpr uint64_t threads_per_block_most = 1024;
constexpr uint64_t threads_per_dimension_most = 0xffffffff;
constexpr uint32_t lds_bytes_most = 65536;
// Where flat addresses go to LDS and to private memory: the upper halves of 64-bit addresses.
constexpr uint64_t shared_aperture = 0x00010000, private_aperture = 0x00020000;

using KernelArguments = std::vector<uint8_t>;

// ---- hidden arguments of code object v5 ---------------------------------------------------------
struct HiddenSource {
  const LaunchDims& dims;
  uint32_t dynamic_lds;
};
struct HiddenArgument {
  std::string_view name;
  uint64_t (*value)(const HiddenSource&);
};
uint64_t dimensions(const LaunchDims& d) {
  return d.grid[2] * d.block[2] > 1 ? 3 : d.grid[1] * d.block[1] > 1 ? 2 : 1;
}
// What is not here is 0: remainders, as HIP grids are whole blocks; global offsets; and the pointers for
// printf, hostcall, heap and queue, whose use is then reported as a fault.
constexpr HiddenArgument hidden_arguments[] = {
    {"hidden_block_count_x", [](const HiddenSource& s) -> uint64_t { return s.dims.grid[0]; }},
    {"hidden_block_count_y", [](const HiddenSource& s) -> uint64_t { return s.dims.grid[1]; }},
    {"hidden_block_count_z", [](const HiddenSource& s) -> uint64_t { return s.dims.grid[2]; }},
    {"hidden_group_size_x", [](const HiddenSource& s) -> uint64_t { return s.dims.block[0]; }},
    {"hidden_group_size_y", [](const HiddenSource& s) -> uint64_t { return s.dims.block[1]; }},
    {"hidden_group_size_z", [](const HiddenSource& s) -> uint64_t { return s.dims.block[2]; }},
    {"hidden_grid_dims", [](const HiddenSource& s) { return dimensions(s.dims); }},
    {"hidden_dynamic_lds_size", [](const HiddenSource& s) -> uint64_t { return s.dynamic_lds; }},
    {"hidden_shared_base", [](const HiddenSource&) { return shared_aperture; }},
    {"hidden_private_base", [](const HiddenSource&) { return private_aperture; }},
};

bool is_hidden(const Arg& a) { return a.kind.starts_with("hidden_"); }

void make_room(KernelArguments& bytes, const Arg& a) {
  if (a.off + a.size > bytes.size()) bytes.resize(a.off + a.size);
}

void set_hidden_arguments(const Kernel& k, KernelArguments& bytes, const HiddenSource& source) {
  for (const Arg& a : k.args) {
    if (!is_hidden(a)) continue;
    uint64_t value = 0;
    for (const HiddenArgument& h : hidden_arguments)
      if (h.name == a.kind) value = h.value(source);
    make_room(bytes, a);
    memcpy(&bytes[a.off], &value, std::min<size_t>(a.size, sizeof value));
  }
}

KernelArguments pack(const Kernel& k, void** values) {
  KernelArguments bytes(k.kernarg);
  for (const Arg& a : k.args) {
    if (is_hidden(a)) continue;
    make_room(bytes, a);
    memcpy(&bytes[a.off], *values++, a.size);
  }
  return bytes;
}

// hipModuleLaunchKernel's other way: a list of keys and values that ends with HIP_LAUNCH_PARAM_END
bool unpack_extra(void** extra, KernelArguments& bytes) {
  const void* buffer = nullptr;
  size_t size = 0;
  for (; *extra != HIP_LAUNCH_PARAM_END; extra += 2) {
    if (extra[0] == HIP_LAUNCH_PARAM_BUFFER_POINTER)
      buffer = extra[1];
    else if (extra[0] == HIP_LAUNCH_PARAM_BUFFER_SIZE)
      size = *static_cast<size_t*>(extra[1]);
    else
      return false;
  }
  if (!buffer) return false;
  bytes.assign(static_cast<const uint8_t*>(buffer), static_cast<const uint8_t*>(buffer) + size);
  return true;
}

// ---- launching ----------------------------------------------------------------------------------
hipError_t check_configuration(const Kernel& k, dim3 grid, dim3 block, uint32_t dynamic_lds) {
  const uint64_t threads = uint64_t{block.x} * block.y * block.z;
  const auto refuse = [&](const char* why) {
    return misuse(hipErrorInvalidConfiguration, "kernel %s: grid (%u,%u,%u) block (%u,%u,%u)%s",
                  k.name.c_str(), grid.x, grid.y, grid.z, block.x, block.y, block.z, why);
  };
  const auto too_many = [](uint64_t blocks, uint64_t per_block) {
    return blocks * per_block > threads_per_dimension_most;
  };
  if (!threads || !grid.x || !grid.y || !grid.z) return refuse("");
  if (threads > threads_per_block_most || too_many(grid.x, block.x) || too_many(grid.y, block.y) ||
      too_many(grid.z, block.z))
    return refuse(" is too large");
  if (threads > k.max_wg)
    return misuse(hipErrorLaunchFailure,
                  "kernel %s: %llu threads a block, but it was compiled for at most %u (__launch_bounds__)",
                  k.name.c_str(), static_cast<unsigned long long>(threads), k.max_wg);
  if (k.lds + dynamic_lds > lds_bytes_most)
    return misuse(hipErrorInvalidValue, "kernel %s: %u static + %u dynamic bytes of LDS; a block has %u",
                  k.name.c_str(), k.lds, dynamic_lds, lds_bytes_most);
  return hipSuccess;
}

hipError_t error_of(Status status) {
  switch (status) {
  case Status::Ok: return hipSuccess;
  case Status::Fault: return hipErrorIllegalAddress;
  case Status::Timeout: return hipErrorLaunchTimeOut;
  case Status::Trap:
  case Status::Unimplemented: break;
  }
  return hipErrorLaunchFailure;
}

hipError_t run(Kernel* k, const LaunchDims& dims, uint32_t dynamic_lds, const KernelArguments& arguments) {
  std::string message;
  const Status status = run_kernel(k, dims, dynamic_lds, arguments, message);
  if (status == Status::Ok) return hipSuccess;
  report("%s", message.c_str());
  if (C.abort_on_fault) abort();
  return sticky_error = error_of(status);
}

hipError_t launch(Kernel* k, dim3 grid, dim3 block, uint32_t dynamic_lds, KernelArguments arguments,
                  hipStream_t stream) {
  if (const hipError_t error = check_configuration(*k, grid, block, dynamic_lds); error != hipSuccess)
    return error;
  const LaunchDims dims{{grid.x, grid.y, grid.z}, {block.x, block.y, block.z}};
  if (arguments.size() < k->kernarg) arguments.resize(k->kernarg);
  set_hidden_arguments(*k, arguments, {dims, dynamic_lds});
  return submit(stream,
                [=, arguments = std::move(arguments)] { return run(k, dims, dynamic_lds, arguments); });
}

struct CallConfiguration {
  dim3 grid, block;
  size_t dynamic_lds;
  hipStream_t stream;
};
thread_local std::vector<CallConfiguration> pushed;

} // namespace

HIP_ENTRY hipLaunchKernel(const void* function, dim3 grid, dim3 block, void** arguments, size_t dynamic_lds,
                          hipStream_t stream) {
  const ApiCall call;
  hipError_t error = hipSuccess;
  Kernel* k = find_kernel(function, error);
  return k ? launch(k, grid, block, dynamic_lds, pack(*k, arguments), stream) : error;
}

HIP_ENTRY hipExtLaunchKernel(const void* function, dim3 grid, dim3 block, void** arguments,
                             size_t dynamic_lds, hipStream_t stream, hipEvent_t start, hipEvent_t end, int) {
  if (start) (void)hipEventRecord(start, stream);
  const hipError_t error = hipLaunchKernel(function, grid, block, arguments, dynamic_lds, stream);
  if (end) (void)hipEventRecord(end, stream);
  return error;
}

HIP_ENTRY hipModuleLaunchKernel(hipFunction_t function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                                unsigned by, unsigned bz, unsigned dynamic_lds, hipStream_t stream,
                                void** values, void** extra) {
  const ApiCall call;
  if (!is_module_function(function)) return fail(hipErrorInvalidHandle);
  Kernel* k = function->kernel;
  KernelArguments arguments;
  if (values)
    arguments = pack(*k, values);
  else if (extra && !unpack_extra(extra, arguments))
    return fail(hipErrorInvalidValue);
  return launch(k, dim3(gx, gy, gz), dim3(bx, by, bz), dynamic_lds, std::move(arguments), stream);
}

// What the compiler makes of kernel<<<grid, block, lds,
// stream>>>(): a push, and a pop in the kernel's host stub.
HIP_ENTRY __hipPushCallConfiguration(dim3 grid, dim3 block, size_t dynamic_lds, hipStream_t stream) {
  pushed.push_back({grid, block, dynamic_lds, stream});
  return hipSuccess;
}
HIP_ENTRY __hipPopCallConfiguration(dim3* grid, dim3* block, size_t* dynamic_lds, hipStream_t* stream) {
  if (pushed.empty()) return fail(hipErrorMissingConfiguration);
  const CallConfiguration& c = pushed.back();
  *grid = c.grid;
  *block = c.block;
  *dynamic_lds = c.dynamic_lds;
  *stream = c.stream;
  pushed.pop_back();
  return hipSuccess;
}
