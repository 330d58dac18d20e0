// The pattern is voted for by a sample of the bad cells: nine in ten must agree, so that a few values that
// are right or equal by chance do not decide.
#include "fuzz/signature.hpp"

#include "fuzz/displaced.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>

namespace mqalab {
namespace {

constexpr size_t kSample = 64;
constexpr size_t kShown = 8;

float number(const Deviation& d) { return std::bit_cast<float>(d.got); }

std::vector<Deviation> sample_of(std::span<const Deviation> all) {
  std::vector<Deviation> sample;
  const size_t count = std::min(all.size(), kSample);
  for (size_t i = 0; i < count; ++i) sample.push_back(all[i * all.size() / count]);
  return sample;
}

template <class Predicate> bool most(const std::vector<Deviation>& sample, Predicate holds) {
  return 10 * static_cast<size_t>(std::count_if(sample.begin(), sample.end(), holds)) >= 9 * sample.size();
}

std::string_view class_of(double v) {
  if (std::isnan(v)) return "NaN";
  if (std::isinf(v)) return v > 0 ? "+inf" : "-inf";
  return "value";
}

// The commonest "got where expected" among the sample.
std::string class_pattern(const std::vector<Deviation>& sample) {
  std::map<std::string, size_t> votes;
  for (const Deviation& d : sample)
    ++votes[fmt::format("{} where {}", class_of(number(d)), d.promised ? class_of(d.expected) : "nothing")];
  return std::max_element(votes.begin(), votes.end(), [](auto& a, auto& b) { return a.second < b.second; })
      ->first;
}

bool is_ratio(const Expected& due, const Deviation& d, double ratio) {
  const double slack = due.exact ? 0 : std::abs(ratio) * d.bound;
  return d.expected != 0 && std::abs(number(d) - ratio * d.expected) <= slack;
}

std::string ratio_pattern(const Expected& due, const std::vector<Deviation>& sample) {
  const auto all_have = [&](double ratio) {
    return most(sample, [&](auto& d) { return is_ratio(due, d, ratio); });
  };
  for (int e = 1; e <= 8; ++e) {
    if (all_have(std::ldexp(1.0, e))) return fmt::format("ratio {}", 1 << e);
    if (all_have(std::ldexp(1.0, -e))) return fmt::format("ratio 1/{}", 1 << e);
  }
  return all_have(-1) ? "negated" : "";
}

// got / expected is a power of two, another one from cell to cell: the scale of another token.
bool is_some_power_of_two(const Deviation& d) {
  int exponent;
  return d.expected != 0 && std::frexp(number(d) / d.expected, &exponent) == 0.5;
}

bool is_small(const Expected& due, const Deviation& d) {
  const double error = std::abs(number(d) - d.expected);
  return due.exact ? error <= std::ldexp(std::abs(d.expected), -6) : error <= 8 * d.bound;
}

std::string displaced_pattern(const Expected& due, const ValueIndex& index,
                              const std::vector<Deviation>& sample) {
  if (most(sample, [&](auto& d) { return slot_read(due, d) >= 0; })) return "displaced slot";
  size_t same_row = 0, same_column = 0, anywhere = 0;
  for (const Deviation& d : sample)
    if (const auto from = index.find(d))
      ++anywhere, same_row += from->row == d.row,
          same_column += from->column == d.column && from->row != d.row;
  if (10 * anywhere < 9 * sample.size()) return "";
  return 10 * same_row >= 9 * anywhere      ? "displaced column"
         : 10 * same_column >= 9 * anywhere ? "displaced row"
                                            : "displaced";
}

std::string value_pattern(const Expected& due, const ValueIndex& index,
                          const std::vector<Deviation>& sample) {
  if (most(sample, [](auto& d) { return number(d) == 0; })) return "zero";
  if (!due.exact && most(sample, [&](auto& d) { return is_small(due, d); })) return "small numeric";
  if (auto ratio = ratio_pattern(due, sample); !ratio.empty()) return ratio;
  if (auto displaced = displaced_pattern(due, index, sample); !displaced.empty()) return displaced;
  if (due.exact && most(sample, is_some_power_of_two)) return "scale";
  return most(sample, [&](auto& d) { return is_small(due, d); }) ? "small numeric" : "garbage";
}

std::string touched_pattern(const ValueIndex& index, const std::vector<Deviation>& sample) {
  return most(sample, [&](auto& d) { return index.find(d).has_value(); }) ? "displaced"
                                                                          : class_pattern(sample);
}

std::string note_of(const Expected& due, const ValueIndex& index, const Deviation& d) {
  const Problem& p = due.problem;
  if (d.kind == VerdictClass::untouched) return "still holds the prefill";
  if (d.kind == VerdictClass::stale) return "holds the prefill of an earlier launch";
  const bool has_value = d.column >= p.first(d.row) && d.column < p.limit(d.row);
  if (const int64_t slot = slot_read(due, d); slot >= 0 && has_value) {
    const int64_t read = slot / p.block_size, wanted = p.block_at(d.row, d.column);
    if (p.op == Operation::prefill_logits) return fmt::format("key {} instead of key {}", read, wanted);
    return fmt::format("slot {} of block {} instead of slot {} of block {}", slot % p.block_size, read,
                       d.column % p.block_size, wanted);
  }
  if (const auto from = index.find(d))
    return fmt::format("equals {} column {}", row_text(p, from->row), from->column);
  return d.promised ? "" : "must not be written";
}

std::string described(const Problem& p, const Verdict& v, const Region& region) {
  const BadCell& first = v.first_bad.front();
  return fmt::format("{}: {} of {} cells are wrong, {}; {}. First: {} column {}, expected {}, got {}{}{}",
                     name(v.verdict), v.cells_bad, v.cells_checked, v.signature.pattern, region.detail,
                     row_text(p, first.row), first.column,
                     v.verdict == VerdictClass::touched ? "no write" : shown(first.expected),
                     shown(first.got), first.note.empty() ? "" : "; ", first.note);
}

std::string pattern_with(const Expected& due, const ValueIndex& index, std::span<const Deviation> bad) {
  const std::vector<Deviation> sample = sample_of(bad);
  switch (bad.front().kind) {
  case VerdictClass::untouched: return "untouched";
  case VerdictClass::stale: return "stale";
  case VerdictClass::touched: return touched_pattern(index, sample);
  case VerdictClass::value: return value_pattern(due, index, sample);
  default: return class_pattern(sample);
  }
}

} // namespace

std::string row_text(const Problem& p, int64_t output_row) {
  if (!is_per_head(p.op) || output_row < 0 || output_row >= p.output_rows())
    return fmt::format("row {}", output_row);
  return fmt::format("head {} row {}", output_row / p.rows(), output_row % p.rows());
}

std::string pattern_of(const Expected& due, const Output& out, std::span<const Deviation> bad) {
  return pattern_with(due, ValueIndex(due, out), bad);
}

void explain(Verdict& v, const Expected& due, const Output& out, std::span<const Deviation> bad) {
  const ValueIndex index(due, out);
  const Region region = region_of(due.problem, due.chunk_tokens, bad);
  v.signature = {v.verdict, pattern_with(due, index, bad), region.name};
  for (const Deviation& d : bad.first(std::min(bad.size(), kShown)))
    v.first_bad.push_back({d.row, d.column, number(d), d.expected, d.bound, note_of(due, index, d)});
  v.message = described(due.problem, v, region);
}

} // namespace mqalab
