// The table of settings. Each can be given by AMDSIM_NAME in
// the environment and changed by amdsim_set() at run time.
#include "settings.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string_view>

namespace amdsim {

Config C;

static const DevicePreset presets[] = {
    // in the order of DEVICE's allowed values
    {"mi300x", 304, 8, 192},
    {"mi300a", 228, 6, 128},
    {"mi300x-cpx", 38, 1, 24}, // one of the eight partitions of a MI300X in CPX mode
    {"cu80", 80, 4, 192},
};
const DevicePreset& Config::device() const { return presets[preset]; }

namespace {

// ---- one parser for each kind of value: false when it is not allowed ----------------------------
template <auto Member, long long least, long long most> bool number(const char* text, const char*) {
  char* end;
  errno = 0;
  const long long value = strtoll(text, &end, 0);
  if (end == text || *end || errno || value < least || value > most) return false;
  C.*Member = value;
  return true;
}

// the position of `text` among the words of `allowed`
template <auto Member> bool choice(const char* text, const char* allowed) {
  int index = 0;
  for (std::string_view rest = allowed;; index++) {
    const size_t space = rest.find(' ');
    if (rest.substr(0, space) == text) {
      C.*Member = index;
      return true;
    }
    if (space == rest.npos) return false;
    rest.remove_prefix(space + 1);
  }
}

bool seconds(const char* text, const char*) {
  char* end;
  const double value = strtod(text, &end);
  if (end == text || *end || !(value >= 0)) return false;
  C.timeout = value;
  return true;
}

bool poison(const char* text, const char*) {
  char* end;
  C.poison = strcmp(text, "off") != 0;
  C.poison_value = C.poison ? strtoul(text, &end, 16) : 0;
  return !C.poison || !*end;
}

bool schedule(const char* text, const char*) {
  char* end;
  C.seed = 1;
  if (!strcmp(text, "inorder")) return C.sched = sched_inorder, true;
  if (!strcmp(text, "reverse")) return C.sched = sched_reverse, true;
  if (strncmp(text, "random", 6)) return false;
  C.sched = sched_random;
  if (!text[6]) return true;
  C.seed = strtoull(text + 7, &end, 0);
  return text[6] == ':' && text[7] && !*end;
}

bool arch(const char* text, const char*) { return C.arch = text, true; }

struct Setting {
  const char *name, *fallback;
  bool (*assign)(const char* text, const char* allowed);
  const char* allowed;
};
const Setting settings[] = {
    {"CHECK", "1", number<&Config::check, 0, 1>, "0 1"},
    {"GUARD", "end", choice<&Config::guard>, "off begin end"},
    {"BUFFER_OOB", "hw", choice<&Config::oob_buffer>, "hw fault"},
    {"LDS", "fault", choice<&Config::lds_mode>, "fault hw"},
    {"LDS_CHECK", "0", number<&Config::lds_check, 0, 1>, "0 1"},
    {"POISON", "off", poison, "off, or a word in hexadecimal such as 7fc0dead"},
    {"SCHED", "inorder", schedule, "inorder reverse random[:SEED]"},
    {"QUANTUM", "100000", number<&Config::quantum, 1, 1 << 30>, "instructions, 1 to 2^30"},
    {"RESIDENT", "1", number<&Config::resident, 1, 65536>, "blocks, 1 to 65536"},
    {"FP8", "auto", choice<&Config::fp8>, "auto fnuz ocp"},
    {"MFMA", "exact", choice<&Config::mfma>, "exact seq cdna3"},
    {"TIMEOUT", "0", seconds, "seconds; 0 for none"},
    {"MAX_INST", "0", number<&Config::max_inst, 0, INT64_MAX>, "instructions a wave; 0 for no limit"},
    {"STATS", "0", number<&Config::stats, 0, 2>, "0 1 2"},
    {"TRACE", "0", number<&Config::trace, 0, 2>, "0 1 2"},
    {"ABORT", "0", number<&Config::abort_on_fault, 0, 1>, "0 1"},
    {"DEVICE", "mi300x", choice<&Config::preset>, "mi300x mi300a mi300x-cpx cu80"},
    {"CUS", "0", number<&Config::cus_override, 0, 4096>, "compute units, 1 to 4096; 0 as DEVICE has"},
    {"MEM_GIB", "0", number<&Config::mem_gib_override, 0, 4096>, "GiB, 1 to 4096; 0 as DEVICE has"},
    {"DEVICES", "1", number<&Config::devices, 0, 64>, "0 to 64"},
    {"ARCH", "gfx942:sramecc+:xnack-", arch, "a target with its features"},
};

bool assign(const Setting& s, const char* value, std::string& message) {
  if (!value) value = getenv((std::string("AMDSIM_") + s.name).c_str());
  if (!value || !*value) value = s.fallback;
  const Config before = C;
  if (s.assign(value, s.allowed)) return true;
  C = before;
  message = std::string("AMDSIM_") + s.name + "=" + value + " is not known; choices: " + s.allowed;
  return false;
}

} // namespace

void init_config() {
  static std::once_flag once;
  std::call_once(once, [] {
    std::string message;
    for (const Setting& s : settings) {
      if (assign(s, nullptr, message)) continue;
      fprintf(stderr, "amdsim: %s\n", message.c_str());
      exit(2);
    }
  });
}

bool set_setting(const char* name, const char* value, std::string& message) {
  for (const Setting& s : settings)
    if (name && !strcmp(s.name, name)) return assign(s, value, message);
  message = std::string("AMDSIM_") + (name ? name : "(null)") + " is no setting; there are:";
  for (const Setting& s : settings) message += std::string(" ") + s.name;
  return false;
}

} // namespace amdsim
