// See gate.hpp.  Odd: a bucket of far-apart logits keeps its distance here too (sparse memory makes that
// cheap), because what it must catch is a 32-bit offset.
#include "tune/gate.hpp"
#include "fuzz/device.hpp"
#include "tune/call.hpp"

#include "kernels/problem_key.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

namespace mqalab {
namespace {

constexpr int64_t kMostTokens = 3 * 1024 + 17; // three of the largest chunks and a bit
constexpr int kRepeats = 3;

// Columns of the gate's cases: enough for three chunks and a part, for every split to own something, within
// bounds.
int64_t edge_columns(const Case& problem, const mqa_config& config) {
  const int64_t wanted =
      int64_t{config.chunk_k} * std::max(3, std::min(config.split_kv + 1, 9)) + config.chunk_k / 2 + 1;
  return std::min(
      {problem.shape.max_model_len, wanted, std::max<int64_t>(kMostTokens, 3 * config.chunk_k + 17)});
}

std::vector<int32_t> edge_lengths(const Case& problem, const mqa_config& config, int64_t columns) {
  const int64_t chunk = config.chunk_k, block = problem.shape.block_size;
  const int64_t split = chunk * (columns / chunk / std::max(1, config.split_kv));
  std::set<int64_t> lengths;
  for (const int64_t edge : {int64_t{1}, chunk, 3 * chunk, block, split, columns})
    for (const int64_t length : {edge - 1, edge, edge + 1})
      lengths.insert(std::clamp<int64_t>(length, 0, columns));
  return {lengths.begin(), lengths.end()};
}

// As far apart as the bucket's rows are, or padded by an odd amount.
int64_t edge_stride(const Case& problem, int64_t columns, int64_t rows) {
  const Problem full = resolve(problem);
  const auto kind = static_cast<mqa::StrideClass>(problem_key(shape_call(full)).stride_class);
  if (kind == mqa::StrideClass::far)
    return std::max(columns, ((int64_t{1} << 29) / std::max<int64_t>(1, rows - 2)) + 1);
  return kind == mqa::StrideClass::padded ? columns + 13 : 0;
}

std::string status_of(VerdictClass verdict) {
  switch (verdict) {
  case VerdictClass::ok: return "ok";
  case VerdictClass::rejected: return "invalid";
  case VerdictClass::unstable: return "nondeterministic";
  case VerdictClass::fault: return "fault";
  case VerdictClass::hang: return "timeout";
  default: return "wrong_result";
  }
}

} // namespace

namespace {

// One sequence an edge, in a shuffled pool.
void spread_over_sequences(Case& c, const std::vector<int32_t>& lengths) {
  c.shape.context_lens.clear();
  for (const int32_t length : lengths)
    for (int copy = 0; copy < (c.shape.lens_per_row ? c.shape.next_n : 1); ++copy)
      c.shape.context_lens.push_back(std::max(0, length - copy));
  c.shape.batch = static_cast<int32_t>(lengths.size());
}
// One row an edge; every other row starts in the middle of what it sees.
void spread_over_rows(Case& c, const std::vector<int32_t>& lengths) {
  c.shape.context_lens = lengths;
  c.shape.next_n = static_cast<int32_t>(lengths.size());
  c.shape.starts.assign(lengths.size(), 0);
  for (size_t row = 1; row < lengths.size(); row += 2) c.shape.starts[row] = lengths[row] / 2;
}

} // namespace

std::vector<Case> edge_cases(const Case& problem, const mqa_config& config) {
  Case c;
  c.op = problem.op;
  c.shape = problem.shape;
  c.config = config;
  c.shape.num_blocks = 0;
  c.shape.max_model_len = edge_columns(problem, config);
  const auto lengths = edge_lengths(problem, config, c.shape.max_model_len);
  const bool prefill = c.op == Operation::prefill_logits, paged = !prefill && !is_ragged(c.op);
  (prefill ? spread_over_rows : spread_over_sequences)(c, lengths);
  c.strides.logits = edge_stride(problem, c.shape.max_model_len, int64_t{c.shape.batch} * c.shape.next_n);
  std::vector<Case> cases(2, c);
  cases[0].data = {Lane::exact, Pattern::general, 1, {}};
  cases[1].data = {Lane::numeric, Pattern::general, 2, {}};
  if (!prefill) cases[0].block_table.mode = TableMode::shuffled;
  if (!prefill) cases[1].block_table.mode = paged ? TableMode::reversed : TableMode::strided;
  return cases;
}

Certification certify(Oracle& oracle, const Case& problem, const Candidate& candidate) {
  Certification result{"ok", "", "", "", 0};
  OracleOptions options;
  for (const Case& c : edge_cases(problem, candidate.config)) {
    options.repeats = result.cases == 0 ? kRepeats : 1;
    const Verdict verdict = oracle.check(c, candidate.fault, options);
    ++result.cases;
    result.edge_shapes = fmt::format("lengths {}; exact and numeric; {} repeats",
                                     fmt::join(c.shape.context_lens, " "), kRepeats);
    if (verdict.verdict == VerdictClass::ok) continue;
    // No verdict says nothing of the configuration: a quarantine for a machine's trouble would outlive it.
    if (verdict.verdict == VerdictClass::none) throw DeviceError(verdict.message);
    result.status = status_of(verdict.verdict);
    result.evidence = fmt::format("{}: {}", name(verdict.verdict), verdict.message);
    result.replay = to_json(c, -1);
    return result;
  }
  return result;
}

} // namespace mqalab
