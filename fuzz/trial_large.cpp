#include "fuzz/trial_large.hpp"

#include "fuzz/device_scan.hpp"
#include "fuzz/judge.hpp"
#include "fuzz/large_sample.hpp"
#include "fuzz/logits_output.hpp"
#include "fuzz/policy.hpp"
#include "fuzz/signature.hpp"
#include "refimpl/compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>

namespace mqalab {
namespace {

constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();
constexpr double kNegInf = -std::numeric_limits<double>::infinity();
constexpr int64_t kBaseShift_elements = 64, kStrideShift_elements = 32; // of the partner

bool found_in(Verdict& v, VerdictClass kind, const Problem& p, int64_t element, const ScanResult& bad,
              double expected, const char* pattern, const char* note) {
  if (bad.count == 0) return false;
  const int64_t row = p.output_row_at(element), column = element - p.output_offset(row);
  if (v.verdict == VerdictClass::ok) {
    v.verdict = kind, v.signature = {kind, pattern, "scattered"};
    v.message = fmt::format("{}: {}, first {} column {}, byte {} of the output", name(kind), note,
                            row_text(p, row), column, 4 * element);
  }
  v.cells_bad += bad.count;
  if (v.first_bad.size() < 8)
    v.first_bad.push_back({row, column, std::bit_cast<float>(bad.got), expected, 0, note});
  return true;
}

// One launch's whole output.
class LargeOutput {
public:
  LargeOutput(DeviceInputs& inputs, std::array<GuardedWords, 2>& memory, const Problem& p, int64_t shift,
              uint64_t salt)
      : p_(p), output_(inputs, memory, p, shift), shift_(shift), salt_(salt) {}

  LaunchResult launch(const mqa_config& config, const Fault* fault) {
    output_.prefill_on_the_device(salt_);
    apply_stress({});
    return output_.launch(config, fault);
  }
  float* first_logit() { return output_.logits().floats() + shift_; }

  // Written set and tails, everywhere.  Classes in the oracle's order.
  void look_at_written_set(Verdict& v) {
    std::vector<RowToScan> rows;
    for (int64_t row = 0; row < p_.output_rows(); ++row) rows.push_back(row_to_scan(row));
    for (const RowToScan& row : rows) v.cells_checked += row.end - row.begin;
    const RowScan seen = scan_rows(reinterpret_cast<const uint32_t*>(output_.logits().data()), rows, salt_);
    look_at(v, VerdictClass::untouched, seen.untouched, kNothing, "untouched",
            "a promised cell was not written");
    look_at(v, VerdictClass::touched, seen.touched, kNothing, "touched",
            "a cell that must not be was written");
    look_at(v, VerdictClass::wrong_class, seen.not_low, kNegInf, "no -inf", "a cell of the tail is not -inf");
    look_at_guards(v, output_.guarded());
  }
  std::vector<uint32_t> read(const SampleWindow& w) {
    std::vector<uint32_t> cells;
    const int64_t start = p_.output_offset(w.row) + shift_;
    const Window window{start + w.begin, start + w.end, 0};
    output_.logits().read({&window, 1}, cells);
    return cells;
  }

private:
  RowToScan row_to_scan(int64_t row) const {
    const int64_t begin = p_.output_offset(row) + shift_;
    const bool has_tail = p_.tail == MQA_TAIL_NEG_INF;
    return {begin, p_.output_end(row) + shift_, begin + p_.first(row), begin + p_.limit(row),
            has_tail ? begin + p_.max_model_len : begin};
  }
  void look_at(Verdict& v, VerdictClass kind, const ScanResult& bad, double expected, const char* pattern,
               const char* note) {
    found_in(v, kind, p_, bad.first - shift_, bad, expected, pattern, note);
  }

