// The trial of every operation that makes logits: did it run? written set, guards, classes, numbers; then a
// second launch with another prefill, other poison and another schedule, which must agree bitwise.  Only when
// it does not are more launches spent on telling the causes apart.
#include "fuzz/judge.hpp"
#include "fuzz/logits_output.hpp"
#include "fuzz/relation_trial.hpp"
#include "fuzz/relaunch.hpp"
#include "fuzz/signature.hpp"
#include "fuzz/trials.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

namespace mqalab {
namespace {

// An endless loop ends soon, an honest wave never: far more than one wave needs to do the whole case alone,
// on the slow path, too.
int64_t most_instructions(const Problem& p) {
  int64_t tiles = 0;
  for (int64_t row = 0; row < p.rows(); ++row)
    tiles += (p.limit(row) - p.first(row) + 15) / 16 * ((p.heads + 15) / 16);
  const int64_t planes = p.op == Operation::head_sum ? p.heads : 1;
  return 4'000'000 + (4'000 + 100 * p.head_dim) * tiles + 64 * planes * p.output_rows() * p.max_model_len;
}

// Does the second poison change any tensor byte?  A pool without a spare token, in dense tensors, holds none.
bool has_poison(const Problem& p) {
  const bool prefill = p.op == Operation::prefill_logits;
  if (p.kv_block_stride_bytes != (prefill ? p.head_dim : int64_t{p.block_size} * (p.head_dim + 4)))
    return true;
  if (p.q_stride_head != p.head_dim || p.q_stride_next != p.heads * p.q_stride_head ||
      p.q_stride_batch != p.next_n * p.q_stride_next || p.weights_stride != p.heads ||
      (prefill && p.key_scales_stride != 1))
    return true;
  int64_t tokens = 0;
  for (const NeededBlock& b : needed_pool(p)) tokens += b.tokens;
  return tokens != p.num_blocks * p.block_size;
}

TablePadding other_padding(const Problem& p, TablePadding first) {
  return first == TablePadding::poisoned || p.num_blocks == 0 ? TablePadding::minus_one
                                                              : TablePadding::poisoned;
}

// One case on its way through the questions.
class Trial {
public:
  Trial(TrialMemory& memory, const Case& c, const Fault* fault, const OracleOptions& options)
      : inputs_(memory.inputs), case_(c), fault_(fault), options_(options), problem_(resolve(c)),
        output_(memory, problem_), tensors_(generate(problem_, c.data, Poison::nan_codes)) {}

  LaunchResult launch_with(const Setup& setup, std::vector<uint32_t>& cells) {
    put_inputs(setup.other_poison);
    output_.prefill(setup.salt);
    apply_stress(stress(setup));
    const LaunchResult result = output_.launch(case_.config, fault_);
    if (result.status == VerdictClass::ok) output_.read(cells);
    return result;
  }
  Verdict judge_first(const Setup& setup, const LaunchResult& ran, const std::vector<uint32_t>& cells,
                      const std::vector<uint64_t>& old_salts) {
    const Policy policy = declared_policy(ran.choice.config.variant, fault_);
    const std::vector<RowReference> rows = reference(problem_, tensors_, policy);
    const Expected due{problem_,
                       case_.data,
                       tensors_,
                       rows,
                       is_exact(problem_, case_.data),
                       ran.choice.config.chunk_k,
                       ran.choice.config.split_kv};
    Verdict v = judge(due, {output_.watch(), cells, setup.salt, old_salts});
    look_beside(v);
    v.launched = ran.choice;
    if (!due.exact) v.accumulation = name(policy.accumulation);
    return v;
  }
  // What the last launch wrote beside its outputs' cells.
  void look_beside(Verdict& v, std::string_view when = {}) const {
    if (!look_at_guards(v, output_.guarded(), when)) look_at_inputs(v, inputs_.changed(problem_), when);
  }
  Output output(const Setup& setup, const std::vector<uint32_t>& cells) const {
    return {output_.watch(), cells, setup.salt, {}};
  }
  std::vector<Deviation> compare(const Output& a, const Output& b) const {
    return differences(problem_, a, b);
  }
  const Problem& problem() const { return problem_; }
  const Tensors& tensors() const { return tensors_; }

private:
  // The LDS checker finds the same in every order, so the launch that keeps the order pays for it.
  Stress stress(const Setup& setup) const {
    const bool on = options_.stress_lds, in_order = setup.schedule == 0;
    return {on ? setup.schedule : 0, on, on && in_order, most_instructions(problem_)};
  }
  void put_inputs(bool other_poison) {
    if (uploaded_ && *uploaded_ == other_poison) return;
    const bool same_tensors = uploaded_ && !has_poison(problem_);
    if (!other_poison) {
      if (same_tensors)
        inputs_.upload_table(problem_);
      else
        inputs_.upload(problem_, tensors_);
    } else {
      Problem padded = problem_;
      fill_table_padding(padded, other_padding(problem_, case_.block_table.padding));
      if (same_tensors)
        inputs_.upload_table(padded);
      else
        inputs_.upload(padded, generate(problem_, case_.data, Poison::large_finite));
    }
    uploaded_ = other_poison;
  }
  DeviceInputs& inputs_;
  const Case& case_;
  const Fault* fault_;
  const OracleOptions& options_;
  Problem problem_;
  LogitsOutput output_;
  Tensors tensors_;
  std::optional<bool> uploaded_;
};

void report_difference(Verdict& v, const Problem& p, const Cause& cause) {
  const Region region = region_of(p, v.launched.config.chunk_k, cause.cells, v.launched.config.split_kv);
  v.verdict = cause.verdict, v.signature = {cause.verdict, cause.pattern, region.name};
  v.cells_bad = static_cast<int64_t>(cause.cells.size());
  for (const Deviation& d : cause.cells) {
    if (v.first_bad.size() == 8) break;
    v.first_bad.push_back({d.row, d.column, std::bit_cast<float>(d.got), d.expected, 0,
                           "expected is what the first launch left"});
  }
  const BadCell& cell = v.first_bad.front();
  v.message = fmt::format("{}: {} cells differ between launches: {}; {}. First: {} column {}, {} and then {}",
                          name(v.verdict), v.cells_bad, cause.pattern, region.detail, row_text(p, cell.row),
                          cell.column, shown(cell.expected), shown(cell.got));
}

} // namespace

Verdict try_logits(TrialMemory& memory, const Case& c, const Fault* fault, const OracleOptions& options) {
  auto& old_salts = memory.old_salts;
  Trial trial(memory, c, fault, options);
  const Setup first{memory.fresh_salt()};
  std::vector<uint32_t> cells, again;
  LaunchResult ran = trial.launch_with(first, cells);
  if (ran.status != VerdictClass::ok) return did_not_run(ran);
  Verdict v = trial.judge_first(first, ran, cells, {old_salts.begin(), old_salts.end()});
  memory.retire(first.salt);
  if (v.verdict != VerdictClass::ok) return v;
  const auto differs = [&](const Setup& setup) -> std::optional<std::vector<Deviation>> {
    std::vector<uint32_t> now;
    if (trial.launch_with(setup, now).status != VerdictClass::ok) return {};
    return trial.compare(trial.output(first, cells), trial.output(setup, now));
  };
  for (int i = 1; i <= launches_after_first(options); ++i) {
    const Setup next = shaken(options, first, memory.fresh_salt(), static_cast<uint64_t>(i));
    ran = trial.launch_with(next, again);
    memory.retire(next.salt);
    if (ran.status != VerdictClass::ok) return did_not_run(ran);
    auto seen = trial.compare(trial.output(first, cells), trial.output(next, again));
    if (seen.empty()) {
      trial.look_beside(v, kInLaterLaunch);
      if (v.verdict != VerdictClass::ok) return v;
      continue;
    }
    report_difference(v, trial.problem(), cause_of(first, next, std::move(seen), differs));
    return v;
  }
  const Output ours = trial.output(first, cells);
  for (const Relation r : relations_to_try(c, options)) {
    if (v.verdict != VerdictClass::ok) break;
    try_relation(memory, r,
                 {c, fault, trial.problem(), trial.tensors(), ours, most_instructions(trial.problem())}, v);
  }
  return v;
}

LaunchResult run_logits(TrialMemory& memory, const Case& c, const Fault* fault, std::vector<float>& out) {
  const Problem p = resolve(c);
  memory.inputs.upload(p, generate(p, c.data, Poison::nan_codes));
  LogitsOutput output(memory, p);
  output.prefill_all(kRunPrefill);
  apply_stress({0, false, false, most_instructions(p)});
  const LaunchResult ran = output.launch(c.config, fault);
  if (ran.status != VerdictClass::ok) return ran;
  std::vector<uint32_t> words;
  output.logits().read_all(words);
  out.resize(words.size());
  std::memcpy(out.data(), words.data(), 4 * words.size());
  return ran;
}

} // namespace mqalab
