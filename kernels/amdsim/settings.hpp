// What AMDSIM_* variables and amdsim_set() choose. settings.cpp
// holds the table of names, defaults and allowed values.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

namespace amdsim {

enum Guard : int { guard_off, guard_begin, guard_end };
enum Sched : int { sched_inorder, sched_reverse, sched_random };
enum LdsRange : int { lds_fault, lds_hw };
enum Fp8 : int { fp8_auto, fp8_fnuz, fp8_ocp };
enum Mfma : int { mfma_exact, mfma_seq, mfma_cdna3 };
enum BufferRange : int { buffer_hw, buffer_fault };

struct DevicePreset {
  const char* name;
  int cus, xccs;
  size_t mem_gib;
};

struct Config {
  int guard, sched, lds_mode, fp8, mfma, oob_buffer;
  int check, lds_check, abort_on_fault, stats, trace;
  int resident, quantum, devices;
  int preset, cus_override; // cus_override, mem_gib_override: 0 leaves it to the preset
  uint64_t mem_gib_override;
  bool poison;
  uint32_t poison_value;
  uint64_t seed, max_inst;
  double timeout;
  std::string arch;

  const DevicePreset& device() const;
  int cus() const { return cus_override ? cus_override : device().cus; }
  size_t mem_bytes() const { return (mem_gib_override ? mem_gib_override : device().mem_gib) << 30; }
};
extern Config C;

void init_config(); // from the environment, once; a value that is not allowed ends the program

// As amdsim_set(): false and a message for an unknown name or a value that is not allowed.
bool set_setting(const char* name, const char* value, std::string& message);

} // namespace amdsim
