// Verdicts in words and as JSON.  JSON has no NaN and no infinity: such numbers are written as strings.
#include "fuzz/verdict.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <array>
#include <bit>
#include <cmath>

namespace mqalab {
namespace {

constexpr std::array<std::string_view, 13> kNames{"ok",    "untouched", "stale", "touched",  "guard",
                                                  "class", "value",     "read",  "unstable", "fault",
                                                  "hang",  "rejected",  "none"};

using Json = nlohmann::json;

Json number(double v) {
  if (std::isfinite(v)) return v;
  return std::isnan(v) ? "nan" : v > 0 ? "inf" : "-inf";
}

Json cell_json(const BadCell& c) {
  return {{"row", c.row},
          {"column", c.column},
          {"got", number(c.got)},
          {"got_bits", fmt::format("0x{:08x}", std::bit_cast<uint32_t>(c.got))},
          {"expected", number(c.expected)},
          {"bound", number(c.bound)},
          {"note", c.note}};
}

Json launched_json(const mqa_choice& c) {
  const char* variant = mqa_variant_name(c.config.variant);
  const char* source = mqa_source_name(c.source);
  return {{"variant", variant ? variant : "unknown"},
          {"chunk_k", c.config.chunk_k},
          {"split_kv", c.config.split_kv},
          {"wave_per_eu", c.config.wave_per_eu},
          {"source", source ? source : "unknown"},
          {"row_id", c.row_id},
          {"reason", std::string(c.reason)}};
}

} // namespace

std::string_view name(VerdictClass v) { return kNames[static_cast<size_t>(v)]; }

std::string shown(double v) { return std::isnan(v) ? "nan" : fmt::format("{}", static_cast<float>(v)); }

bool is_finding(VerdictClass v) {
  return v != VerdictClass::ok && v != VerdictClass::rejected && v != VerdictClass::none;
}

std::string Signature::text() const { return fmt::format("{} / {} / {}", name(verdict), pattern, region); }

bool same_bug(const Signature& a, const Signature& b) {
  return a.verdict == b.verdict && a.pattern == b.pattern;
}

std::string to_json(const Verdict& v, int indent) {
  Json cells = Json::array();
  for (const BadCell& c : v.first_bad) cells.push_back(cell_json(c));
  const Json json{{"verdict", name(v.verdict)},
                  {"message", v.message},
                  {"signature", {{"pattern", v.signature.pattern}, {"region", v.signature.region}}},
                  {"first_bad", cells},
                  {"cells_checked", v.cells_checked},
                  {"cells_bad", v.cells_bad},
                  {"worst_error_ratio", number(v.worst_error_ratio)},
                  {"launched", launched_json(v.launched)}};
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

} // namespace mqalab
