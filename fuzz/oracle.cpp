// The order of questions: legal? did it run? written set, guards, classes, numbers; then a second launch with
// another prefill, other poison and another schedule, which must agree bitwise.  Only when it does not are
// more launches spent on telling the causes apart.
#include "fuzz/oracle.hpp"

#include "fuzz/judge.hpp"
#include "fuzz/refusal.hpp"
#include "fuzz/signature.hpp"
#include "fuzz/splitmix.hpp"
#include "fuzz/trials.hpp"

#include <fmt/format.h>

#include <bit>
#include <cstring>
#include <new>

namespace mqalab {
namespace {

constexpr uint32_t kRunPrefill = 0x7fc0dead;

// How one launch differs from another of the same case.
struct Setup {
  uint64_t salt = 0; // of the prefill
  bool other_poison = false;
  uint64_t schedule = 0;
};

// An endless loop ends soon, an honest wave never: far more than one wave needs to do the whole case alone.
int64_t most_instructions(const Problem& p) {
  int64_t tiles = 0;
  for (int64_t row = 0; row < p.rows(); ++row) tiles += (p.limit(row) + 15) / 16 * ((p.heads + 15) / 16);
  return 4'000'000 + 4'000 * tiles + 64 * p.rows() * p.max_model_len;
}

// Does the second poison change any tensor byte?  A pool without a spare token, in dense tensors, holds none.
bool has_poison(const Problem& p) {
  if (p.kv_block_stride_bytes != int64_t{p.block_size} * (p.head_dim + 4)) return true;
  if (p.q_stride_head != p.head_dim || p.q_stride_next != p.heads * p.q_stride_head ||
      p.q_stride_batch != p.next_n * p.q_stride_next || p.weights_stride != p.heads)
    return true;
  int64_t tokens = 0;
  for (const NeededBlock& b : needed_pool(p)) tokens += b.tokens;
  return tokens != p.num_blocks * p.block_size;
}

TablePadding other_padding(const Problem& p, TablePadding first) {
  return first == TablePadding::poisoned || p.num_blocks == 0 ? TablePadding::minus_one
                                                              : TablePadding::poisoned;
}

// A simulator's message names addresses; the pattern keeps only what stays the same from run to run.
std::string fault_pattern(const std::string& message) {
  for (const char* word : {"writes", "reads", "LDS", "hung", "not implemented", "refused"})
    if (message.find(word) != std::string::npos) return word;
  return "error";
}

} // namespace

Verdict plain(VerdictClass verdict, std::string message, std::string pattern) {
  Verdict v;
  v.verdict = verdict, v.message = std::move(message);
  v.signature = {verdict, std::move(pattern), ""};
  return v;
}

Verdict did_not_run(const LaunchResult& ran) {
  Verdict v =
      plain(ran.status, fmt::format("{}: {}", name(ran.status), ran.message), fault_pattern(ran.message));
  v.launched = ran.choice;
  return v;
}

uint64_t TrialMemory::fresh_salt() { return splitmix(0x6d71616c6162ull, ++launches); }

void TrialMemory::retire(uint64_t salt) {
  old_salts.push_front(salt);
  if (old_salts.size() > 8) old_salts.pop_back();
}

struct Oracle::Impl {
  TrialMemory memory;
  bool lost = false;

  Verdict run_trial(const Case&, const Fault*, const OracleOptions&);
  Verdict try_logits(const Case&, const Fault*, const OracleOptions&);
  std::vector<float> all_logits() const {
    std::vector<uint32_t> words;
    memory.outputs[0].read_all(words);
    std::vector<float> out(words.size());
    std::memcpy(out.data(), words.data(), 4 * words.size());
    return out;
  }
};

namespace {

// One case on its way through the questions.
class Trial {
public:
  Trial(DeviceInputs& inputs, GuardedWords& logits, const Case& c, const Fault* fault,
        const OracleOptions& options)
      : inputs_(inputs), logits_(logits), case_(c), fault_(fault), options_(options), problem_(resolve(c)),
        watch_(problem_), tensors_(generate(problem_, c.data, Poison::nan_codes)) {}

