#include "fuzz/gate.hpp"
#include "fuzz/case_names.hpp"
#include "fuzz/fault_fit.hpp"
#include "fuzz/generator.hpp"
#include "fuzz/must_pass.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

namespace mqalab {
namespace {

using Clock = std::chrono::steady_clock;

// Real hardware may trap where the simulated one reads on: a kill of another kind.
bool as_expected(const Fault& fault, VerdictClass verdict) {
#ifdef MQALAB_SIM
  return fault.sees == name(verdict);
#else
  return fault.sees == name(verdict) || verdict == VerdictClass::fault;
#endif
}
bool judged_here([[maybe_unused]] const Fault& fault) {
#ifdef MQALAB_SIM
  return true;
#else
  return !fault.needs_lds_checker;
#endif
}

class Run {
public:
  Run(const Checker& check, const GateOptions& options) : check_(check), options_(options) {}

  Gate run() {
    const size_t all = faults().size() + must_pass_cases().size() + (options_.quick ? 0 : 1);
    for (const Fault& fault : faults())
      add(fault.kind == FaultKind::must_kill ? GateKind::must_kill : GateKind::must_survive, fault.name, all,
          [&](GateRow& row) { fault.kind == FaultKind::must_kill ? kill(row, fault) : survive(row, fault); });
    for (const MustPass& odd : must_pass_cases())
      add(GateKind::must_pass, odd.name, all,
          [&](GateRow& row) { pass(row, case_from_json(odd.json, std::string(odd.name))); });
    if (!options_.quick)
      add(GateKind::must_pass, fmt::format("{} generated cases", options_.false_positive_cases), all,
          [&](GateRow& row) { pass_generated(row); });
    return std::move(gate_);
  }

private:
  bool stopped() const { return options_.stop && options_.stop(); }

  template <class Body> void add(GateKind kind, std::string_view what, size_t all, Body body) {
    if (gate_.stopped || stopped()) {
      gate_.stopped = true;
      return;
    }
    GateRow row;
    row.kind = kind, row.name = what;
    const auto start = Clock::now();
    body(row);
    row.seconds = std::chrono::duration<double>(Clock::now() - start).count();
    gate_.rows.push_back(row);
    if (options_.progress) options_.progress(row, gate_.rows.size(), all);
  }

  Verdict check(GateRow& row, const Case& c, const Fault* fault) {
    ++row.cases;
    const Verdict verdict = check_(c, fault);
    row.verdict = name(verdict.verdict);
    row.lane = name_of(c.data.lane);
    row.op = name_of(c.op);
    return verdict;
  }

  void kill(GateRow& row, const Fault& fault) {
    row.expected = fault.sees;
    if (!judged_here(fault)) {
      row.judged = false, row.verdict = "not judged", row.lane = "-";
      row.message = "only the simulator's LDS checker names this fault for certain";
      return;
    }
    const Case witness = case_from_json(fault.witness, std::string(fault.name));
    if (const Verdict clean = check(row, witness, nullptr); clean.verdict != VerdictClass::ok) {
      row.message = "its witness fails on the production kernel: " + clean.message;
      return;
    }
    const Verdict seen = check(row, witness, &fault);
    row.witness_killed = is_finding(seen.verdict);
    row.passed = row.witness_killed && as_expected(fault, seen.verdict);
    if (!row.passed)
      row.message = row.witness_killed ? fmt::format("seen as {}, expected {}: {}", name(seen.verdict),
                                                     fault.sees, seen.message)
                                       : fmt::format("its witness survives: {}", to_json(witness, -1));
    if (!options_.quick) kill_with_generated(row, fault, row.verdict, row.lane);
  }

  // How soon the generator alone meets the fault; the witness has the last word on the verdict.
  void kill_with_generated(GateRow& row, const Fault& fault, std::string verdict, std::string lane) {
    Random random(options_.seed);
    KernelWords words;
    for (int64_t i = 1; i <= options_.most_generated && !stopped(); ++i) {
      Case c = generate_case(random, operation_of(fault), words.now());
      fit_fault(c, fault);
      if (!is_finding(check(row, c, &fault).verdict)) continue;
      if (is_finding(check_(c, nullptr).verdict))
        continue; // the production kernel fails, too: no merit of the fault's
      row.generated_to_kill = i;
      break;
    }
    if (row.witness_killed)
      row.verdict = verdict, row.lane = lane;
    else if (row.generated_to_kill > 0)
      row.passed = true;
  }

  void survive(GateRow& row, const Fault& control) {
    row.expected = name(VerdictClass::ok);
    row.passed = spared(row, case_from_json(control.witness, std::string(control.name)), &control);
    Random random(options_.seed);
    for (int64_t i = 0; !options_.quick && row.passed && i < options_.survive_cases && !stopped(); ++i) {
      Case c = generate_case(random, operation_of(control));
      fit_fault(c, control);
      c.data.lane = Lane::numeric; // the lane in which a control is inside the bound
      row.passed = spared(row, c, &control);
    }
  }

  void pass(GateRow& row, const Case& c) {
    row.expected = name(VerdictClass::ok);
    row.passed = spared(row, c, nullptr) && row.verdict == name(VerdictClass::ok);
    if (!row.passed && row.message.empty()) row.message = "no verdict: " + row.verdict;
  }

  void pass_generated(GateRow& row) {
    row.expected = name(VerdictClass::ok);
    row.passed = true;
    Random random(options_.seed);
    for (int64_t i = 0; i < options_.false_positive_cases && row.passed && !stopped(); ++i)
      row.passed = spared(row, generate_any_case(random), nullptr);
  }

  bool spared(GateRow& row, const Case& c, const Fault* control) {
    const Verdict verdict = check(row, c, control);
    if (!is_finding(verdict.verdict)) return true;
    row.message = fmt::format("{}; case {}", verdict.message, to_json(c, -1));
    return false;
  }

  const Checker& check_;
  const GateOptions& options_;
  Gate gate_;
};

} // namespace

std::string_view name(GateKind kind) {
  return kind == GateKind::must_kill   ? "must kill"
         : kind == GateKind::must_pass ? "must pass"
                                       : "must survive";
}

bool Gate::passed() const {
  return !rows.empty() && !stopped &&
         std::all_of(rows.begin(), rows.end(), [](const GateRow& row) { return row.passed || !row.judged; });
}

int64_t Gate::median_to_kill() const {
  std::vector<int64_t> counts;
  for (const GateRow& row : rows)
    if (row.generated_to_kill > 0) counts.push_back(row.generated_to_kill);
  if (counts.empty()) return 0;
  std::nth_element(counts.begin(), counts.begin() + static_cast<long>(counts.size() / 2), counts.end());
  return counts[counts.size() / 2];
}

Gate run_gate(const Checker& check, const GateOptions& options) { return Run(check, options).run(); }

} // namespace mqalab
