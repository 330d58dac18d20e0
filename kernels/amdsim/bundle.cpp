// A clang offload bundle holds a code object for each target that the program was compiled for.
#include "code_object.hpp"

#include <cstring>
#include <elf.h>

namespace amdsim {
namespace {

constexpr char bundle_magic[] = "__CLANG_OFFLOAD_BUNDLE__";
constexpr size_t bundle_magic_bytes = sizeof bundle_magic - 1;

template <class T> T read(const uint8_t*& at) {
  T value;
  memcpy(&value, at, sizeof value);
  at += sizeof value;
  return value;
}

// hipv4-amdgcn-amd-amdhsa--gfx942:sramecc+ -> gfx942
std::string target_of(const std::string& id) {
  const std::string target = id.substr(id.rfind('-') + 1);
  return target.substr(0, target.find(':'));
}

size_t elf_bytes(const uint8_t* elf) { // the section headers come last
  Elf64_Ehdr header;
  memcpy(&header, elf, sizeof header);
  return header.e_shoff + size_t{header.e_shentsize} * header.e_shnum;
}

ElfImage entry_of_bundle(const uint8_t* bundle) {
  const uint8_t* at = bundle + bundle_magic_bytes;
  ElfImage best{};
  std::string seen;
  for (uint64_t left = read<uint64_t>(at); left; left--) {
    const auto offset = read<uint64_t>(at), bytes = read<uint64_t>(at), id_bytes = read<uint64_t>(at);
    const std::string id(at, at + id_bytes), target = target_of(id);
    at += id_bytes;
    if (id.starts_with("host")) continue;
    seen += (seen.empty() ? "" : ", ") + id;
    if (!bytes) continue;
    if (target == "gfx942") return {bundle + offset, bytes};
    if (target == "gfx950" && !best.data) best = {bundle + offset, bytes};
  }
  if (!best.data)
    throw BadCodeObject{"the program has no code object for gfx942 or gfx950; it has " +
                        (seen.empty() ? "none" : seen)};
  return best;
}

} // namespace

ElfImage find_elf(const uint8_t* data, size_t bytes) {
  if (!memcmp(data, ELFMAG, SELFMAG)) return {data, bytes ? bytes : elf_bytes(data)};
  if (!memcmp(data, "CCOB", 4))
    throw BadCodeObject{"compressed offload bundles are not supported: build with -no-offload-compress"};
  if (memcmp(data, bundle_magic, bundle_magic_bytes))
    throw BadCodeObject{"neither an ELF code object nor a clang offload bundle"};
  return entry_of_bundle(data);
}

} // namespace amdsim
