#include "fuzz/guards.hpp"

#include <fmt/format.h>

#include <bit>
#include <string>

namespace mqalab {
namespace {

// The oracle's questions behind this one (docs/oracle.md).
bool is_asked_later(VerdictClass v) {
  switch (v) {
  case VerdictClass::ok:
  case VerdictClass::wrong_class:
  case VerdictClass::value:
  case VerdictClass::read:
  case VerdictClass::relation:
  case VerdictClass::unstable: return true;
  default: return false;
  }
}

std::string in_words(std::string_view when) { return when.empty() ? "" : fmt::format(" ({})", when); }

} // namespace

bool look_at_guards(Verdict& v, std::span<const GuardedOutput> outputs, std::string_view when) {
  if (!is_asked_later(v.verdict)) return false;
  for (const GuardedOutput& out : outputs) {
    const auto dead = out.words.dead_guard();
    if (!dead) continue;
    const int64_t elements = dead->distance_words;
    const char* region = dead->before ? "before the first row" : "behind the last row";
    v.verdict = VerdictClass::guard;
    v.signature = {v.verdict, "guard written", region};
    v.message = fmt::format("guard: the zone around the {} was written, {} bytes {}: expected {:#010x}, got "
                            "{:#010x}{}",
                            out.name, 4 * elements, region, dead->expected, dead->got, in_words(when));
    v.first_bad = {{dead->before ? -1 : out.rows, dead->before ? -elements : elements,
                    std::bit_cast<float>(dead->got), 0, 0, fmt::format("outside the {}", out.name)}};
    v.cells_bad = 1;
    return true;
  }
  return false;
}

bool look_at_inputs(Verdict& v, const std::optional<ChangedInput>& input, std::string_view when) {
  if (!input || !is_asked_later(v.verdict)) return false;
  const ChangedByte& byte = input->byte;
  v.verdict = VerdictClass::touched;
  v.signature = {v.verdict, "input changed", std::string(input->name)};
  v.message =
      fmt::format("touched: the launch wrote into an input: {} byte {}, expected {:#04x}, got {:#04x}{}",
                  input->name, byte.offset_bytes, byte.expected, byte.got, in_words(when));
  v.first_bad = {{0, byte.offset_bytes, static_cast<float>(byte.got), static_cast<double>(byte.expected), 0,
                  "as bytes", fmt::format("{} byte {}", input->name, byte.offset_bytes)}};
  v.cells_bad = 1;
  return true;
}

} // namespace mqalab
