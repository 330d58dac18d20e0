// Allocations. One is laid out as guard | pages | guard; its end (or its beginning)
// touches a guard to 256 bytes, and check_global() is exact to the byte. A campaign
// allocates for hours: the latest freed allocations stay reserved, older ones give
// their addresses back, small mappings are used again with their pages.
#include "memory.hpp"

#include "executor.hpp"
#include "settings.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <sys/mman.h>
#include <vector>

namespace amdsim {
namespace {

constexpr size_t page_bytes = 4096, guard_bytes = 1 << 20;
constexpr size_t alignment_bytes = 256;         // of a start, and of the distance from a guard
constexpr size_t freed_kept = 512;              // freed allocations whose addresses stay inaccessible
constexpr size_t cached_bytes_most = 128 << 10; // larger mappings give their pages back at once
constexpr size_t cached_mappings_most = 512;
constexpr size_t poisoned_bytes_most = 16 << 20; // larger allocations are sparse: filling would touch them

std::map<uintptr_t, Alloc*>& allocs() {
  static auto* all =
      new std::map<uintptr_t, Alloc*>; // never destroyed: programs free from their exit handlers
  return *all;
}
std::deque<Alloc*>& freed_ring() {
  static auto* ring = new std::deque<Alloc*>;
  return *ring;
}
size_t used_bytes;
uint64_t next_id = 1;

bool counts_as_used(MemKind kind) { return kind != MemKind::Internal; }

// ---- mappings -----------------------------------------------------------------------------------
struct Mapping {
  char* start = nullptr;
  bool used_before = false;
};
// by body size; only guarded ones, whose body is inaccessible while cached
std::map<size_t, std::vector<char*>>& mapping_cache() {
  static auto* cache = new std::map<size_t, std::vector<char*>>;
  return *cache;
}
size_t cached_mappings;

size_t round_up(size_t n, size_t unit) { return (n + unit - 1) / unit * unit; }

// a power of two of pages for what is cached, so that neighbouring sizes share
size_t body_bytes(size_t bytes) {
  if (bytes > cached_bytes_most) return bytes;
  size_t body = page_bytes;
  while (body < bytes) body *= 2;
  return body;
}

Mapping take_mapping(size_t body, size_t guard) {
  if (auto cached = mapping_cache().find(body);
      guard && cached != mapping_cache().end() && !cached->second.empty()) {
    char* start = cached->second.back();
    cached->second.pop_back();
    cached_mappings--;
    return {start, true};
  }
  void* start = mmap(nullptr, body + 2 * guard, guard ? PROT_NONE : PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return {start == MAP_FAILED ? nullptr : static_cast<char*>(start), false};
}

void give_mapping_back(const Alloc& a) {
  const size_t body = a.maplen - 2 * guard_bytes;
  if (!a.guarded || body > cached_bytes_most || cached_mappings >= cached_mappings_most) {
    munmap((void*)a.map, a.maplen);
    return;
  }
  mapping_cache()[body].push_back((char*)a.map);
  cached_mappings++;
}

// The pages of a large mapping are dropped, those of a small one only hidden.
void make_inaccessible(const Alloc& a) {
  if (a.maplen - 2 * guard_bytes <= cached_bytes_most)
    mprotect((char*)a.map + guard_bytes, a.maplen - 2 * guard_bytes, PROT_NONE);
  else
    mmap((void*)a.map, a.maplen, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

void forget(Alloc* a) {
  for (auto& last : R.last)
    if (last == a) last = nullptr;
  allocs().erase(a->base);
  delete a;
}

void retire_oldest_freed() {
  Alloc* a = freed_ring().front();
  freed_ring().pop_front();
  give_mapping_back(*a);
  forget(a);
}

void fill_new(const Alloc& a, bool used_before) {
  char* body = (char*)(a.base & ~(page_bytes - 1));
  if (used_before) memset(body, 0, a.accessible_bytes);
  if (!C.poison || a.kind == MemKind::Code || a.kind == MemKind::Internal ||
      a.end - a.base > poisoned_bytes_most)
    return;
  std::fill_n((uint32_t*)a.base, round_up(std::max<size_t>(a.end - a.base, 1), alignment_bytes) / 4,
              C.poison_value);
}

} // namespace

size_t mem_total() { return C.mem_bytes(); }
size_t mem_used() { return used_bytes; }

Alloc* mem_alloc(size_t bytes, MemKind kind, const char* what, unsigned flags) {
  init_config();
  if (bytes > C.mem_bytes() || used_bytes + bytes > C.mem_bytes()) return nullptr;
  const size_t padded = round_up(std::max<size_t>(bytes, 1), alignment_bytes),
               pages = round_up(padded, page_bytes);
  const size_t guard = C.guard == guard_off ? 0 : guard_bytes, body = guard ? body_bytes(pages) : pages;
  const Mapping mapping = take_mapping(body, guard);
  if (!mapping.start) return nullptr;
  char* accessible = mapping.start + guard + (C.guard == guard_end ? body - pages : 0);
  if (guard && mprotect(accessible, pages, PROT_READ | PROT_WRITE)) {
    munmap(mapping.start, body + 2 * guard);
    return nullptr;
  }
  auto* a = new Alloc;
  a->map = (uintptr_t)mapping.start;
  a->maplen = body + 2 * guard;
  a->accessible_bytes = pages;
  a->guarded = guard;
  a->base = (uintptr_t)accessible + (C.guard == guard_end ? pages - padded : 0);
  a->end = a->base + bytes;
  a->kind = kind;
  a->flags = flags;
  a->id = next_id++;
  a->what = what;
  fill_new(*a, mapping.used_before);
  if (counts_as_used(kind)) used_bytes += bytes;
  allocs()[a->base] = a;
  return a;
}

Alloc* mem_find(uintptr_t p) {
  auto next = allocs().upper_bound(p);
  if (next == allocs().begin()) return nullptr;
  Alloc* a = std::prev(next)->second;
  const bool inside = p < a->end || (p == a->base && a->end == a->base);
  return !a->freed && inside ? a : nullptr;
}

bool mem_free(void* p, MemKind k1, MemKind k2) {
  auto it = allocs().find((uintptr_t)p);
  if (it == allocs().end()) return false;
  Alloc* a = it->second;
  if (a->freed || !a->maplen || (a->kind != k1 && a->kind != k2)) return false;
  if (counts_as_used(a->kind)) used_bytes -= a->end - a->base;
  if (!a->guarded) {
    give_mapping_back(*a);
    forget(a);
    return true;
  }
  make_inaccessible(*a);
  a->freed = true;
  freed_ring().push_back(a);
  if (freed_ring().size() > freed_kept) retire_oldest_freed();
  return true;
}

Alloc* mem_register(void* p, size_t bytes, MemKind kind, const char* what) {
  auto* a = new Alloc;
  a->base = (uintptr_t)p;
  a->end = a->base + bytes;
  a->kind = kind;
  a->id = next_id++;
  a->what = what;
  allocs()[a->base] = a;
  return a;
}

bool mem_unregister(void* p) {
  auto it = allocs().find((uintptr_t)p);
  if (it == allocs().end() || it->second->maplen) return false;
  forget(it->second);
  return true;
}

// ---- words for messages -------------------------------------------------------------------------
static char description[400];

static const char* describe(size_t distance, const char* relation, const Alloc& a) {
  snprintf(description, sizeof description, "%zu bytes %s %s%s #%llu of %zu bytes at %#zx", distance,
           relation, a.freed ? "FREED " : "", a.what.c_str(), (unsigned long long)a.id, a.end - a.base,
           a.base);
  return description;
}

const char* mem_describe(uintptr_t p) {
  auto next = allocs().upper_bound(p);
  const Alloc* below = next == allocs().begin() ? nullptr : std::prev(next)->second;
  const Alloc* above = next == allocs().end() ? nullptr : next->second;
  if (below && p < below->end) return describe(p - below->base, "into", *below);
  const size_t past = below ? p - below->end : SIZE_MAX, before = above ? above->base - p : SIZE_MAX;
  if (!below && !above) return "no allocation exists";
  if (std::min(past, before) > (size_t)1 << 40) return "nowhere near an allocation";
  return past <= before ? describe(past, "past the end of", *below) : describe(before, "before", *above);
}

uint8_t* check_global(uint64_t address, unsigned bytes, bool write, int lane) {
  for (auto* a : R.last)
    if (a && address >= a->base && address + bytes <= a->end) return (uint8_t*)address;
  if (!C.check) return (uint8_t*)address;
  Alloc* a = mem_find(address);
  if (!a || address + bytes > a->end)
    fault(Status::Fault, "lane %d %s %u bytes at %#llx: %s", lane, write ? "writes" : "reads", bytes,
          (unsigned long long)address, mem_describe(a ? address + bytes - 1 : address));
  static unsigned oldest;
  R.last[oldest++ & 3] = a;
  return (uint8_t*)address;
}

} // namespace amdsim