  const Problem& p_;
  LogitsOutput output_;
  int64_t shift_;
  uint64_t salt_;
};

void look_at_samples(Verdict& v, const Case& c, const Fault* fault, const Problem& p, LargeOutput& output,
                     Tensors tensors) {
  const bool exact = is_exact(p, c.data);
  const Policy policy = declared_policy(v.launched.config.variant, fault);
  WindowReference due(p, std::move(tensors));
  for (const SampleWindow& w : sample_windows(p, v.launched.config.chunk_k, c.data.seed)) {
    const std::vector<uint32_t> got = output.read(w);
    const RowReference expected = due(w, policy, !exact);
    for (size_t i = 0; i < got.size(); ++i) {
      const float number = std::bit_cast<float>(got[i]);
      const double value = expected.value[i], bound = expected.bound[i];
      if (!exact) v.worst_error_ratio = std::max(v.worst_error_ratio, error_ratio(value, bound, number));
      if (exact ? agrees_exactly(value, number) : agrees(value, bound, number)) continue;
      const auto column = w.begin + static_cast<int64_t>(i);
      if (v.verdict == VerdictClass::ok) {
        v.verdict = VerdictClass::value, v.signature = {v.verdict, "sampled", "scattered"};
        v.message = fmt::format("value: {} column {} should be {} and is {}", row_text(p, w.row), column,
                                shown(value), shown(number));
      }
      ++v.cells_bad;
      if (v.first_bad.size() < 8) v.first_bad.push_back({w.row, column, number, value, bound, "sampled"});
    }
  }
  if (!exact) v.accumulation = name(policy.accumulation);
}

// Another row stride and base.
Problem elsewhere(const Problem& p) {
  Problem other = p;
  other.logits_stride += kStrideShift_elements;
  if (p.logits_stride_head > 0) other.logits_stride_head += p.rows() * kStrideShift_elements;
  return other;
}
// Another division of the same work, where the variant has one.
mqa_config divided_otherwise(mqa_config config) {
  if (config.variant == MQA_VARIANT_WGMMA) return config;
  config.chunk_k = config.chunk_k == 256 ? 128 : 256;
  if (config.variant != MQA_VARIANT_SCHEDULED) config.split_kv = config.split_kv == 1 ? 3 : 1;
  return config;
}

void look_at_partner(TrialMemory& memory, const Fault* fault, const Problem& p, LargeOutput& ours,
                     Verdict& v) {
  const Problem other = elsewhere(p);
  LargeOutput theirs(memory.inputs, memory.partner_outputs, other, kBaseShift_elements, memory.fresh_salt());
  LaunchResult ran = theirs.launch(divided_otherwise(v.launched.config), fault);
  if (ran.status == VerdictClass::rejected) ran = theirs.launch(v.launched.config, fault);
  if (ran.status != VerdictClass::ok) {
    v = did_not_run(ran);
    return;
  }
  std::vector<RowsToCompare> rows;
  for (int64_t row = 0; row < p.output_rows(); ++row) {
    const int64_t first = p.first(row);
    rows.push_back({p.output_offset(row) + first, other.output_offset(row) + first, p.limit(row) - first});
  }
  const ScanResult bad = compare_on_device(ours.first_logit(), theirs.first_logit(), rows, 1);
  if (found_in(v, VerdictClass::relation, p, bad.first, bad, kNothing, "relation large partner",
               "another configuration at another place gives other bits"))
    return;
  const int64_t checked = v.cells_checked;
  theirs.look_at_written_set(v);
  look_at_inputs(v, memory.inputs.changed(p), kInLaterLaunch);
  v.cells_checked = checked;
}

} // namespace

Verdict try_large(TrialMemory& memory, const Case& c, const Fault* fault, const OracleOptions&) {
  const Problem p = resolve(c);
  Tensors tensors = generate(p, c.data, Poison::nan_codes);
  memory.inputs.upload(p, tensors);
  LargeOutput output(memory.inputs, memory.outputs, p, 0, memory.fresh_salt());
  const LaunchResult ran = output.launch(c.config, fault);
  if (ran.status != VerdictClass::ok) return did_not_run(ran);
  Verdict v;
  v.launched = ran.choice;
  output.look_at_written_set(v);
  look_at_inputs(v, memory.inputs.changed(p));
  if (v.verdict == VerdictClass::ok) look_at_samples(v, c, fault, p, output, std::move(tensors));
  if (v.verdict == VerdictClass::ok) look_at_partner(memory, fault, p, output, v);
  return v;
}

} // namespace mqalab
