#include "fuzz/found.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace mqalab {
namespace {

using nlohmann::json;

std::optional<VerdictClass> verdict_named(const std::string& wanted) {
  for (int v = 0; v <= static_cast<int>(VerdictClass::none); ++v)
    if (name(static_cast<VerdictClass>(v)) == wanted) return static_cast<VerdictClass>(v);
  return std::nullopt;
}

int digit(char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1; }

} // namespace

std::string to_hex(const std::vector<uint8_t>& bytes) {
  std::string text;
  for (const uint8_t byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

std::optional<std::vector<uint8_t>> from_hex(const std::string& text) {
  std::vector<uint8_t> bytes;
  if (text.size() % 2 != 0) return std::nullopt;
  for (size_t i = 0; i < text.size(); i += 2) {
    if (digit(text[i]) < 0 || digit(text[i + 1]) < 0) return std::nullopt;
    bytes.push_back(static_cast<uint8_t>(16 * digit(text[i]) + digit(text[i + 1])));
  }
  return bytes;
}

std::string to_line(const Found& found) {
  const json line{{"record", to_hex(found.record)},
                  {"verdict", name(found.signature.verdict)},
                  {"pattern", found.signature.pattern},
                  {"region", found.signature.region},
                  {"configuration", found.signature.configuration},
                  {"message", found.message}};
  return line.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::optional<Found> from_line(const std::string& text) {
  const json line = json::parse(text, nullptr, false);
  if (!line.is_object()) return std::nullopt;
  const auto record = from_hex(line.value("record", "?"));
  const auto verdict = verdict_named(line.value("verdict", ""));
  if (!record || !verdict) return std::nullopt;
  return Found{
      *record,
      {*verdict, line.value("pattern", ""), line.value("region", ""), line.value("configuration", "")},
      line.value("message", "")};
}

} // namespace mqalab
