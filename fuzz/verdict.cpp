// Verdicts in words and as JSON.  JSON has no NaN and no infinity: such numbers are written as strings.
#include "fuzz/verdict.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <stdexcept>

namespace mqalab {
namespace {

constexpr std::array<std::string_view, kVerdictClasses> kNames{
    "ok",   "untouched", "stale",    "touched", "guard", "class",    "value",
    "read", "relation",  "unstable", "fault",   "hang",  "rejected", "none"};

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
          {"note", c.note},
          {"where", place_text(c)}};
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

std::string place_text(const BadCell& c) {
  return c.where.empty() ? fmt::format("row {} column {}", c.row, c.column) : c.where;
}

bool is_finding(VerdictClass v) {
  return v != VerdictClass::ok && v != VerdictClass::rejected && v != VerdictClass::none;
}

std::string Signature::text() const {
  const std::string text = fmt::format("{} / {} / {}", name(verdict), pattern, region);
  return configuration.empty() ? text : text + " / " + configuration;
}

std::string_view kind_of_pattern(std::string_view pattern) { return pattern.substr(0, pattern.find(',')); }

bool same_bug(const Signature& a, const Signature& b) {
  return a.verdict == b.verdict && kind_of_pattern(a.pattern) == kind_of_pattern(b.pattern);
}

std::string configuration_class(const mqa_config& c) {
  const char* variant = mqa_variant_name(c.variant);
  if (c.variant == MQA_VARIANT_AUTO || !variant) return "";
  const char* chunk = c.chunk_k <= 64    ? "64"
                      : c.chunk_k <= 128 ? "128"
                      : c.chunk_k <= 256 ? "256"
                                         : "above 256";
  return fmt::format("{}, {}, chunk {}", variant, c.split_kv > 1 ? "several splits" : "one split", chunk);
}

std::string to_json(const Verdict& v, int indent) {
  Json cells = Json::array();
  for (const BadCell& c : v.first_bad) cells.push_back(cell_json(c));
  const Json json{{"verdict", name(v.verdict)},
                  {"message", v.message},
                  {"signature",
                   {{"pattern", v.signature.pattern},
                    {"region", v.signature.region},
                    {"configuration", v.signature.configuration}}},
                  {"first_bad", cells},
                  {"cells_checked", v.cells_checked},
                  {"cells_bad", v.cells_bad},
                  {"worst_error_ratio", number(v.worst_error_ratio)},
                  {"accumulation", v.accumulation},
                  {"recall", v.recall < 0 ? Json() : Json(v.recall)},
                  {"launched", launched_json(v.launched)}};
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

namespace {

double number_from(const Json& j) {
  if (j.is_number()) return j;
  const std::string word = j;
  return word == "nan" ? std::nan("") : word == "inf" ? INFINITY : -INFINITY;
}

int32_t code_of(const char* (*name_of_code)(int32_t), const std::string& word) {
  for (int32_t code = 0; code < 16; ++code)
    if (const char* known = name_of_code(code); known && word == known) return code;
  return 0;
}

mqa_choice launched_from(const Json& j) {
  mqa_choice c{};
  c.config = {code_of(mqa_variant_name, j.at("variant")), j.at("chunk_k"), j.at("split_kv"),
              j.at("wave_per_eu")};
  c.source = code_of(mqa_source_name, j.at("source"));
  c.row_id = j.at("row_id");
  j.at("reason").get<std::string>().copy(c.reason, sizeof c.reason - 1);
  return c;
}

Verdict verdict_from(const Json& j) {
  Verdict v;
  const auto word = std::ranges::find(kNames, j.at("verdict").get<std::string>());
  if (word == kNames.end()) throw std::runtime_error("an unknown verdict class");
  v.verdict = static_cast<VerdictClass>(word - kNames.begin());
  v.message = j.at("message");
  const Json& signature = j.at("signature");
  v.signature = {v.verdict, signature.at("pattern"), signature.at("region"),
                 signature.value("configuration", "")};
  for (const Json& c : j.at("first_bad")) {
    const auto bits = static_cast<uint32_t>(std::stoul(c.at("got_bits").get<std::string>(), nullptr, 16));
    v.first_bad.push_back({c.at("row"), c.at("column"), std::bit_cast<float>(bits),
                           number_from(c.at("expected")), number_from(c.at("bound")), c.at("note"),
                           c.value("where", "")});
  }
  v.cells_checked = j.at("cells_checked"), v.cells_bad = j.at("cells_bad");
  v.worst_error_ratio = number_from(j.at("worst_error_ratio"));
  v.accumulation = j.value("accumulation", "");
  if (const auto recall = j.find("recall"); recall != j.end() && recall->is_number()) v.recall = *recall;
  v.launched = launched_from(j.at("launched"));
  return v;
}

} // namespace

Verdict verdict_from_json(const std::string& text) {
  try {
    return verdict_from(Json::parse(text));
  } catch (const Json::exception& e) {
    throw std::runtime_error(std::string("not a verdict: ") + e.what());
  }
}

} // namespace mqalab
