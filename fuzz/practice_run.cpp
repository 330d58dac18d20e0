#include "fuzz/practice_run.hpp"
#include "fuzz/fault_fit.hpp"
#include "fuzz/gate.hpp"
#include "fuzz/generator.hpp"
#include "fuzz/must_pass.hpp"

#include <algorithm>

namespace mqalab {
namespace {

class Comparison {
public:
  Comparison(const PracticeBench& bench, const PracticeOptions& options) : bench_(bench), options_(options) {}

  Practice run() {
    std::vector<const Fault*> chosen, controls;
    for (const Fault& fault : faults())
      (fault.kind == FaultKind::must_kill ? chosen : controls).push_back(&fault);
    if (options_.faults > 0 && options_.faults < chosen.size()) chosen.resize(options_.faults);
    all_ = chosen.size() + controls.size() + must_pass_cases().size() + static_cast<size_t>(options_.cases);
    for (const Fault* fault : chosen) step(std::string(fault->name), [&] { faulty(*fault); });
    for (const Fault* control : controls)
      step(std::string(control->name), [&] { correct(witness_of(*control), control); });
    for (const MustPass& odd : must_pass_cases())
      step("odd but legal cases", [&] { correct(case_from_json(odd.json, std::string(odd.name)), nullptr); });
    Random random(options_.seed);
    for (int64_t i = 0; i < options_.cases; ++i)
      step("generated cases on the production kernel", [&] {
        Case c = generate_case(random);
        while (!makes_logits(c.op)) c = generate_case(random);
        correct(c, nullptr);
      });
    return std::move(result_);
  }

private:
  bool stopped() const { return options_.stop && options_.stop(); }

  template <class Body> void step(const std::string& what, Body body) {
    if (result_.stopped || stopped()) {
      result_.stopped = true;
      return;
    }
    body();
    if (options_.progress) options_.progress(what, ++done_, all_);
  }

  void faulty(const Fault& fault) {
    const Case& witness = witness_of(fault);
    if (!makes_logits(witness.op)) {
      result_.others.push_back({&fault, is_finding(bench_.check(witness, &fault).verdict)});
      return;
    }
    add(witness, &fault, RunOf::witness);
    add_generated(fault);
    for (Case c : typical_cases()) {
      fit_instances(c, fault);
      add(c, &fault, RunOf::typical);
    }
  }

  // The first one that our oracle kills, as the gate looks for it.
  void add_generated(const Fault& fault) {
    if (const auto kill = first_generated_kill(bench_.check, fault, options_.seed, options_.most_generated,
                                               [this] { return stopped(); }))
      add(kill->c, &fault, RunOf::generated);
  }

  void correct(const Case& c, const Fault* control) {
    if (makes_logits(c.op)) add(c, control, RunOf::correct);
  }

  void add(const Case& c, const Fault* fault, RunOf of) {
    PracticeRun run{fault, of, false, {}};
    const bool found = is_finding(bench_.check(c, fault).verdict);
    run.says = {found ? Says::fails : Says::passes};
    const std::vector<Says> metrics = bench_.measure(c, fault);
    run.says.insert(run.says.end(), metrics.begin(), metrics.end());
    if (of != RunOf::correct) run.visible = found || shown_by_a_metric(c, metrics);
    result_.runs.push_back(std::move(run));
  }

  bool shown_by_a_metric(const Case& c, const std::vector<Says>& metrics) const {
    if (std::ranges::find(metrics, Says::fails) == metrics.end()) return false;
    const std::vector<Says> of_production = bench_.measure(c, nullptr);
    for (size_t m = 0; m < metrics.size(); ++m)
      if (metrics[m] == Says::fails && of_production[m] == Says::passes) return true;
    return false;
  }

  const PracticeBench& bench_;
  const PracticeOptions& options_;
  Practice result_;
  size_t done_ = 0, all_ = 0;
};

} // namespace

std::string_view name(RunOf of) {
  constexpr std::array<std::string_view, 4> kNames{"witness", "generated", "typical", "correct"};
  return kNames[static_cast<size_t>(of)];
}

std::array<Case, 2> typical_cases() {
  return {
      case_from_json(
          R"({"batch": 4, "next_n": 1, "heads": 32, "block_size": 64, "context_lens": [2000, 4096, 3111, 2777], "max_model_len": 4096, "block_table": {"mode": "shuffled", "seed": 1}, "data": {"lane": "numeric"}})",
          "typical"),
      case_from_json(
          R"({"batch": 4, "next_n": 2, "heads": 64, "block_size": 1, "context_lens": [4001, 2048, 2999, 3583], "max_model_len": 4096, "block_table": {"mode": "shuffled", "seed": 2}, "data": {"lane": "numeric"}})",
          "typical")};
}

Practice run_practice(const PracticeBench& bench, const PracticeOptions& options) {
  return Comparison(bench, options).run();
}

} // namespace mqalab
