// The loader: an ELF for gfx942 or gfx950 becomes an image in memory with its relocations done, its symbols,
// and its kernels as their descriptors and the metadata note describe them.
#include "code_object.hpp"

#include "instruction.hpp"
#include "memory.hpp"
#include "msgpack.hpp"

#include <algorithm>
#include <cstring>
#include <elf.h>

namespace amdsim {
namespace {

constexpr uint64_t page_bytes = 4096;
constexpr uint64_t image_bytes_most = 256 << 20;
constexpr uint64_t kernarg_bytes_most = 1 << 20;
constexpr uint32_t metadata_note_type = 32; // NT_AMDGPU_METADATA

// EF_AMDGPU_MACH, the low byte of the header's flags
constexpr struct {
  uint8_t number;
  const char* name;
  bool runs;
} machines[] = {{0x4c, "gfx942", true},
                {0x4f, "gfx950", true},
                {0x40, "gfx940", false},
                {0x4b, "gfx941", false},
                {0x3f, "gfx90a", false}};

enum RelocationType : uint32_t { abs32_lo = 1, abs32_hi = 2, abs64 = 3, relative64 = 13 };

// amdhsa::kernel_descriptor_t
struct KernelDescriptor {
  uint32_t lds_bytes, private_bytes, kernarg_bytes, reserved0;
  int64_t entry_offset;
  uint8_t reserved1[20];
  uint32_t rsrc3, rsrc1, rsrc2;
  uint16_t properties, kernarg_preload;
  uint32_t reserved2;
};
static_assert(sizeof(KernelDescriptor) == 64);

struct Relocation {
  uint64_t offset;
  uint32_t type;
  uint64_t value; // relative to the image
};

class Loader {
public:
  explicit Loader(Bytes elf) : elf_(elf), header_(elf.read<Elf64_Ehdr>(0)) {
    check_header();
    read_headers();
    copy_segments();
    read_symbols();
    read_relocations();
    read_metadata();
  }

  std::string target;
  std::vector<uint8_t> image;
  std::vector<Relocation> relocations;
  std::vector<Kernel> kernels;
  std::map<std::string, std::pair<uint64_t, uint64_t>> symbols; // offset, size

private:
  void check_header() {
    if (memcmp(header_.e_ident, ELFMAG, SELFMAG)) throw BadCodeObject{"the bundle entry is not an ELF"};
    if (header_.e_machine != EM_AMDGPU)
      throw BadCodeObject{"ELF machine " + std::to_string(header_.e_machine) + " is not AMDGPU"};
    const unsigned number = header_.e_flags & 0xff;
    target = "an AMDGPU of number " + std::to_string(number);
    bool runs = false;
    for (const auto& m : machines)
      if (m.number == number) target = m.name, runs = m.runs;
    if (!runs) throw BadCodeObject{"the code object is for " + target + ", not for gfx942 or gfx950"};
  }

  void read_headers() {
    for (unsigned i = 0; i < header_.e_phnum; i++)
      segments_.push_back(elf_.read<Elf64_Phdr>(header_.e_phoff + uint64_t{i} * header_.e_phentsize));
    for (unsigned i = 0; i < header_.e_shnum; i++)
      sections_.push_back(elf_.read<Elf64_Shdr>(header_.e_shoff + uint64_t{i} * header_.e_shentsize));
  }

  void copy_segments() {
    uint64_t top = 0;
    for (const auto& s : segments_) {
      if (s.p_type != PT_LOAD) continue;
      if (s.p_vaddr > image_bytes_most || s.p_memsz > image_bytes_most || s.p_filesz > s.p_memsz)
        throw BadCodeObject{"a segment of the code object has no sensible size"};
      top = std::max(top, s.p_vaddr + s.p_memsz);
    }
    if (!top) throw BadCodeObject{"the code object has nothing to load"};
    // a page more: decoding looks past the last instruction
    image.assign((top + 2 * page_bytes - 1) & ~(page_bytes - 1), 0);
    for (const auto& s : segments_)
      if (s.p_type == PT_LOAD) memcpy(&image[s.p_vaddr], elf_.at(s.p_offset, s.p_filesz), s.p_filesz);
  }
  bool in_image(uint64_t offset, uint64_t bytes) const {
    return offset < image.size() && bytes <= image.size() - offset;
  }

