// The decoder: LLVM's disassembler gives an instruction's name, size and text; its fields are read from its
// bits by the handlers. What LLVM 19 does not know of gfx950 is in a table.
#include "instruction.hpp"

#include <cctype>
#include <cstdio>
#include <cstring>
#include <llvm-c/Disassembler.h>
#include <llvm-c/Target.h>
#include <string_view>

namespace amdsim {
namespace {

constexpr unsigned longest_instruction_bytes = 20;

// ---- formats
// ---------------------------------------------------------------------------------------------------- VOP1,
// VOP2 and VOPC have variants, which the first operand's number announces.
struct VopFormats {
  const char *plain, *literal, *sdwa, *dpp;
};
const char* vop_format(uint32_t word, const VopFormats& f) {
  switch (word & 511) {
  case 249: return f.sdwa;
  case 250: return f.dpp;
  case 255: return f.literal;
  }
  return f.plain;
}

// The first entry whose bits match.
struct Format {
  unsigned shift;
  uint32_t bits;
  const char* name;
};
constexpr Format formats[] = {{23, 0x17d, "SOP1"}, {23, 0x17e, "SOPC"}, {23, 0x17f, "SOPP"},
                              {28, 0xb, "SOPK"},   {30, 0x2, "SOP2"},   {23, 0x1a7, "VOP3P"},
                              {26, 0x30, "SMEM"},  {26, 0x34, "VOP3"},  {26, 0x36, "DS"},
                              {26, 0x37, "FLAT"},  {26, 0x38, "MUBUF"}, {26, 0x3a, "MTBUF"}};
constexpr const char* flat_segments[] = {"FLAT", "SCRATCH", "GLOBAL", "?"};

std::string_view format_of(uint32_t word) {
  if (word >> 25 == 0x3f) return vop_format(word, {"VOP1", "VOP1_LIT", "VOP1_SDWA", "VOP1_DPP"});
  if (word >> 25 == 0x3e) return vop_format(word, {"VOPC", "VOPC_LIT", "VOPC_SDWA", "VOPC_DPP"});
  if (!(word >> 31)) return vop_format(word, {"VOP2", "VOP2_LIT", "VOP2_SDWA", "VOP2_DPP"});
  for (const Format& f : formats)
    if (word >> f.shift == f.bits)
      return f.name == std::string_view("FLAT") ? flat_segments[word >> 14 & 3] : f.name;
  return "?";
}

// ---- gfx950 -------------------------------------------------------------------------------------
struct Gfx950Instruction {
  std::string_view format;
  const char* name;
  unsigned opcode;
};
constexpr Gfx950Instruction gfx950_instructions[] = {
    {"VOP1", "v_permlane16_swap_b32", 0x59},
    {"VOP1", "v_permlane32_swap_b32", 0x5a},
    {"VOP3", "v_bitop3_b16", 0x233},
    {"VOP3", "v_bitop3_b32", 0x234},
    {"VOP3", "v_cvt_pk_bf16_f32", 0x268},
    {"VOP3P", "v_mfma_f32_16x16x128_f8f6f4", 0x2d},
    {"VOP3P", "v_mfma_f32_32x32x64_f8f6f4", 0x2e},
    {"VOP3P", "v_mfma_f32_16x16x32_bf16", 0x35},
    {"VOP3P", "v_mfma_i32_16x16x64_i8", 0x36},
    {"VOP3P", "v_mfma_f32_32x32x16_bf16", 0x37},
    {"VOP3P", "v_mfma_i32_32x32x32_i8", 0x38},
    {"VOP3P", "v_mfma_f32_16x16x32_f16", 0x54},
    {"VOP3P", "v_mfma_f32_32x32x16_f16", 0x55},
};

unsigned opcode_of(uint32_t word, std::string_view format) {
  if (format == "VOP1") return word >> 9 & 255;
  return word >> 16 & (format == "VOP3" ? 1023 : 127);
}

std::string upper(std::string s) {
  for (char& c : s) c = toupper(c);
  return s;
}

bool decode_gfx950(uint64_t pc, Inst& in) {
  memcpy(in.raw, reinterpret_cast<const void*>(pc), sizeof in.raw);
  const uint32_t low = in.raw[0], high = in.raw[1];
  const std::string_view format = format_of(low);
  for (const Gfx950Instruction& known : gfx950_instructions) {
    if (format != known.format || opcode_of(low, format) != known.opcode) continue;
    char text[200];
    if (format == "VOP1")
      snprintf(text, sizeof text, "%s v%u, v%u", known.name, low >> 17 & 255, low & 255);
    else
      snprintf(text, sizeof text, "%s v%u, (%#x, %#x, %#x)", known.name, low & 255, high & 511,
               high >> 9 & 511, high >> 18 & 511);
    in.text = text;
    in.name = upper(known.name);
    in.size = format == "VOP1" ? 4 : 8;
    in.cls = format;
    return true;
  }
  return false;
}

// ---- gfx942 -------------------------------------------------------------------------------------
LLVMDisasmContextRef disassembler() {
  static const LLVMDisasmContextRef context = [] {
    LLVMInitializeAMDGPUTargetInfo();
    LLVMInitializeAMDGPUTargetMC();
    LLVMInitializeAMDGPUDisassembler();
    const auto made = LLVMCreateDisasmCPU("amdgcn-amd-amdhsa", "gfx942", nullptr, 0, nullptr, nullptr);
    if (made) LLVMSetDisasmOptions(made, LLVMDisassembler_Option_PrintImmHex);
    return made;
  }();
  return context;
}

std::string tidy(const char* text) {
  std::string tidied = text + strspn(text, " \t");
  for (char& c : tidied)
    if (c == '\t') c = ' ';
  tidied.erase(tidied.find_last_not_of(" \n") + 1);
  return tidied;
}

// V_ADD_F32 of "v_add_f32_e32 v0, ...": which encoding it is, the format says
std::string name_in(const std::string& text) {
  std::string name = text.substr(0, text.find(' '));
  for (std::string_view encoding : {"_e32", "_e64", "_sdwa", "_dpp"}) {
    if (!name.ends_with(encoding)) continue;
    name.resize(name.size() - encoding.size());
    break;
  }
  return upper(name);
}

} // namespace

bool decode(uint64_t pc, Inst& in, std::string& error, bool gfx950) {
  if (!disassembler()) return error = "LLVM has no disassembler for gfx942", false;
  char text[512];
  const size_t size = LLVMDisasmInstruction(disassembler(), reinterpret_cast<uint8_t*>(pc),
                                            longest_instruction_bytes, pc, text, sizeof text);
  if (!size && gfx950 && decode_gfx950(pc, in)) return true;
  if (!size) return error = "no instruction of gfx942", false;
  in.text = tidy(text);
  in.name = name_in(in.text);
  in.size = size;
  memcpy(in.raw, reinterpret_cast<const void*>(pc), sizeof in.raw);
  in.cls = format_of(in.raw[0]);
  return true;
}

} // namespace amdsim
