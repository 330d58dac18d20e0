// The gate: no campaign starts before it.  Must kill: every planted fault.  Must pass: odd but legal cases on
// the production kernel.  Must survive: controls that are not faults.  Its score is the measure of the
// oracle.
#pragma once
#include "fuzz/false_positives.hpp"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace mqalab {

enum class GateKind : uint8_t { must_kill, must_pass, must_survive };
std::string_view name(GateKind);

struct GateRow {
  GateKind kind = GateKind::must_pass;
  std::string name;
  bool passed = false;
  bool judged = true; // false: this device cannot judge the row; it neither passes nor fails
  bool witness_killed = false;
  int64_t generated_to_kill = 0; // generated cases until the first kill; 0: none, or not asked
  bool generated_asked = false;
  std::string generated_verdict, generated_lane; // of that kill
  int64_t cases = 0;                             // checked in all
  std::string verdict;                           // of the deciding case
  std::string expected;
  std::string lane;    // of the deciding case
  std::string op;      // of the last case
  std::string message; // why not passed
  double seconds = 0;
};

struct GateOptions {
  bool quick = false; // witnesses and must-pass cases only
  int64_t most_generated = 2000;
  int64_t survive_cases = 100;        // generated cases that every control must survive
  int64_t false_positive_cases = 300; // generated cases on the production kernel
  bool until_first_false_positive = false;
  uint64_t seed = 1;
  int64_t shard = 0, shards = 1; // of the generated cases on the production kernel
  int jobs = 1;                  // processes for them; the other rows are one process's
  std::vector<std::string> only; // kinds ("must-kill", "false-positives") or names of rows; empty: all
  std::function<void(const GateRow&, size_t done, size_t all)> progress;
  std::function<void(int64_t done, int64_t all)> case_progress; // of the cases on the production kernel
  std::function<bool()> stop;
};
struct Gate {
  std::vector<GateRow> rows;
  std::optional<FalsePositives> false_positives; // when they were counted
  bool stopped = false;
  bool passed() const;
};

// Generated cases until a kill, over the faults that generated cases killed; those that survived stand apart.
struct CasesToKill {
  std::string group; // "all", "verdict value", "lane exact"
  int64_t killed = 0, survived = 0, median = 0, worst = 0;
};
// All, then by the verdict class that a fault must show, and by the lane of its first generated kill.
std::vector<CasesToKill> cases_to_kill(const Gate&);
// The names of `only` that are neither a kind nor a row.
std::vector<std::string> unknown_rows(const std::vector<std::string>& only);
Gate run_gate(const Checker&, const GateOptions&);

// The first of `most` generated cases that a fault dies by while the production kernel passes it, and its
// number, counted from 1.  The same seed gives the same cases.
struct GeneratedKill {
  int64_t number = 0;
  Case c;
};
std::optional<GeneratedKill> first_generated_kill(const Checker&, const Fault&, uint64_t seed, int64_t most,
                                                  const std::function<bool()>& stopped);

std::string gate_table(const Gate&);
std::string to_json(const Gate&, int indent = 2);

} // namespace mqalab
