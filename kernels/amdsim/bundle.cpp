// A clang offload bundle holds a code object for each target that the program was compiled for.
#include "code_object.hpp"

#include <cstring>
#include <elf.h>

namespace amdsim {
namespace {

constexpr char bundle_magic[] = "__CLANG_OFFLOAD_BUNDLE__";
constexpr size_t bundle_magic_bytes = sizeof bundle_magic - 1;

// hipv4-amdgcn-amd-amdhsa--gfx942:sramecc+ -> gfx942
std::string target_of(const std::string& id) {
  const std::string target = id.substr(id.rfind('-') + 1);
  return target.substr(0, target.find(':'));
}

size_t elf_bytes(Bytes elf) { // the section headers come last
  const auto header = elf.read<Elf64_Ehdr>(0);
  return header.e_shoff + size_t{header.e_shentsize} * header.e_shnum;
}

struct Entry {
  uint64_t offset, bytes, id_bytes; // then the id
};

Bytes entry_of_bundle(Bytes bundle) {
  uint64_t at = bundle_magic_bytes + sizeof(uint64_t);
  Bytes best{};
  std::string seen;
  for (uint64_t left = bundle.read<uint64_t>(bundle_magic_bytes); left; left--) {
    const auto entry = bundle.read<Entry>(at);
    const auto* name = reinterpret_cast<const char*>(bundle.at(at + sizeof entry, entry.id_bytes));
    const std::string id(name, entry.id_bytes), target = target_of(id);
    at += sizeof entry + entry.id_bytes;
    if (id.starts_with("host")) continue;
    seen += (seen.empty() ? "" : ", ") + id;
    if (!entry.bytes || (target != "gfx942" && target != "gfx950")) continue;
    const Bytes elf{bundle.at(entry.offset, entry.bytes), entry.bytes};
    if (target == "gfx942") return elf;
    if (!best.data) best = elf;
  }
  if (!best.data)
    throw BadCodeObject{"the program has no code object for gfx942 or gfx950; it has " +
                        (seen.empty() ? "none" : seen)};
  return best;
}

} // namespace

Bytes find_elf(Bytes file) {
  const auto starts_with = [&](const char* magic, size_t bytes) {
    return !memcmp(file.at(0, bytes), magic, bytes);
  };
  if (starts_with(ELFMAG, SELFMAG)) return {file.data, file.count == SIZE_MAX ? elf_bytes(file) : file.count};
  if (starts_with("CCOB", 4))
    throw BadCodeObject{"compressed offload bundles are not supported: build with -no-offload-compress"};
  if (!starts_with(bundle_magic, bundle_magic_bytes))
    throw BadCodeObject{"neither an ELF code object nor a clang offload bundle"};
  return entry_of_bundle(file);
}

} // namespace amdsim
