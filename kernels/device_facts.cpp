// What the host knows of a device, asked once per device ordinal.  The key names the machine code's target
// and the partition, never the marketing name, which is empty or differs by container image.
#include "kernels/launch.hpp"

#include <dlfcn.h>

#include <array>
#include <cctype>
#include <fstream>
#include <mutex>

namespace mqa {
namespace {

// The simulator is a drop-in for the runtime, so only the loaded library itself can tell.
bool runtime_is_simulator() { return dlsym(RTLD_DEFAULT, "amdsim_set") != nullptr; }

std::string first_word(const std::string& path) {
  std::ifstream file(path);
  std::string word;
  file >> word;
  return word;
}

// PCI device id and partition modes as the kernel driver says them; empty where it says nothing.
std::string driver_facts(int device) {
  char bus_id[32] = "";
  if (hipDeviceGetPCIBusId(bus_id, sizeof bus_id, device) != hipSuccess) return "";
  for (char& c : bus_id) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  const std::string folder = std::string("/sys/bus/pci/devices/") + bus_id + "/";
  std::string facts;
  for (const char* file : {"device", "current_compute_partition", "current_memory_partition"})
    if (const std::string word = first_word(folder + file); !word.empty()) facts += "/" + word;
  return facts;
}

DeviceFacts ask(int device, std::string* error) {
  DeviceFacts facts;
  hipDeviceProp_t properties;
  if (const hipError_t status = hipGetDeviceProperties(&properties, device); status != hipSuccess) {
    *error = std::string("hipGetDeviceProperties failed: ") + hipGetErrorString(status);
    return facts;
  }
  const std::string arch = properties.gcnArchName;
  facts.compute_units = properties.multiProcessorCount;
  facts.wave_size = properties.warpSize;
  facts.lds_bytes = static_cast<int32_t>(properties.sharedMemPerBlock);
  facts.simulated = runtime_is_simulator();
  facts.fnuz = arch.rfind("gfx942", 0) == 0 || arch.rfind("gfx940", 0) == 0 || arch.rfind("gfx941", 0) == 0;
  facts.wgmma = arch.rfind("sm_90", 0) == 0;
  facts.key = arch + "/cu" + std::to_string(facts.compute_units) + "/wave" + std::to_string(facts.wave_size) +
              "/lds" + std::to_string(facts.lds_bytes) +
              (facts.simulated ? "/simulated" : driver_facts(device));
  return facts;
}

} // namespace

const DeviceFacts* device_facts(std::string* error) {
  constexpr int kMostDevices = 64;
  static std::array<std::once_flag, kMostDevices> asked;
  static std::array<DeviceFacts, kMostDevices> facts;
  static std::array<std::string, kMostDevices> errors;
  int device = 0;
  if (const hipError_t status = hipGetDevice(&device); status != hipSuccess) {
    *error = std::string("hipGetDevice failed: ") + hipGetErrorString(status);
    return nullptr;
  }
  if (device < 0 || device >= kMostDevices) {
    *error = "device ordinal " + std::to_string(device) + "; supported: 0 to 63";
    return nullptr;
  }
  std::call_once(asked[device], [&] { facts[device] = ask(device, &errors[device]); });
  if (!errors[device].empty()) {
    *error = errors[device];
    return nullptr;
  }
  return &facts[device];
}

} // namespace mqa