  LaunchResult launch_with(const Setup& setup, std::vector<uint32_t>& cells) {
    put_inputs(setup.other_poison);
    logits_.resize(logits_bytes(problem_) / 4);
    logits_.prefill(watch_.windows, setup.salt);
    apply_stress(stress(setup));
    const LaunchResult result = launch(inputs_.args(problem_, logits_.floats()), case_.config, fault_);
    if (result.status == VerdictClass::ok) logits_.read(watch_.windows, cells);
    return result;
  }
  Verdict judge_first(const Setup& setup, const LaunchResult& ran, const std::vector<uint32_t>& cells,
                      const std::vector<uint64_t>& old_salts) {
    const std::vector<RowReference> rows =
        reference(problem_, tensors_, declared_policy(ran.choice.config.variant));
    const Expected due{
        problem_, case_.data, tensors_, rows, is_exact(problem_, case_.data), ran.choice.config.chunk_k};
    Verdict v = judge(due, {watch_, cells, setup.salt, old_salts});
    const bool written_set_is_right = v.verdict == VerdictClass::ok ||
                                      v.verdict == VerdictClass::wrong_class ||
                                      v.verdict == VerdictClass::value;
    if (written_set_is_right) look_at_guards(v);
    if (v.verdict == VerdictClass::ok) look_at_inputs(v);
    v.launched = ran.choice;
    return v;
  }
  Output output(const Setup& setup, const std::vector<uint32_t>& cells) const {
    return {watch_, cells, setup.salt, {}};
  }
  std::vector<Deviation> compare(const Output& a, const Output& b) const {
    return differences(problem_, a, b);
  }
  const Problem& problem() const { return problem_; }

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
  void look_at_guards(Verdict& v) {
    const auto dead = logits_.dead_canary();
    if (!dead) return;
    const int64_t end = problem_.rows() * problem_.logits_stride;
    const std::string where = dead->word < 0
                                  ? fmt::format("{} elements before the first row", -dead->word)
                                  : fmt::format("{} elements behind the last row", dead->word - end);
    v.verdict = VerdictClass::guard;
    v.message = fmt::format("guard: the zone around the logits was written, {}", where);
    v.signature = {v.verdict, "guard written",
                   dead->word < 0 ? "before the first row" : "behind the last row"};
    const int64_t row = dead->word < 0 ? -1 : problem_.rows();
    const int64_t column = dead->word < 0 ? dead->word : dead->word - end;
    v.first_bad = {{row, column, std::bit_cast<float>(dead->got), 0, 0, "outside the logits"}};
    v.cells_bad = 1;
  }
  void look_at_inputs(Verdict& v) {
    const auto where = inputs_.changed(problem_, tensors_);
    if (!where) return;
    v.verdict = VerdictClass::touched;
    v.message = fmt::format("touched: the launch wrote into an input: {}", *where);
    v.signature = {v.verdict, "input changed", where->substr(0, where->find(' '))};
  }

