// Every launch is judged whole, against the reference and its own prefill; so two launches that are both
// right agree bitwise, and one that is not after a right one is the difference that is looked for.
#include "fuzz/byte_trial.hpp"

#include "fuzz/relaunch.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace mqalab {
namespace {

class Run {
public:
  Run(TrialMemory& memory, ByteTrial& trial, const Fault* fault, const OracleOptions& options)
      : memory_(memory), trial_(trial), fault_(fault), options_(options),
        old_salts_(memory.old_salts.begin(), memory.old_salts.end()) {}

  LaunchResult launch(const Setup& setup) {
    if (uploaded_ != setup.other_poison) trial_.upload(setup.other_poison);
    uploaded_ = setup.other_poison;
    for (size_t i = 0; i < trial_.outputs().size(); ++i) {
      memory_.outputs[i].resize((trial_.output_bytes(i) + 3) / 4);
      memory_.outputs[i].prefill(trial_.outputs()[i].windows, setup.salt);
    }
    const bool on = options_.stress_lds, in_order = setup.schedule == 0;
    apply_stress({on ? setup.schedule : 0, on, on && in_order, trial_.most_instructions()});
    return finished(trial_.launch(fault_));
  }
  // Of what the last launch left: the output that is wrong in the class that is asked for first.
  Verdict judge(const Setup& setup) {
    Verdict worst;
    int64_t checked = 0, bad = 0;
    for (size_t i = 0; i < trial_.outputs().size(); ++i) {
      const ByteOutput& output = trial_.outputs()[i];
      memory_.outputs[i].read(output.windows, words_);
      const ByteJudgement j = judge_bytes(output, {words_, setup.salt, old_salts_});
      checked += j.bytes_checked, bad += j.bytes_bad;
      if (j.verdict == VerdictClass::ok) continue;
      if (worst.verdict == VerdictClass::ok || j.verdict < worst.verdict)
        worst = explain_bytes(trial_.problem(), output, j);
    }
    worst.cells_checked = checked, worst.cells_bad = bad;
    return worst;
  }
  // What the last launch wrote beside its outputs.
  void look_beside(Verdict& v, std::string_view when = {}) const {
    std::vector<GuardedOutput> outputs;
    for (size_t i = 0; i < trial_.outputs().size(); ++i)
      outputs.push_back({trial_.outputs()[i].name, memory_.outputs[i], trial_.problem().rows()});
    if (!look_at_guards(v, outputs, when)) look_at_inputs(v, trial_.changed_input(), when);
  }
  // Which of the three differences between a right launch and this one made it go wrong?
  Verdict difference(const Setup& first, const Setup& second, Verdict seen) {
    for (const Attempt& a : attempts(first, second)) {
      if (launch(a.setup).status != VerdictClass::ok) continue;
      Verdict v = judge(a.setup);
      if (v.verdict != VerdictClass::ok) return renamed(std::move(v), a.verdict, a.pattern);
    }
    return renamed(std::move(seen), VerdictClass::unstable, kOrderOfWaves);
  }

private:
  static Verdict renamed(Verdict v, VerdictClass verdict, const char* pattern) {
    v.message = fmt::format("{}: right at first, then wrong: {}; {}", name(verdict), pattern, v.message);
    v.verdict = verdict, v.signature = {verdict, pattern, v.signature.region};
    return v;
  }

  TrialMemory& memory_;
  ByteTrial& trial_;
  const Fault* fault_;
  const OracleOptions& options_;
  std::vector<uint64_t> old_salts_;
  std::optional<bool> uploaded_;
  std::vector<uint32_t> words_;
};

} // namespace

Verdict run_trial(TrialMemory& memory, ByteTrial& trial, const Fault* fault, const OracleOptions& options) {
  Run run(memory, trial, fault, options);
  const Setup first{memory.fresh_salt()};
  LaunchResult ran = run.launch(first);
  if (ran.status != VerdictClass::ok) return did_not_run(ran);
  Verdict v = run.judge(first);
  run.look_beside(v);
  memory.retire(first.salt);
  if (v.verdict != VerdictClass::ok) return v;
  for (int i = 1; i <= launches_after_first(options); ++i) {
    const Setup next = shaken(options, first, memory.fresh_salt(), static_cast<uint64_t>(i));
    ran = run.launch(next);
    memory.retire(next.salt);
    if (ran.status != VerdictClass::ok) return did_not_run(ran);
    Verdict again = run.judge(next);
    if (again.verdict != VerdictClass::ok) return run.difference(first, next, std::move(again));
    run.look_beside(v, kInLaterLaunch);
    if (v.verdict != VerdictClass::ok) return v;
  }
  return v;
}

} // namespace mqalab
