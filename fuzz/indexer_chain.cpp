#include "fuzz/indexer_chain.hpp"

#include "fuzz/byte_trial.hpp"
#include "fuzz/production.hpp"
#include "refimpl/cache_write.hpp"
#include "refimpl/keys_data.hpp"
#include "refimpl/topk.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

namespace mqalab {
namespace {

// Far more than one wave of any of the three needs, even on the slow path.
int64_t most_instructions(const Problem& p) {
  int64_t tiles = 0;
  for (int64_t row = 0; row < p.rows(); ++row) tiles += (p.limit(row) + 15) / 16 * ((p.heads + 15) / 16);
  return 4'000'000 + (4'000 + 100 * p.head_dim) * tiles + 1'000 * p.max_model_len;
}

Tensors with_written_keys(const Problem& p, const DataSpec& data, const std::vector<int64_t>& slots,
                          const SparseBuffer& keys, Poison poison) {
  Tensors t = generate(p, data, poison);
  for (size_t token = 0; token < slots.size(); ++token)
    if (is_written(p, slots[token]))
      put_token(p, t.kv_cache, slots[token],
                quantise(key_of_token(p, keys, static_cast<int64_t>(token)), p.fp8, p.scale_format));
  return t;
}

// Which step a verdict is about: part of what makes two findings one bug.
Verdict of_step(Verdict v, const char* step) {
  v.message = fmt::format("{}: {}", step, v.message);
  v.signature.pattern = fmt::format("{}: {}", step, v.signature.pattern);
  return v;
}

} // namespace

IndexerChain::IndexerChain(TrialMemory& memory, const Case& c)
    : memory_(memory), case_(c), problem_(resolve(c)), index_problem_(index_cells(problem_)),
      logits_(memory, problem_), index_watch_(index_problem_), slots_(writer_slots(problem_)),
      keys_(make_keys(problem_, c.data, Poison::nan_codes)),
      before_(generate(problem_, c.data, Poison::nan_codes)),
      after_(with_written_keys(problem_, c.data, slots_, keys_, Poison::nan_codes)) {}

void IndexerChain::upload(bool other_poison) {
  if (other_poison) {
    Problem padded = problem_;
    fill_table_padding(padded, TablePadding::minus_one);
    memory_.inputs.upload(padded, generate(problem_, case_.data, Poison::large_finite));
    keys().put(make_keys(problem_, case_.data, Poison::large_finite));
  } else {
    memory_.inputs.upload(problem_, before_);
    keys().put(keys_);
  }
  slots().put(slots_);
}

LaunchResult IndexerChain::launch_write(const Fault* fault) {
  mqa_cache_write_args a = cache_write_shape(problem_);
  a.tokens = static_cast<int64_t>(slots_.size());
  a.keys = keys().data();
  a.slots = reinterpret_cast<const int64_t*>(slots().data());
  // The cache of the logits' arguments is the one that the writer fills.
  a.kv_cache = const_cast<uint8_t*>(memory_.inputs.args(problem_, nullptr).kv_cache);
  if (fault && fault->launch.cache_write) return start_planted(*fault, fault->launch.cache_write, a);
  return started(production().cache_write(&a, nullptr));
}

LaunchResult IndexerChain::launch_top_k(const Fault* fault) {
  mqa_top_k_args a = top_k_shape(problem_);
  a.logits = logits_.logits().floats();
  a.context_lens = memory_.inputs.args(problem_, nullptr).context_lens;
  a.indices = reinterpret_cast<int32_t*>(indices().data());
  if (fault && fault->launch.top_k) return start_planted(*fault, fault->launch.top_k, a);
  return started(production().top_k(&a, nullptr));
}

IndexerRun IndexerChain::run(const Setup& setup, const Fault* fault, const OracleOptions& options) {
  if (fault && !fault->launch.cache_write && !fault->launch.logits && !fault->launch.top_k) {
    IndexerRun refused;
    refused.verdict = did_not_run(planted_elsewhere(*fault));
    return refused;
  }
  upload(setup.other_poison);
  logits_.prefill(setup.salt);
  indices().resize(problem_.rows() * problem_.indices_stride);
  indices().prefill(index_watch_.windows, setup.salt);
  const bool on = options.stress_lds;
  apply_stress({on ? setup.schedule : 0, on, on && setup.schedule == 0, most_instructions(problem_)});
  IndexerRun run;
  if (const LaunchResult ran = finished(launch_write(fault)); ran.status != VerdictClass::ok) {
    run.verdict = of_step(did_not_run(ran), "cache_write");
    return run;
  }
  memory_.inputs.accept_cache();
  // Judged in the order of the steps, but all of them are run: the selection shows what a fault costs.
  const Verdict cache = setup.other_poison ? Verdict{} : judge_cache();
  const Fault* planted = fault && fault->launch.logits ? fault : nullptr;
  const LaunchResult ran = logits_.launch(case_.config, planted);
  if (ran.status != VerdictClass::ok) {
    run.verdict = of_step(did_not_run(ran), "logits");
    return run;
  }
  run.launched = ran.choice;
  if (rows_.empty())
    rows_ = reference(problem_, after_, declared_policy(run.launched.config.variant, planted));
  if (const LaunchResult chose = finished(launch_top_k(fault)); chose.status != VerdictClass::ok) {
    run.verdict = of_step(did_not_run(chose), "top_k");
    return run;
  }
  logits_.logits().read(logits_.watch().windows, run.logits);
  indices().read(index_watch_.windows, run.indices);
  run.verdict = cache.verdict != VerdictClass::ok ? of_step(cache, "cache_write") : judge_logits(setup, run);
  if (run.verdict.verdict == VerdictClass::ok) run.verdict = judge_selection(setup, run);
  if (run.verdict.verdict == VerdictClass::ok)
    look_at_inputs(run.verdict, first_changed({{"keys", keys()}, {"slots", slots()}}));
  if (run.verdict.verdict == VerdictClass::ok) look_at_inputs(run.verdict, memory_.inputs.changed(problem_));
  if (run.verdict.verdict == VerdictClass::ok) run.verdict = judge_whole(setup, run);
  run.verdict.launched = run.launched;
  run.verdict.recall = worst_recall(run);
  return run;
}

// The whole pool byte for byte; the trial of cache_write alone looks closer.
Verdict IndexerChain::judge_cache() const {
  const Problem& p = problem_;
  const uint8_t* device = memory_.inputs.args(p, nullptr).kv_cache;
  const auto differs = [&](int64_t offset, int64_t bytes) {
    std::vector<uint8_t> now(static_cast<size_t>(bytes));
    require(hipMemcpy(now.data(), device + offset, now.size(), hipMemcpyDeviceToHost), "hipMemcpy");
    return std::memcmp(now.data(), after_.kv_cache.data() + offset, now.size()) != 0;
  };
  for (const ByteRange& range : after_.kv_cache.filled()) {
    if (!differs(range.begin, range.end - range.begin)) continue;
    int64_t first = range.begin, last = range.end; // narrowed down to one byte
    while (last - first > 1) {
      const int64_t middle = first + (last - first) / 2;
      (differs(first, middle - first) ? last : first) = middle;
    }
    uint8_t got = 0;
    require(hipMemcpy(&got, device + first, 1, hipMemcpyDeviceToHost), "hipMemcpy");
    const uint8_t expected = after_.kv_cache.data()[first];
    const int64_t block = first / p.kv_block_stride_bytes, inside = first % p.kv_block_stride_bytes;
    const std::string where = fmt::format("block {} byte {}, {}", block, inside,
                                          written_place(block, first).value_or("not written"));
    Verdict v = plain(VerdictClass::value,
                      fmt::format("value: the cache is not what the writer's contract says. First: {}, "
                                  "expected 0x{:02x}, got 0x{:02x}",
                                  where, expected, got),
                      "cache byte");
    v.first_bad = {
        {block, inside, static_cast<float>(got), static_cast<double>(expected), 0, "as bytes", where}};
    v.cells_bad = 1;
    return v;
  }
  return {};
}

// Whose byte it is, if a token's that the writer was given.
std::optional<std::string> IndexerChain::written_place(int64_t block, int64_t byte) const {
  const Problem& p = problem_;
  for (size_t token = 0; token < slots_.size(); ++token) {
    if (!is_written(p, slots_[token]) || slots_[token] / p.block_size != block) continue;
    const auto in_block = static_cast<int32_t>(slots_[token] % p.block_size);
    const int64_t scale = scale_offset_bytes(p, block, in_block);
    if (byte >= scale && byte < scale + 4) return fmt::format("token {} scale", token);
    for (int32_t d = 0; d < p.head_dim; ++d)
      if (value_offset_bytes(p, block, in_block, d) == byte) return fmt::format("token {} dim {}", token, d);
  }
  return {};
}

Verdict IndexerChain::judge_logits(const Setup& setup, const IndexerRun& run) {
  const Expected due{problem_, case_.data, after_, rows_, false, run.launched.config.chunk_k};
  Verdict v = judge(due, {logits_.watch(), run.logits, setup.salt, {}});
  look_at_guards(v, logits_.guarded());
  return v.verdict == VerdictClass::ok ? v : of_step(std::move(v), "logits");
}

Verdict IndexerChain::judge_selection(const Setup& setup, const IndexerRun& run) {
  Verdict v = judge_top_k(problem_, candidates(run), {index_watch_, run.indices, setup.salt, {}});
  const GuardedOutput output{"indices", indices(), problem_.rows()};
  look_at_guards(v, {&output, 1});
  return v.verdict == VerdictClass::ok ? v : of_step(std::move(v), "top_k");
}

Verdict IndexerChain::judge_whole(const Setup& setup, const IndexerRun& run) const {
  Verdict v = judge_end_to_end(problem_, rows_, {index_watch_, run.indices, setup.salt, {}});
  return v.verdict == VerdictClass::ok ? v : of_step(std::move(v), "end to end");
}

Candidates IndexerChain::candidates(const IndexerRun& run) const {
  return [this, &run](int64_t row) {
    std::vector<float> logits(static_cast<size_t>(problem_.limit(row)));
    const Watch& watch = logits_.watch();
    for (size_t column = 0; column < logits.size(); ++column)
      logits[column] = std::bit_cast<float>(
          run.logits[watch.cell_of(row * problem_.logits_stride + static_cast<int64_t>(column))]);
    return logits;
  };
}

std::vector<Deviation> IndexerChain::differences_of(const Setup& first, const IndexerRun& a,
                                                    const Setup& next, const IndexerRun& b) const {
  const Watch& logits_watch = logits_.watch();
  auto found = differences(problem_, {logits_watch, a.logits, first.salt, {}},
                           {logits_watch, b.logits, next.salt, {}});
  if (!found.empty()) return found;
  const Output again{index_watch_, b.indices, next.salt, {}};
  if (!problem_.stable) return judge_top_k_cells(problem_, candidates(b), again).deviations;
  return differences(index_problem_, {index_watch_, a.indices, first.salt, {}}, again);
}

std::vector<double> IndexerChain::recalls(const IndexerRun& run) const {
  std::vector<double> all;
  for (int64_t row = 0; row < problem_.rows() && !run.indices.empty(); ++row)
    all.push_back(selection_recall(std::span<const double>(rows_[static_cast<size_t>(row)].value), 0,
                                   selection_of(problem_, {index_watch_, run.indices, 0, {}}, row),
                                   problem_.k));
  return all;
}

// Rows without columns select nothing.
double IndexerChain::worst_recall(const IndexerRun& run) const {
  const std::vector<double> all = recalls(run);
  double worst = -1;
  for (size_t row = 0; row < all.size(); ++row)
    if (!rows_[row].value.empty()) worst = worst < 0 ? all[row] : std::min(worst, all[row]);
  return worst;
}

} // namespace mqalab
