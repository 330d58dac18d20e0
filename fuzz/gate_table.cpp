// The gate's result for people and for machines.
#include "fuzz/gate.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

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

} // namespace

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
  if (const int64_t median = gate.median_to_kill())
    text += fmt::format("; median {} generated cases to a kill", median);
  return text + (gate.stopped ? "; stopped early\n" : gate.passed() ? "\n" : "; the gate is closed\n");
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
                    {"cases", row.cases},
                    {"verdict", row.verdict},
                    {"expected", row.expected},
                    {"lane", row.lane},
                    {"message", row.message},
                    {"seconds", row.seconds}});
  const nlohmann::json all{{"passed", gate.passed()},
                           {"stopped", gate.stopped},
                           {"median_generated_to_kill", gate.median_to_kill()},
                           {"rows", rows}};
  return all.dump(indent, ' ', false, nlohmann::json::error_handler_t::replace);
}

} // namespace mqalab
