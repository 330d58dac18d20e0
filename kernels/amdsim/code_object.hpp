// A loaded code object: its image in memory, its kernels with their resources and arguments, its symbols, and
// what of its code has been decoded so far.
#pragma once
#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace amdsim {

struct Inst;
struct CodeObj;

struct Arg {
  uint32_t off, size;
  std::string kind;
};
struct Kernel {
  std::string name;
  CodeObj* co = nullptr;
  uint64_t kd = 0, entry = 0; // absolute addresses of the descriptor and of the first instruction
  uint32_t lds = 0, priv = 0, kernarg = 0, rsrc1 = 0, rsrc2 = 0, rsrc3 = 0, props = 0, preload = 0;
  uint32_t vgprs = 0, agprs = 0, sgprs = 0, max_wg = 1024;
  bool dyn_stack = false;
  std::vector<Arg> args;
  uint32_t max_dyn_lds = 0; // hipFuncSetAttribute
};
struct CodeObj {
  std::string target; // gfx942, gfx950
  uint64_t base = 0, size = 0;
  bool fnuz = true;
  std::vector<Inst*>* table = nullptr; // the running launch's decodings, by (pc - base) / 4
  std::vector<Inst*> tables[2];        // FP8 as OCP, as FNUZ: an instruction is decoded to mean one of them
  std::map<std::string, Kernel*> kernels;
  std::map<std::string, std::pair<uint64_t, uint64_t>> symbols; // absolute address, size

  void use_table(bool as_fnuz) {
    table = &tables[as_fnuz];
    if (table->empty()) table->assign(size / 4 + 4, nullptr);
  }
};

// From an ELF or a clang offload bundle; nullptr: `error` says why. bytes 0: how many there are is not known,
// as for what a compiler put into a program; they are then trusted.
CodeObj* load_code_object(const void* data, size_t bytes, std::string& error);
// Frees the image. Names and decoded instructions stay: a captured graph may still point to a kernel, and
// its replay must be a fault, not a crash.
void unload_code_object(CodeObj* co);

// ---- of the loader ------------------------------------------------------------------------------
struct BadCodeObject {
  std::string why;
};
struct Bytes {
  const uint8_t* data;
  size_t count;

  const uint8_t* at(uint64_t offset, uint64_t bytes) const {
    if (offset > count || bytes > count - offset) throw BadCodeObject{"the code object is cut short"};
    return data + offset;
  }
  template <class T> T read(uint64_t offset) const {
    T value;
    memcpy(&value, at(offset, sizeof value), sizeof value);
    return value;
  }
};
Bytes find_elf(Bytes file); // in a bundle: the one for gfx942, or else for gfx950

} // namespace amdsim
