// The trial of mqa_top_k.  Columns that are no candidates hold NaN in the first launch and numbers above all
// others in the second.  Without order a second launch may choose others of those that tie, so it is judged,
// not compared.
#include "fuzz/guards.hpp"
#include "fuzz/judge_top_k.hpp"
#include "fuzz/production.hpp"
#include "fuzz/relaunch.hpp"
#include "fuzz/signature.hpp"
#include "fuzz/trials.hpp"
#include "refimpl/top_k_data.hpp"

#include <fmt/format.h>

#include <optional>

namespace mqalab {
namespace {

// Far more than one wave needs, even if it did its row alone.
int64_t most_instructions(const Problem& p) { return 4'000'000 + 1'000 * p.max_model_len; }

class TopKTrial {
public:
  TopKTrial(TrialMemory& memory, const Case& c, const Fault* fault, const OracleOptions& options)
      : memory_(memory), fault_(fault), options_(options), problem_(resolve(c)),
        cells_(index_cells(problem_)), watch_(cells_), data_(c.data),
        logits_(top_k_logits(problem_, data_, Poison::nan_codes)) {
    context_lens().put(problem_.context_lens);
    starts().put(problem_.row_starts);
  }

  LaunchResult launch_with(const Setup& setup, std::vector<uint32_t>& cells) {
    put_logits(setup.other_poison);
    indices().resize(problem_.rows() * problem_.indices_stride);
    indices().prefill(watch_.windows, setup.salt);
    const bool on = options_.stress_lds, in_order = setup.schedule == 0;
    apply_stress({on ? setup.schedule : 0, on, on && in_order, most_instructions(problem_)});
    LaunchResult result = finished(launch(arguments()));
    if (result.status == VerdictClass::ok) indices().read(watch_.windows, cells);
    return result;
  }
  Verdict judge_first(const Setup& setup, const std::vector<uint32_t>& cells,
                      std::span<const uint64_t> old_salts) {
    Verdict v = judge_top_k(problem_, candidates(), {watch_, cells, setup.salt, old_salts});
    look_beside(v);
    return v;
  }
  // What the last launch wrote beside its output's cells.
  void look_beside(Verdict& v, std::string_view when = {}) const {
    const GuardedOutput output{"indices", indices(), problem_.rows()};
    if (!look_at_guards(v, {&output, 1}, when))
      look_at_inputs(
          v, first_changed({{"logits", logits()}, {"context_lens", context_lens()}, {"starts", starts()}}),
          when);
  }
  std::vector<Deviation> differences_of(const Setup& first, const std::vector<uint32_t>& cells,
                                        const Setup& next, const std::vector<uint32_t>& again) const {
    if (!problem_.stable)
      return judge_top_k_cells(problem_, candidates(), {watch_, again, next.salt, {}}).deviations;
    return differences(cells_, {watch_, cells, first.salt, {}}, {watch_, again, next.salt, {}});
  }
  void report_difference(Verdict& v, const Cause& cause, const std::vector<uint32_t>& at_first) const {
    const Region region = region_of(cells_, 0, cause.cells);
    const Deviation& first = cause.cells.front();
    v.verdict = cause.verdict, v.signature = {cause.verdict, cause.pattern, region.name};
    v.cells_bad = static_cast<int64_t>(cause.cells.size());
    const int64_t element = first.row * problem_.indices_stride + first.column;
    const auto was = static_cast<int32_t>(at_first[static_cast<size_t>(watch_.cell_of(element))]),
               then = static_cast<int32_t>(first.got);
    v.first_bad = {{first.row, first.column, static_cast<float>(then), static_cast<double>(was), 0,
                    "of a launch after the first", position_text(first)}};
    v.message = fmt::format("{}: {} indices differ between launches: {}; {}. First: {}, {} at first, then {}",
                            name(v.verdict), v.cells_bad, cause.pattern, in_positions(region.detail),
                            position_text(first), was, then);
  }

private:
  GuardedWords& indices() const { return memory_.outputs[0]; }
  InputBuffer& logits() const { return memory_.buffers[0]; }
  InputBuffer& context_lens() const { return memory_.buffers[1]; }
  InputBuffer& starts() const { return memory_.buffers[2]; }
  Candidates candidates() const {
    return [this](int64_t row) { return top_k_candidates(problem_, data_, row); };
  }

  void put_logits(bool other_poison) {
    if (uploaded_ == other_poison) return;
    if (other_poison)
      logits().put(top_k_logits(problem_, data_, Poison::large_finite));
    else
      logits().put(logits_);
    uploaded_ = other_poison;
  }
  mqa_top_k_args arguments() const {
    mqa_top_k_args a = top_k_shape(problem_);
    a.logits = reinterpret_cast<const float*>(logits().data());
    a.context_lens = reinterpret_cast<const int32_t*>(context_lens().data());
    a.starts = problem_.row_starts.empty() ? nullptr : reinterpret_cast<const int32_t*>(starts().data());
    a.indices = reinterpret_cast<int32_t*>(indices().data());
    return a;
  }
  LaunchResult launch(const mqa_top_k_args& args) const {
    if (!fault_) return started(production().top_k(&args, nullptr));
    if (fault_->launch.top_k) return started(fault_->launch.top_k(args, nullptr), *fault_);
    return planted_elsewhere(*fault_);
  }

  TrialMemory& memory_;
  const Fault* fault_;
  const OracleOptions& options_;
  Problem problem_, cells_;
  Watch watch_;
  const DataSpec& data_;
  SparseBuffer logits_;
  std::optional<bool> uploaded_;
};

} // namespace

mqa_top_k_args top_k_shape(const Problem& p) {
  mqa_top_k_args a{};
  a.struct_size = sizeof a;
  a.batch = p.batch, a.next_n = p.next_n, a.k = p.k, a.stable = p.stable, a.columns = p.max_model_len;
  a.logits_stride = p.logits_stride, a.indices_stride = p.indices_stride;
  a.lens_per_row = p.lens_per_row, a.context_lens_stride = p.lens_per_row ? p.next_n : 1;
  return a;
}

Verdict try_top_k(TrialMemory& memory, const Case& c, const Fault* fault, const OracleOptions& options) {
  TopKTrial trial(memory, c, fault, options);
  const Setup first{memory.fresh_salt()};
  std::vector<uint32_t> cells, again;
  LaunchResult ran = trial.launch_with(first, cells);
  if (ran.status != VerdictClass::ok) return did_not_run(ran);
  const std::vector<uint64_t> old_salts(memory.old_salts.begin(), memory.old_salts.end());
  Verdict v = trial.judge_first(first, cells, old_salts);
  memory.retire(first.salt);
  for (int i = 1; i <= launches_after_first(options) && v.verdict == VerdictClass::ok; ++i) {
    const Setup next = shaken(options, first, memory.fresh_salt(), static_cast<uint64_t>(i));
    ran = trial.launch_with(next, again);
    memory.retire(next.salt);
    if (ran.status != VerdictClass::ok) return did_not_run(ran);
    auto seen = trial.differences_of(first, cells, next, again);
    if (seen.empty()) {
      trial.look_beside(v, kInLaterLaunch);
      continue;
    }
    const auto differs = [&](const Setup& setup) -> std::optional<std::vector<Deviation>> {
      std::vector<uint32_t> other;
      if (trial.launch_with(setup, other).status != VerdictClass::ok) return {};
      return trial.differences_of(first, cells, setup, other);
    };
    trial.report_difference(v, cause_of(first, next, std::move(seen), differs), cells);
  }
  return v;
}

} // namespace mqalab
