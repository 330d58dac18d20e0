#include "fuzz/gate.hpp"
#include "fuzz/case_names.hpp"
#include "fuzz/fault_fit.hpp"
#include "fuzz/generator.hpp"
#include "fuzz/must_pass.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>

namespace mqalab {
namespace {

constexpr std::string_view kFalsePositives = "false-positives";
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
    for (const Fault& fault : faults()) {
      const bool must_kill = fault.kind == FaultKind::must_kill;
      plan(must_kill ? GateKind::must_kill : GateKind::must_survive, must_kill ? "must-kill" : "must-survive",
           fault.name,
           [this, must_kill, &fault](GateRow& row) { must_kill ? kill(row, fault) : survive(row, fault); });
    }
    for (const MustPass& odd : must_pass_cases())
      plan(GateKind::must_pass, "must-pass", odd.name,
           [this, &odd](GateRow& row) { pass(row, case_from_json(odd.json, std::string(odd.name))); });
    if (!options_.quick && options_.false_positive_cases > 0)
      plan(GateKind::must_pass, kFalsePositives,
           fmt::format("{} generated cases", options_.false_positive_cases),
           [&](GateRow& row) { pass_generated(row); });
    for (const Planned& planned : plan_) add(planned);
    return std::move(gate_);
  }

private:
  bool stopped() const { return options_.stop && options_.stop(); }

  struct Planned {
    GateKind kind;
    std::string name;
    std::function<void(GateRow&)> body;
  };

  void plan(GateKind kind, std::string_view group, std::string_view what,
            std::function<void(GateRow&)> body) {
    const auto asked = [&](const std::string& only) { return only == group || only == what; };
    if (options_.only.empty() || std::any_of(options_.only.begin(), options_.only.end(), asked))
      plan_.push_back({kind, std::string(what), std::move(body)});
  }

  void add(const Planned& planned) {
    if (gate_.stopped || stopped()) {
      gate_.stopped = true;
      return;
    }
    GateRow row;
    row.kind = planned.kind, row.name = planned.name;
    const auto start = Clock::now();
    planned.body(row);
    row.seconds = std::chrono::duration<double>(Clock::now() - start).count();
    gate_.rows.push_back(row);
    if (options_.progress) options_.progress(row, gate_.rows.size(), plan_.size());
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
    const Case& witness = witness_of(fault);
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
    row.generated_asked = true;
    const Checker counting = [&](const Case& c, const Fault* planted) {
      return planted ? check(row, c, planted) : check_(c, nullptr);
    };
    if (const auto kill = first_generated_kill(counting, fault, options_.seed, options_.most_generated,
                                               [this] { return stopped(); }))
      row.generated_to_kill = kill->number, row.generated_verdict = row.verdict,
      row.generated_lane = row.lane;
    if (row.witness_killed) row.verdict = verdict, row.lane = lane;
    if (row.generated_to_kill > 0) return;
    row.passed = false;
    if (row.message.empty())
      row.message = fmt::format("no generated case in {} kills it", options_.most_generated);
  }

  void survive(GateRow& row, const Fault& control) {
    row.expected = name(VerdictClass::ok);
    row.passed = spared(row, witness_of(control), &control);
    Random random(options_.seed);
    for (int64_t i = 0; !options_.quick && row.passed && i < options_.survive_cases && !stopped(); ++i) {
      Case c = generate_case(random, operation_of(control));
      fit_fault(c, control);
      if (!claims(control, c.data.lane)) c.data.lane = Lane::numeric; // which every control claims
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
    FalsePositiveOptions count;
    count.cases = options_.false_positive_cases, count.seed = options_.seed;
    count.shard = options_.shard, count.shards = options_.shards, count.jobs = options_.jobs;
    count.until_first = options_.until_first_false_positive;
    count.stop = options_.stop, count.progress = options_.case_progress;
    const auto new_checker = [&]() -> Checker {
      if (options_.jobs <= 1) return check_;
      return [own = std::make_shared<IsolatedOracle>()](const Case& c, const Fault* fault) {
        return own->check(c, fault);
      };
    };
    gate_.false_positives = count_false_positives(new_checker, count);
    const FalsePositives& counted = *gate_.false_positives;
    gate_.stopped = counted.stopped;
    row.cases = counted.cases, row.op = "any", row.lane = "any";
    row.verdict = name(counted.accused.empty() ? VerdictClass::ok : counted.accused.front().verdict);
    row.passed = counted.accused.empty() && !too_many_lost(counted) && counted.cases > 0;
    if (!row.passed) row.message = why_closed(counted);
  }

  std::string why_closed(const FalsePositives& counted) const {
    if (counted.cases == 0) return "no case in this shard";
    const bool accused = !counted.accused.empty();
    const Accusation& first = accused ? counted.accused.front() : counted.lost.front();
    return fmt::format("{}{}; case {}: {}; {}", text(counted),
                       accused ? "" : "; more than 5 percent without a verdict prove nothing", first.index,
                       first.message, to_json(false_positive_case(options_.seed, first.index), -1));
  }

  bool spared(GateRow& row, const Case& c, const Fault* control) {
    const Verdict verdict = check(row, c, control);
    if (!is_finding(verdict.verdict)) return true;
    row.message = fmt::format("{}; case {}", verdict.message, to_json(c, -1));
    return false;
  }

  const Checker& check_;
  const GateOptions& options_;
  std::vector<Planned> plan_;
  Gate gate_;
};

} // namespace

std::optional<GeneratedKill> first_generated_kill(const Checker& check, const Fault& fault, uint64_t seed,
                                                  int64_t most, const std::function<bool()>& stopped) {
  Random random(seed);
  KernelWords words;
  for (int64_t i = 1; i <= most && !stopped(); ++i) {
    Case c = generate_case(random, operation_of(fault), words.now());
    fit_fault(c, fault);
    if (!is_finding(check(c, &fault).verdict)) continue;
    // Where the production kernel fails, too, it is no merit of the fault's.
    if (!is_finding(check(c, nullptr).verdict)) return GeneratedKill{i, std::move(c)};
  }
  return {};
}

std::string_view name(GateKind kind) {
  return kind == GateKind::must_kill   ? "must kill"
         : kind == GateKind::must_pass ? "must pass"
                                       : "must survive";
}

bool Gate::passed() const {
  return !rows.empty() && !stopped &&
         std::all_of(rows.begin(), rows.end(), [](const GateRow& row) { return row.passed || !row.judged; });
}

std::vector<std::string> unknown_rows(const std::vector<std::string>& only) {
  std::vector<std::string> unknown;
  for (const std::string& asked : only) {
    const auto named = [&](const auto& row) { return row.name == asked; };
    const bool known = asked == "must-kill" || asked == "must-survive" || asked == "must-pass" ||
                       asked == kFalsePositives || std::ranges::any_of(faults(), named) ||
                       std::ranges::any_of(must_pass_cases(), named);
    if (!known) unknown.push_back(asked);
  }
  return unknown;
}

Gate run_gate(const Checker& check, const GateOptions& options) { return Run(check, options).run(); }

} // namespace mqalab
