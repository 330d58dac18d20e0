// The device's memory: every allocation lies between guard pages and is known to
// the byte, so that an access outside is seen. Freed addresses stay inaccessible
// until many later frees, so that a use after the free is seen as well.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

namespace amdsim {

enum class MemKind { Device, Host, Managed, Code, Internal };

struct Alloc {
  uintptr_t base = 0, end = 0; // what the program asked for
  uintptr_t map = 0;           // what was mapped, guards included
  size_t maplen = 0;           // 0: the program's own memory, registered
  size_t accessible_bytes = 0; // whole pages that hold [base, end)
  bool guarded = false;
  MemKind kind = MemKind::Device;
  bool freed = false;
  unsigned flags = 0;
  uint64_t id = 0;
  std::string what;
};

Alloc* mem_alloc(size_t bytes, MemKind kind, const char* what, unsigned flags = 0); // nullptr: out of memory
bool mem_free(void* p, MemKind a, MemKind b); // false: not the start of a live allocation of these kinds
Alloc* mem_find(uintptr_t address);           // the live allocation that holds it
Alloc* mem_register(void* p, size_t bytes, MemKind kind, const char* what);
bool mem_unregister(void* p);
const char* mem_describe(uintptr_t address); // words for a message, until the next call
size_t mem_total();
size_t mem_used();

// The address itself when a lane may access these bytes; else the launch ends with a fault.
uint8_t* check_global(uint64_t address, unsigned bytes, bool write, int lane);

} // namespace amdsim
