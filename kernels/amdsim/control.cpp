// The control API: include/amdsim/control.h.
#include "amdsim/control.h"

#include "compares.hpp"
#include "counts.hpp"
#include "coverage.hpp"
#include "runtime/runtime.hpp"
#include "settings.hpp"

using namespace amdsim;

extern "C" {

int amdsim_set(const char* name, const char* value) {
  const ApiCall call;
  std::string message;
  if (set_setting(name, value, message)) return 0;
  report("%s", message.c_str());
  return -1;
}

const char* amdsim_last_message(void) {
  const ApiCall call;
  static thread_local std::string copy;
  copy = last_message;
  return copy.c_str();
}

void amdsim_clear_error(void) {
  const ApiCall call;
  sticky_error = hipSuccess;
  last_error = hipSuccess;
  last_message.clear();
}

int amdsim_quiet(int on) {
  const ApiCall call;
  return std::exchange(quiet, on != 0);
}

int amdsim_coverage_into(uint8_t* map, size_t bytes) {
  const ApiCall call;
  const bool power_of_two = bytes && !(bytes & (bytes - 1));
  if (map && !power_of_two) {
    report("amdsim_coverage_into: a map of %zu bytes; the size must be a power of two, such as 65536", bytes);
    return -1;
  }
  coverage.counters = map;
  coverage.mask = bytes - 1;
  return 0;
}

int amdsim_collect_compares(int on) {
  const ApiCall call;
  const bool before = compare_constants.collecting;
  compare_constants = {.collecting = on != 0};
  return before;
}

size_t amdsim_compare_constants(int64_t* values, size_t room) {
  const ApiCall call;
  const auto& all = compare_constants.values;
  std::copy_n(all.begin(), std::min(room, all.size()), values);
  return all.size();
}

int amdsim_collect_counts(int on) {
  const ApiCall call;
  return std::exchange(collect_counts, on != 0);
}

int amdsim_counts_last(amdsim_counts* counts) {
  const ApiCall call;
  const size_t room = counts ? counts->struct_size : 0;
  if (!room || !last_counts.struct_size) {
    report("amdsim_counts_last: %s",
           room ? "no launch was counted yet; amdsim_collect_counts(1) comes before the launch"
                : "struct_size is 0; set it to sizeof(struct amdsim_counts)");
    return -1;
  }
  memcpy(counts, &last_counts, std::min(room, sizeof last_counts));
  counts->struct_size = room;
  return 0;
}

int amdsim_xcc_count(void) {
  const ApiCall call;
  return C.device().xccs;
}

} // extern "C"