  std::string name_in(const Elf64_Shdr& strings, uint32_t offset) const {
    if (offset >= strings.sh_size) return "";
    const char* all = reinterpret_cast<const char*>(elf_.at(strings.sh_offset, strings.sh_size));
    return std::string(all + offset, strnlen(all + offset, strings.sh_size - offset));
  }

  void read_symbols() {
    for (const auto& s : sections_) {
      if (s.sh_type != SHT_SYMTAB && s.sh_type != SHT_DYNSYM) continue;
      if (s.sh_link >= sections_.size()) throw BadCodeObject{"a symbol table without names"};
      for (uint64_t i = 0; i < s.sh_size / sizeof(Elf64_Sym); i++) {
        const auto symbol = elf_.read<Elf64_Sym>(s.sh_offset + i * sizeof(Elf64_Sym));
        const std::string name = name_in(sections_[s.sh_link], symbol.st_name);
        if (!name.empty() && symbol.st_shndx != SHN_UNDEF) symbols[name] = {symbol.st_value, symbol.st_size};
      }
    }
  }

  uint64_t value_of_symbol(uint32_t table, uint32_t index) const {
    if (table >= sections_.size() || index >= sections_[table].sh_size / sizeof(Elf64_Sym))
      throw BadCodeObject{"a relocation against a missing symbol"};
    const auto symbol = elf_.read<Elf64_Sym>(sections_[table].sh_offset + index * sizeof(Elf64_Sym));
    if (symbol.st_shndx == SHN_UNDEF)
      throw BadCodeObject{"undefined symbol " + name_in(sections_[sections_[table].sh_link], symbol.st_name)};
    return symbol.st_value;
  }

  void read_relocations() {
    for (const auto& s : sections_) {
      if (s.sh_type != SHT_RELA) continue;
      for (uint64_t i = 0; i < s.sh_size / sizeof(Elf64_Rela); i++) {
        const auto r = elf_.read<Elf64_Rela>(s.sh_offset + i * sizeof(Elf64_Rela));
        const uint32_t symbol = ELF64_R_SYM(r.r_info), type = ELF64_R_TYPE(r.r_info);
        if (!in_image(r.r_offset, 8)) throw BadCodeObject{"a relocation outside the code object"};
        if (type != abs32_lo && type != abs32_hi && type != abs64 && type != relative64)
          throw BadCodeObject{"relocation type " + std::to_string(type) + " is not implemented"};
        relocations.push_back(
            {r.r_offset, type, (symbol ? value_of_symbol(s.sh_link, symbol) : 0) + r.r_addend});
      }
    }
  }

  void read_metadata() {
    MsgpackValue metadata;
    for (const auto& s : segments_)
      if (s.p_type == PT_NOTE) read_notes(s.p_offset, s.p_offset + s.p_filesz, metadata);
    if (metadata.kind != MsgpackValue::Map)
      throw BadCodeObject{"the code object has no AMDGPU metadata note"};
    const MsgpackValue* all = metadata.get("amdhsa.kernels");
    if (!all) return;
    for (const MsgpackValue& kernel : all->items) kernels.push_back(read_kernel(kernel));
  }

  void read_notes(uint64_t at, uint64_t end, MsgpackValue& metadata) const {
    const auto padded = [](uint32_t bytes) { return uint64_t{bytes} + 3 & ~uint64_t{3}; };
    while (at + sizeof(Elf64_Nhdr) <= end) {
      const auto note = elf_.read<Elf64_Nhdr>(at);
      const uint64_t name = at + sizeof note, body = name + padded(note.n_namesz);
      const bool from_amd = note.n_namesz >= 6 && !memcmp(elf_.at(name, note.n_namesz), "AMDGPU", 6);
      if (from_amd && note.n_type == metadata_note_type)
        metadata = unpack_msgpack(elf_.at(body, note.n_descsz), note.n_descsz);
      at = body + padded(note.n_descsz);
    }
  }

