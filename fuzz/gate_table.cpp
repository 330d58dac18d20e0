// The gate's result for people and for machines.
#include "fuzz/gate.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>

namespace mqalab {
namespace {

std::string kills(const GateRow& row) {
  if (row.kind != GateKind::must_kill) return fmt::format("{} cases", row.cases);
  if (!row.judged) return "-";
  if (!row.witness_killed && row.generated_to_kill == 0) return "survived";
  const std::string generated =
      row.generated_to_kill > 0 ? fmt::format(", generated {}", row.generated_to_kill) : "";
  return (row.witness_killed ? "witness" : "not by witness") + generated;
}

std::string score(const Gate& gate, GateKind kind, std::string_view verb) {
  const auto of_kind = [&](const GateRow& row) { return row.kind == kind && row.judged; };
  const auto all = std::count_if(gate.rows.begin(), gate.rows.end(), of_kind);
  const auto good = std::count_if(gate.rows.begin(), gate.rows.end(),
                                  [&](const GateRow& row) { return of_kind(row) && row.passed; });
  return fmt::format("{} {} of {}", verb, good, all);
}

nlohmann::json listed(const std::vector<Accusation>& kept) {
  nlohmann::json list = nlohmann::json::array();
  for (const Accusation& a : kept)
    list.push_back({{"index", a.index},
                    {"verdict", name(a.verdict)},
                    {"message", a.message},
                    {"signature", a.signature}});
  return list;
}

nlohmann::json ratios(const ErrorRatioTable& table) {
  nlohmann::json all = nlohmann::json::object();
  for (const auto& [key, r] : table)
    all[key] = {{"cases", r.cases},
                {"exact", r.exact},
                {"up_to_power_of_half", r.power},
                {"worst", r.worst},
                {"worst_index", r.worst_index},
                {"drift", r.worst > kDrift}};
  return all;
}

nlohmann::json counts(const FalsePositives& f) {
  nlohmann::json all{{"cases", f.cases},
                     {"findings", f.findings},
                     {"refused", f.refused},
                     {"without_verdict", f.without_verdict},
                     {"seconds", f.seconds},
                     {"accusations", listed(f.accused)},
                     {"lost", listed(f.lost)},
                     {"first_finding_index", nullptr},
                     {"error_ratios", ratios(f.error_ratios)}};
  if (!f.accused.empty()) all["first_finding_index"] = f.accused.front().index;
  return all;
}

} // namespace

std::vector<CasesToKill> cases_to_kill(const Gate& gate) {
  std::map<std::string, std::pair<std::vector<int64_t>, int64_t>> groups; // "all" sorts before the others
  for (const GateRow& row : gate.rows) {
    if (row.kind != GateKind::must_kill || !row.judged || !row.generated_asked) continue;
    for (const std::string& group :
         {std::string("all"), "verdict " + row.expected, "lane " + row.generated_lane}) {
      if (row.generated_to_kill > 0)
        groups[group].first.push_back(row.generated_to_kill);
      else if (!group.starts_with("lane"))
        ++groups[group].second;
    }
  }
  std::vector<CasesToKill> result;
  for (auto& [group, counted] : groups) {
    auto& [counts, survived] = counted;
    std::ranges::sort(counts);
    result.push_back({group, static_cast<int64_t>(counts.size()), survived,
                      counts.empty() ? 0 : counts[counts.size() / 2], counts.empty() ? 0 : counts.back()});
  }
  return result;
}

std::string gate_table(const Gate& gate) {
  std::string text = fmt::format("{:<12} {:<52} {:<26} {:<26} {:<10} {:<8} {:>8}\n", "", "what", "operation",
                                 "killed by / cases", "verdict", "lane", "seconds");
  for (const GateRow& row : gate.rows) {
    text += fmt::format("{:<12} {:<52} {:<26} {:<26} {:<10} {:<8} {:>8.3f}{}\n", name(row.kind), row.name,
                        row.op, kills(row), row.verdict, row.lane, row.seconds,
                        row.passed   ? ""
                        : row.judged ? "  FAILED"
                                     : "  -");
    if (!row.passed) text += fmt::format("             {}\n", row.message);
  }
  int64_t cases = 0;
  for (const GateRow& row : gate.rows) cases += row.cases;
  text += fmt::format("{}; {}; {}; {} cases", score(gate, GateKind::must_kill, "killed"),
                      score(gate, GateKind::must_pass, "passed"),
                      score(gate, GateKind::must_survive, "controls spared"), cases);
  if (gate.false_positives) {
    text += "; " + mqalab::text(*gate.false_positives);
    for (const std::string& line : drifts(gate.false_positives->error_ratios)) text += "\n  " + line;
  }
  for (const CasesToKill& g : cases_to_kill(gate))
    text += fmt::format("\n  generated cases to a kill, {:<20} {:>4} faults, median {:>4}, worst {:>5}{}",
                        g.group, g.killed, g.median, g.worst,
                        g.survived ? fmt::format(", {} never", g.survived) : "");
  return text + (gate.stopped ? "\nstopped early\n" : gate.passed() ? "\n" : "\nthe gate is closed\n");
}

std::string to_json(const Gate& gate, int indent) {
  nlohmann::json rows = nlohmann::json::array();
  for (const GateRow& row : gate.rows)
    rows.push_back({{"kind", name(row.kind)},
                    {"name", row.name},
                    {"operation", row.op},
                    {"passed", row.passed},
                    {"judged", row.judged},
                    {"witness_killed", row.witness_killed},
                    {"generated_to_kill", row.generated_to_kill},
                    {"generated_verdict", row.generated_verdict},
                    {"generated_lane", row.generated_lane},
                    {"cases", row.cases},
                    {"verdict", row.verdict},
                    {"expected", row.expected},
                    {"lane", row.lane},
                    {"message", row.message},
                    {"seconds", row.seconds}});
  nlohmann::json to_kill = nlohmann::json::array();
  for (const CasesToKill& g : cases_to_kill(gate))
    to_kill.push_back({{"group", g.group},
                       {"killed", g.killed},
                       {"survived", g.survived},
                       {"median", g.median},
                       {"worst", g.worst}});
  nlohmann::json all{{"passed", gate.passed()},
                     {"stopped", gate.stopped},
                     {"generated_cases_to_kill", to_kill},
                     {"rows", rows}};
  if (gate.false_positives) all["false_positives"] = counts(*gate.false_positives);
  return all.dump(indent, ' ', false, nlohmann::json::error_handler_t::replace);
}

} // namespace mqalab