  DeviceInputs& inputs_;
  GuardedWords& logits_;
  const Case& case_;
  const Fault* fault_;
  const OracleOptions& options_;
  Problem problem_;
  Watch watch_;
  Tensors tensors_;
  std::optional<bool> uploaded_;
};

// Which of the three differences between two launches made the results differ?
struct Cause {
  VerdictClass verdict;
  const char* pattern;
  std::vector<Deviation> cells;
};
Cause cause_of(Trial& trial, const Setup& first, const std::vector<uint32_t>& first_cells,
               const Setup& second, std::vector<Deviation> seen) {
  struct Attempt {
    Setup setup;
    VerdictClass verdict;
    const char* pattern;
  };
  const Attempt attempts[] = {
      {first, VerdictClass::unstable, "differs between equal launches"},
      {{first.salt, second.other_poison, first.schedule}, VerdictClass::read, "depends on unneeded memory"},
      {{second.salt, first.other_poison, first.schedule}, VerdictClass::read, "depends on the old output"}};
  for (const Attempt& a : attempts) {
    std::vector<uint32_t> cells;
    if (trial.launch_with(a.setup, cells).status != VerdictClass::ok) continue;
    auto found = trial.compare(trial.output(first, first_cells), trial.output(a.setup, cells));
    if (!found.empty()) return {a.verdict, a.pattern, std::move(found)};
  }
  return {VerdictClass::unstable, "depends on the order of waves", std::move(seen)};
}

void report_difference(Verdict& v, const Problem& p, const Cause& cause) {
  const Region region = region_of(p, v.launched.config.chunk_k, cause.cells);
  v.verdict = cause.verdict, v.signature = {cause.verdict, cause.pattern, region.name};
  v.cells_bad = static_cast<int64_t>(cause.cells.size());
  for (const Deviation& d : cause.cells) {
    if (v.first_bad.size() == 8) break;
    v.first_bad.push_back({d.row, d.column, std::bit_cast<float>(d.got), d.expected, 0,
                           "expected is what the first launch left"});
  }
  const BadCell& cell = v.first_bad.front();
  v.message =
      fmt::format("{}: {} cells differ between launches: {}; {}. First: row {} column {}, {} and then {}",
                  name(v.verdict), v.cells_bad, cause.pattern, region.detail, cell.row, cell.column,
                  shown(cell.expected), shown(cell.got));
}

// Fresh setups for the launches after the first: each shakes everything that must not matter.
Setup shaken(const OracleOptions& o, const Setup& first, uint64_t salt, uint64_t index) {
  return {o.second_sentinel ? salt : first.salt, o.read_set && index % 2 == 1, index};
}

Verdict after_a_fault(Verdict v) {
  v.message += "; the device is lost to this process, end it";
  return v;
}

} // namespace

Verdict Oracle::Impl::run_trial(const Case& c, const Fault* fault, const OracleOptions& options) {
  switch (c.op) {
  case Operation::top_k: return try_top_k(memory, c, fault, options);
  case Operation::cache_write: return try_cache_write(memory, c, fault, options);
  case Operation::cache_gather: return try_cache_gather(memory, c, fault, options);
  case Operation::indexer: return try_indexer(memory, c, fault, options);
  default: return try_logits(c, fault, options);
  }
}

Verdict Oracle::Impl::try_logits(const Case& c, const Fault* fault, const OracleOptions& options) {
  auto& old_salts = memory.old_salts;
  Trial trial(memory.inputs, memory.outputs[0], c, fault, options);
  const Setup first{memory.fresh_salt()};
  std::vector<uint32_t> cells, again;
  LaunchResult ran = trial.launch_with(first, cells);
  if (ran.status != VerdictClass::ok) return did_not_run(ran);
  Verdict v = trial.judge_first(first, ran, cells, {old_salts.begin(), old_salts.end()});
  memory.retire(first.salt);
  if (v.verdict != VerdictClass::ok) return v;
  const int more = std::max(options.repeats - 1, options.second_sentinel || options.read_set ? 1 : 0);
  for (int i = 1; i <= more; ++i) {
    const Setup next = shaken(options, first, memory.fresh_salt(), static_cast<uint64_t>(i));
    ran = trial.launch_with(next, again);
    memory.retire(next.salt);
    if (ran.status != VerdictClass::ok) return did_not_run(ran);
    auto seen = trial.compare(trial.output(first, cells), trial.output(next, again));
    if (seen.empty()) continue;
    report_difference(v, trial.problem(), cause_of(trial, first, cells, next, std::move(seen)));
    return v;
  }
  return v;
}

Policy declared_policy([[maybe_unused]] int32_t variant) {
  Policy policy;
#ifdef MQA_PLATFORM_NVIDIA
  policy.accumulation = variant == MQA_VARIANT_WGMMA ? Accumulation::wgmma_fp8 : Accumulation::hmma16;
#endif
  return policy;
}

Oracle::Oracle() : impl_(std::make_unique<Impl>()) {}
Oracle::~Oracle() = default;
bool Oracle::device_lost() const { return impl_->lost; }

Verdict Oracle::check(const Case& c, const Fault* fault, const OracleOptions& options) {
  if (impl_->lost)
    return plain(VerdictClass::none, "none: the device was lost to this process by an earlier fault");
  if (const auto why = why_outside_contract(c); !why.empty()) return check_refusal(c, why);
  if (const auto why = why_illegal(c); !why.empty()) return plain(VerdictClass::none, "none: " + why);
  try {
    if (!forget_errors())
      return plain(VerdictClass::none, "none: the device reports an error before the launch");
    Verdict v = impl_->run_trial(c, fault, options);
    if (v.verdict != VerdictClass::fault && v.verdict != VerdictClass::hang) return v;
    impl_->lost = !forget_errors();
    return impl_->lost ? after_a_fault(std::move(v)) : v;
  } catch (const DeviceError& e) {
    return plain(VerdictClass::none, fmt::format("none: {}", e.what()));
  } catch (const std::bad_alloc&) {
    return plain(VerdictClass::none, "none: out of host memory");
  }
}

std::vector<float> Oracle::run(const Case& c, const Fault* fault, mqa_choice* launched, std::string* error) {
  std::vector<float> out;
  try {
    const Problem p = resolve(c);
    impl_->memory.inputs.upload(p, generate(p, c.data, Poison::nan_codes));
    impl_->memory.outputs[0].resize(logits_bytes(p) / 4);
    impl_->memory.outputs[0].prefill_all(kRunPrefill);
    apply_stress({0, false, false, most_instructions(p)});
    const LaunchResult ran = launch(impl_->memory.inputs.args(p, impl_->memory.outputs[0].floats()), c.config, fault);
    if (launched) *launched = ran.choice;
    if (ran.status == VerdictClass::ok)
      out = impl_->all_logits();
    else
      *error = fmt::format("{}: {}", name(ran.status), ran.message), impl_->lost = !forget_errors();
  } catch (const DeviceError& e) {
    *error = e.what();
  } catch (const std::bad_alloc&) {
    *error = "out of host memory";
  }
  return out;
}

} // namespace mqalab
