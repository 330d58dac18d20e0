// All of a kernel's code is read, executed or not: behind a branch that no case takes yet stand the constants
// that the next ones need.
#include "compares.hpp"

#include "code_object.hpp"
#include "instruction.hpp"

#include <algorithm>
#include <charconv>
#include <string_view>

namespace amdsim {

CompareConstants compare_constants;

namespace {

// Mnemonic and operands of "s_cmpk_eq_i32 s59, 0x80".
std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  for (size_t at = 0; (at = text.find_first_not_of(" ,", at)) != text.npos;) {
    const size_t end = std::min(text.find_first_of(" ,", at), text.size());
    words.push_back(text.substr(at, end - at));
    at = end;
  }
  return words;
}

// Of whole numbers: s_cmp_lg_u32, s_cmpk_eq_i32, v_cmp_gt_u32_e64, v_cmpx_ne_i64_e32; not v_cmp_lt_f32.
bool compares_whole_numbers(std::string_view mnemonic) {
  if (!mnemonic.starts_with("s_cmp") && !mnemonic.starts_with("v_cmp")) return false;
  for (const std::string_view type : {"_i16", "_u16", "_i32", "_u32", "_i64", "_u64"})
    if (mnemonic.find(type) != mnemonic.npos) return true;
  return false;
}
bool moves(std::string_view mnemonic) {
  return mnemonic.starts_with("s_mov") || mnemonic.starts_with("v_mov_b32");
}
int bits_of_constants(std::string_view mnemonic) {
  return mnemonic.starts_with("s_cmpk") || mnemonic.starts_with("s_movk") ? 16 : 32;
}

// "48", "-1" or "0x80"; registers and floats are none.  A hexadecimal number with its sign bit set is most
// likely a negative one.
bool read_number(std::string_view word, int bits, int64_t& value) {
  const bool negative = word.starts_with('-');
  if (negative) word.remove_prefix(1);
  const bool hexadecimal = word.starts_with("0x");
  if (hexadecimal) word.remove_prefix(2);
  uint64_t read = 0;
  const char* const all = word.data() + word.size();
  const auto [end, error] = std::from_chars(word.data(), all, read, hexadecimal ? 16 : 10);
  if (error != std::errc{} || end != all) return false;
  value = static_cast<int64_t>(read);
  if (hexadecimal && read >> (bits - 1) == 1) value -= int64_t{1} << bits;
  if (negative) value = -value;
  return true;
}

// Goes over the code from top to bottom.  A constant may also stand in a register that a move filled before
// the compare: s_movk_i32 s4, 0x89.
class Reader {
public:
  explicit Reader(std::set<int64_t>& values) : values_(values) {}

  void read(std::string_view text) {
    const auto words = words_of(text);
    if (words.size() < 2) return;
    const int bits = bits_of_constants(words[0]);
    if (compares_whole_numbers(words[0]))
      for (size_t i = 1; i < words.size(); ++i) compare_with(words[i], bits);
    else
      write(words, bits);
  }

private:
  void compare_with(std::string_view operand, int bits) {
    if (int64_t value = 0; read_number(operand, bits, value)) values_.insert(value);
    if (const auto moved = moved_.find(operand); moved != moved_.end()) values_.insert(moved->second);
  }
  void write(const std::vector<std::string_view>& words, int bits) {
    if (int64_t value = 0; moves(words[0]) && words.size() == 3 && read_number(words[2], bits, value))
      moved_.insert_or_assign(std::string(words[1]), value);
    else if (const auto lost = moved_.find(words[1]); lost != moved_.end())
      moved_.erase(lost);
  }

  std::set<int64_t>& values_;
  std::map<std::string, int64_t, std::less<>> moved_; // by register
};

// Bytes of code from the kernel's first instruction on.
uint64_t code_bytes(const Kernel& kernel) {
  uint64_t bytes = 0;
  for (const auto& [name, symbol] : kernel.co->symbols)
    if (symbol.first == kernel.entry) bytes = std::max(bytes, symbol.second);
  return bytes;
}

} // namespace

void compares_start(const Kernel& kernel) {
  if (!compare_constants.collecting || !compare_constants.kernels.insert(&kernel).second) return;
  const uint64_t end = kernel.entry + code_bytes(kernel);
  Reader reader(compare_constants.values);
  for (uint64_t pc = kernel.entry; pc < end;) {
    Inst in;
    std::string error;
    if (!decode(pc, in, error, kernel.co->target == "gfx950")) return;
    reader.read(in.text);
    pc += in.size;
  }
}

} // namespace amdsim
