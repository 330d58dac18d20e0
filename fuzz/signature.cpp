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

// A byte in e4m3fnuz is half of what it is in e4m3fn.
std::string_view flavour_of(const Problem& p, double ratio) {
  const double one = p.fp8 == MQA_E4M3FN ? 0.5 : 2;
  return ratio == one         ? ", as the other FP8 flavour of q or k gives"
         : ratio == one * one ? ", as the other FP8 flavour of q and k gives"
                              : "";
}

std::string ratio_pattern(const Expected& due, const std::vector<Deviation>& sample) {
  const auto all_have = [&](double ratio) {
    return most(sample, [&](auto& d) { return is_ratio(due, d, ratio); });
  };
  for (int e = 1; e <= 8; ++e) {
    const double up = std::ldexp(1.0, e), down = std::ldexp(1.0, -e);
    if (all_have(up)) return fmt::format("ratio {}{}", 1 << e, flavour_of(due.problem, up));
    if (all_have(down)) return fmt::format("ratio 1/{}{}", 1 << e, flavour_of(due.problem, down));
  }
  return all_have(-1) ? "negated" : "";
}

// got / expected is a power of two, another one from cell to cell: the scale of another token.
bool is_some_power_of_two(const Deviation& d) {
  int exponent;
  return d.expected != 0 && std::frexp(number(d) / d.expected, &exponent) == 0.5;
}

double error_of(const Deviation& d) { return std::abs(number(d) - d.expected); }
bool is_within_bounds(const Deviation& d, double bounds) { return error_of(d) <= bounds * d.bound; }
bool is_small(const Deviation& d) { return error_of(d) <= std::ldexp(std::abs(d.expected), -6); }

// A drift past the bound, or fewer bits somewhere; "" for neither.
std::string small_pattern(const Expected& due, const std::vector<Deviation>& sample) {
  if (!due.exact && most(sample, [](auto& d) { return is_within_bounds(d, 8); }))
    return "small numeric, up to 8 bounds";
  if (!most(sample, is_small)) return "";
  return due.exact ? "small numeric" : "small numeric, above 8 bounds";
}

// ---- displaced ----
int64_t slot_due(const Problem& p, const Deviation& d) {
  if (d.column < p.first(d.row) || d.column >= p.limit(d.row)) return -1;
  return p.block_at(d.row, d.column) * int64_t{p.block_size} + d.column % p.block_size;
}

// The address code leaves no doubt.
std::string slot_pattern(const Expected& due, const std::vector<Deviation>& sample) {
  const Problem& p = due.problem;
  if (!most(sample, [&](auto& d) { return slot_read(due, d) >= 0; })) return "";
  if (p.block_size == 1) return "displaced slot";
  const auto same = [&](auto part) {
    return most(sample, [&](auto& d) { return part(slot_read(due, d)) == part(slot_due(p, d)); });
  };
  const int64_t size = p.block_size;
  return same([&](int64_t slot) { return slot % size; })   ? "displaced slot, the same one of another block"
         : same([&](int64_t slot) { return slot / size; }) ? "displaced slot, another one of the same block"
                                                           : "displaced slot, of another block";
}

struct Move {
  Deviation to;
  CellPlace from;
};
template <class Predicate> bool most_moves(const std::vector<Move>& moves, Predicate holds) {
  return 10 * static_cast<size_t>(std::ranges::count_if(moves, holds)) >= 9 * moves.size();
}

// How far, where it is the same everywhere; else whether the columns lie alike in their blocks.
std::string column_move(const Problem& p, const std::vector<Move>& moves) {
  const auto distance = [](const Move& m) { return m.from.column - m.to.column; };
  const int64_t first = distance(moves.front());
  if (moves.size() > 1 && most_moves(moves, [&](auto& m) { return distance(m) == first; }))
    return fmt::format(", by {:+}", first);
  const bool blocks =
      p.block_size > 1 && most_moves(moves, [&](auto& m) { return distance(m) % p.block_size == 0; });
  return blocks ? ", the same one of another block" : "";
}

std::string displaced_pattern(const Expected& due, const ValueIndex& index,
                              const std::vector<Deviation>& sample) {
  const Problem& p = due.problem;
  std::vector<Move> moves;
  for (const Deviation& d : sample)
    if (const auto from = index.find(d)) moves.push_back({d, *from});
  if (10 * moves.size() < 9 * sample.size() || !index.is_more_than_chance(moves.size())) return "";
  const auto same_column = [](const Move& m) { return m.from.column == m.to.column; };
  if (most_moves(moves, [](auto& m) { return m.from.row == m.to.row; }))
    return "displaced column" + column_move(p, moves);
  const int64_t rows = std::max<int64_t>(p.rows(), 1);
  if (is_per_head(p.op) &&
      most_moves(moves, [&](auto& m) { return same_column(m) && m.from.row % rows == m.to.row % rows; }))
    return "displaced head";
  return most_moves(moves, same_column) ? "displaced row" : "displaced";
}

// The strongest evidence first: a decoded slot names one cell in 2^24, a common ratio every bit of every
// cell; that wrong values occur elsewhere, too, may be an accident.
std::string value_pattern(const Expected& due, const ValueIndex& index,
                          const std::vector<Deviation>& sample) {
  if (most(sample, [](auto& d) { return number(d) == 0; })) return "zero";
  if (auto slot = slot_pattern(due, sample); !slot.empty()) return slot;
  if (auto small = small_pattern(due, sample); !small.empty() && !due.exact) return small;
  if (auto ratio = ratio_pattern(due, sample); !ratio.empty()) return ratio;
  if (auto displaced = displaced_pattern(due, index, sample); !displaced.empty()) return displaced;
  if (due.exact && most(sample, is_some_power_of_two)) return "scale";
  const auto small = small_pattern(due, sample);
  return small.empty() ? "garbage" : small;
}

std::string touched_pattern(const ValueIndex& index, const std::vector<Deviation>& sample) {
  const auto found = std::ranges::count_if(sample, [&](auto& d) { return index.find(d).has_value(); });
  const auto count = static_cast<size_t>(found);
  return 10 * count >= 9 * sample.size() && index.is_more_than_chance(count) ? "displaced"
                                                                             : class_pattern(sample);
}

// "row 3 column 17", and the slot that lies there.
std::string place_text(const Problem& p, const CellPlace& place) {
  std::string text = fmt::format("{} column {}", row_text(p, place.row), place.column);
  if (p.block_size > 1 && !is_per_head(p.op))
    text += fmt::format(" (slot {} of block {})", place.column % p.block_size,
                        p.block_at(place.row, place.column));
  return text;
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
  if (const auto from = index.find(d)) return "equals " + place_text(p, *from);
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
  const Region region = region_of(due.problem, due.chunk_tokens, bad, due.splits);
  v.signature = {v.verdict, pattern_with(due, index, bad), region.name};
  for (const Deviation& d : bad.first(std::min(bad.size(), kShown)))
    v.first_bad.push_back({d.row, d.column, number(d), d.expected, d.bound, note_of(due, index, d)});
  v.message = described(due.problem, v, region);
}

} // namespace mqalab
