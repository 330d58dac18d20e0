#include "fuzz/report.hpp"
#include "fuzz/case.hpp"
#include "fuzz/disk.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace mqalab {
namespace {

using nlohmann::json;

std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text)
    result += c == '<'   ? "&lt;"
              : c == '>' ? "&gt;"
              : c == '&' ? "&amp;"
              : c == '"' ? "&quot;"
                         : std::string(1, c);
  return result;
}
std::string text_of(const json& value) {
  return value.is_string() ? escaped(value.get<std::string>()) : value.dump();
}

constexpr const char* kHead =
    R"(<!doctype html><html lang="en"><meta charset="utf-8"><title>mqalab campaign</title>
<style>
body{font:15px/1.5 system-ui,sans-serif;margin:2em auto;max-width:70em;padding:0 1em;color:#1b1f24;background:#fff}
h1,h2{line-height:1.2}table{border-collapse:collapse;margin:.5em 0}td,th{border:1px solid #c8ccd0;padding:.25em .6em;text-align:left;vertical-align:top}
code,pre{font:13px ui-monospace,monospace;background:#f3f4f6}pre{padding:.6em;overflow:auto}.bad{color:#b00020}.good{color:#0a6b2d}
@media(prefers-color-scheme:dark){body{background:#14171a;color:#e3e6e9}code,pre{background:#22262b}td,th{border-color:#444}.bad{color:#ff8a80}.good{color:#7fd69a}}
</style>
)";

std::string row(std::initializer_list<std::string> cells, const char* tag = "td") {
  std::string text = "<tr>";
  for (const std::string& cell : cells) text += fmt::format("<{0}>{1}</{0}>", tag, cell);
  return text + "</tr>\n";
}

std::string facts(const json& s) {
  std::string text = "<table>\n";
  for (const char* key : {"end", "fault", "seed", "workers", "guide", "cases", "seconds", "rejected",
                          "undecided", "restarts", "seconds_to_detection"})
    if (s.contains(key) && s[key] != "") text += row({key, text_of(s[key])});
  if (s.contains("build"))
    for (const auto& [key, value] : s["build"].items()) text += row({key, text_of(value)});
  return text + "</table>\n";
}

std::string findings(const json& s) {
  if (s.value("findings", json::array()).empty()) return "<p class=good>No finding.</p>\n";
  std::string text;
  for (const json& f : s["findings"]) {
    text += fmt::format("<h3 class=bad>{}</h3>\n<p>{}</p>\n", text_of(f["signature"]), text_of(f["message"]));
    if (f.value("law", "") != "") text += fmt::format("<p>Law: <b>{}</b></p>\n", text_of(f["law"]));
    text += fmt::format("<pre>{}</pre><p>Seen {} times; minimised: {}; <a href=\"findings/{}/\">folder</a>; "
                        "replay <code>findings/{}/replay.sh</code></p>\n",
                        escaped(f["minimal"].dump(2)), text_of(f["seen"]), text_of(f["minimized"]),
                        text_of(f["folder"]), text_of(f["folder"]));
  }
  return text;
}

// Machine-code edges over time as a line.
std::string growth(const json& s) {
  const json points = s.value("growth", json::array());
  double last = 1, most = 1;
  for (const json& p : points)
    last = std::max(last, p.value("seconds", 0.0)), most = std::max(most, p.value("machine_edges", 0.0));
  std::string line;
  for (const json& p : points)
    line += fmt::format("{:.1f},{:.1f} ", 600 * p.value("seconds", 0.0) / last,
                        150 - 145 * p.value("machine_edges", 0.0) / most);
  return fmt::format("<p>{} of {} feature pairs, {} edges of machine code.</p>\n<svg width=600 height=155 "
                     "role=img aria-label=\"edges over time\">"
                     "<polyline fill=none stroke=\"#3572b0\" stroke-width=2 points=\"{}\"/></svg>\n<p>0 to "
                     "{:.0f} s, 0 to {:.0f} edges</p>\n",
                     text_of(s.value("pairs", json(0))), text_of(s.value("pairs_possible", json(0))),
                     text_of(s.value("machine_edges", json(0))), line, last, most);
}

std::string never_seen(const json& s) {
  std::string text = "<ul>\n";
  for (const json& pair : s.value("pairs_never_seen", json::array()))
    text += fmt::format("<li>{}</li>\n", text_of(pair));
  return text + "</ul>\n";
}

std::string gate(const json& g) {
  if (!g.is_object()) return "<p>No gate ran.</p>\n";
  std::string text = "<table>\n" + row({"", "what", "verdict", "lane", ""}, "th");
  for (const json& r : g.value("rows", json::array()))
    text += row({text_of(r["kind"]), text_of(r["name"]), text_of(r["verdict"]), text_of(r["lane"]),
                 r.value("passed", false)   ? "<span class=good>as it should be</span>"
                 : !r.value("judged", true) ? text_of(r["message"])
                                            : "<span class=bad>FAILED</span> " + text_of(r["message"])});
  return text + "</table>\n";
}

} // namespace

std::string report_html(const std::filesystem::path& campaign) {
  const json summary = json::parse(read_whole(campaign / "summary.json"), nullptr, false);
  if (!summary.is_object())
    throw CaseError(fmt::format("{}: holds no summary.json; allowed: the folder of a campaign that has "
                                "ended; try: mqalab fuzz --out {} first",
                                campaign.string(), campaign.string()));
  const json gate_rows = json::parse(read_whole(campaign / "gate.json"), nullptr, false);
  return std::string(kHead) + "<h1>mqalab campaign</h1>\n" + facts(summary) + "<h2>Findings</h2>\n" +
         findings(summary) + "<h2>Coverage</h2>\n" + growth(summary) + "<p>Never seen, among others:</p>\n" +
         never_seen(summary) + "<h2>Gate</h2>\n" + gate(gate_rows) + "</html>\n";
}

} // namespace mqalab