  Kernel read_kernel(const MsgpackValue& metadata) const {
    Kernel k;
    k.name = metadata.text_at(".name");
    const auto symbol = symbols.find(metadata.text_at(".symbol"));
    if (symbol == symbols.end() || !in_image(symbol->second.first, sizeof(KernelDescriptor)))
      throw BadCodeObject{"kernel " + k.name + " has no descriptor"};
    k.kd = symbol->second.first;
    read_descriptor(k);
    k.kernarg = std::max<int64_t>(k.kernarg, metadata.number_at(".kernarg_segment_size", 0));
    k.vgprs = metadata.number_at(".vgpr_count", 256);
    k.agprs = metadata.number_at(".agpr_count", 0);
    k.sgprs = metadata.number_at(".sgpr_count", 0);
    k.max_wg = metadata.number_at(".max_flat_workgroup_size", 1024);
    k.dyn_stack = metadata.number_at(".uses_dynamic_stack", 0);
    if (const MsgpackValue* args = metadata.get(".args"))
      for (const MsgpackValue& a : args->items) k.args.push_back(read_argument(a));
    if (k.kernarg > kernarg_bytes_most) throw BadCodeObject{"kernel " + k.name + " has too many arguments"};
    return k;
  }

  static Arg read_argument(const MsgpackValue& metadata) {
    const uint64_t offset = metadata.number_at(".offset", 0), bytes = metadata.number_at(".size", 0);
    if (offset > kernarg_bytes_most || bytes > kernarg_bytes_most)
      throw BadCodeObject{"an argument of a kernel has no sensible size"};
    return {static_cast<uint32_t>(offset), static_cast<uint32_t>(bytes), metadata.text_at(".value_kind")};
  }

  void read_descriptor(Kernel& k) const {
    KernelDescriptor d;
    memcpy(&d, &image[k.kd], sizeof d);
    k.lds = d.lds_bytes;
    k.priv = d.private_bytes;
    k.kernarg = d.kernarg_bytes;
    k.entry = k.kd + d.entry_offset;
    k.rsrc1 = d.rsrc1;
    k.rsrc2 = d.rsrc2;
    k.rsrc3 = d.rsrc3;
    k.props = d.properties;
    k.preload = d.kernarg_preload;
  }

  Bytes elf_;
  Elf64_Ehdr header_;
  std::vector<Elf64_Phdr> segments_;
  std::vector<Elf64_Shdr> sections_;
};

void relocate(const CodeObj& co, const Relocation& r) {
  const uint64_t value = co.base + r.value;
  char* where = reinterpret_cast<char*>(co.base + r.offset);
  if (r.type == abs32_lo)
    memcpy(where, &value, 4);
  else if (r.type == abs32_hi)
    memcpy(where, reinterpret_cast<const char*>(&value) + 4, 4);
  else
    memcpy(where, &value, 8);
}

CodeObj* place(const Loader& loaded, const Alloc& memory) {
  memcpy(reinterpret_cast<void*>(memory.base), loaded.image.data(), loaded.image.size());
  auto* co = new CodeObj;
  co->target = loaded.target;
  co->base = memory.base;
  co->size = loaded.image.size();
  co->fnuz = loaded.target == "gfx942";
  for (const Relocation& r : loaded.relocations) relocate(*co, r);
  for (const Kernel& kernel : loaded.kernels) {
    auto* k = co->kernels[kernel.name] = new Kernel(kernel);
    k->co = co;
    k->kd += co->base;
    k->entry += co->base;
  }
  for (const auto& [name, symbol] : loaded.symbols)
    co->symbols[name] = {co->base + symbol.first, symbol.second};
  return co;
}

} // namespace

CodeObj* load_code_object(const void* data, size_t bytes, std::string& error) {
  try {
    const Loader loaded(find_elf({static_cast<const uint8_t*>(data), bytes ? bytes : SIZE_MAX}));
    if (const Alloc* memory = mem_alloc(loaded.image.size(), MemKind::Code, "code object"))
      return place(loaded, *memory);
    error = "out of memory";
  } catch (const BadCodeObject& bad) {
    error = bad.why;
  }
  return nullptr;
}

void unload_code_object(CodeObj* co) {
  static auto& unloaded = *new std::vector<CodeObj*>; // reachable, so that leak checkers stay quiet
  mem_free(reinterpret_cast<void*>(co->base), MemKind::Code, MemKind::Code);
  unloaded.push_back(co);
}

} // namespace amdsim
