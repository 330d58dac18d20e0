// Where bad cells lie.  A region is named when the bad cells keep inside it and fill at least two fifths of
// it: relu makes many logits 0, and a wrong 0 that is right by chance must not break up a region.
#include "fuzz/signature.hpp"
#include "kernels/rules.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

namespace mqalab {
namespace {

constexpr double kFilled = 0.4;

struct Extent {
  const Problem& p;
  std::span<const Deviation> bad;
  int64_t first_row, last_row, first_column, last_column;

  Extent(const Problem& problem, std::span<const Deviation> cells) : p(problem), bad(cells) {
    const auto rows =
        std::minmax_element(cells.begin(), cells.end(), [](auto& a, auto& b) { return a.row < b.row; });
    const auto columns =
        std::minmax_element(cells.begin(), cells.end(), [](auto& a, auto& b) { return a.column < b.column; });
    first_row = rows.first->row, last_row = rows.second->row;
    first_column = columns.first->column, last_column = columns.second->column;
  }
  // Columns of a row that get a value, or -inf in a filled tail: [begin, end).
  int64_t begin(int64_t row) const { return p.tail == MQA_TAIL_NEG_INF ? 0 : p.first(row); }
  int64_t end(int64_t row) const { return p.tail == MQA_TAIL_NEG_INF ? p.max_model_len : p.limit(row); }
  // Do the bad cells fill the promised cells at row >= r and column >= c?
  bool fill(int64_t r, int64_t c) const {
    int64_t cells = 0;
    for (; r < p.output_rows(); ++r) cells += std::max<int64_t>(0, end(r) - std::max(begin(r), c));
    return static_cast<double>(bad.size()) >= kFilled * static_cast<double>(cells);
  }
  int64_t first_promised_row() const {
    int64_t r = 0;
    while (r + 1 < p.output_rows() && begin(r) >= end(r)) ++r;
    return r;
  }
  // No promised cell of the rows from `row` on lies before the first bad column.
  bool starts(int64_t row) const {
    int64_t least = p.max_model_len;
    for (; row < p.output_rows(); ++row)
      if (begin(row) < end(row)) least = std::min(least, begin(row));
    return first_column <= least;
  }
  template <class Predicate> bool every(Predicate predicate) const {
    return std::all_of(bad.begin(), bad.end(), predicate);
  }
};

std::string rows_text(const Problem& p, const Extent& x) {
  if (is_per_head(p.op)) return fmt::format("{} to {}", row_text(p, x.first_row), row_text(p, x.last_row));
  return fmt::format("rows {} to {}", x.first_row, x.last_row);
}

// ---- the ends of the splits ----
// Is the column in the last of the chunks that a split owns?
bool ends_a_split(int64_t chunks, int64_t splits, int64_t chunk) {
  for (int64_t s = 0; s < splits; ++s) {
    const mqa::Range own = mqa::Rules::split_range(static_cast<int32_t>(chunks), static_cast<int32_t>(splits),
                                                   static_cast<int32_t>(s));
    if (own.begin < own.end && chunk == own.end - 1) return true;
  }
  return false;
}
// Says something only where a split owns several chunks.
bool in_split_tails(const Extent& x, int64_t chunk_tokens, int64_t splits) {
  if (splits < 2) return false;
  bool several = false;
  const bool inside = x.every([&](const Deviation& d) {
    const int64_t chunks = (x.p.limit(d.row) + chunk_tokens - 1) / chunk_tokens;
    several = several || chunks > splits;
    return ends_a_split(chunks, splits, d.column / chunk_tokens);
  });
  return inside && several;
}

// ---- columns that come again ----
constexpr size_t kLeastColumns = 3;

struct Period {
  int64_t period = 0; // 0: none
  std::vector<int64_t> residues;
  double filled = 0; // share of the promised cells at the residues that are bad
};
// The residues of all bad columns, if they are few of the period's.
Period with_residues(const Extent& x, int64_t period) {
  std::set<int64_t> residues;
  for (const Deviation& d : x.bad) {
    residues.insert(d.column % period);
    if (4 * static_cast<int64_t>(residues.size()) > period) return {};
  }
  int64_t cells = 0;
  for (int64_t row = x.first_row; row <= x.last_row; ++row) {
    const int64_t begin = std::max(x.begin(row), x.first_column),
                  end = std::min(x.end(row), x.last_column + 1);
    for (const int64_t r : residues) { // columns of [begin, end) that are r modulo the period
      const int64_t first = begin + ((r - begin) % period + period) % period;
      if (first < end) cells += (end - 1 - first) / period + 1;
    }
  }
  const double filled = static_cast<double>(x.bad.size()) / static_cast<double>(std::max<int64_t>(cells, 1));
  return {period, {residues.begin(), residues.end()}, filled};
}
// Of those that kernels have, the one whose columns are the fullest, or the shortest of several.
Period period_of(const Extent& x, int64_t chunk) {
  std::set<int64_t> periods{4, 8, 16, 32, 64, 128, 256, 512, 1024, chunk};
  if (x.p.block_size >= 4) periods.insert(x.p.block_size);
  std::set<int64_t> columns;
  for (const Deviation& d : x.bad) columns.insert(d.column);
  if (columns.size() < kLeastColumns) return {};
  Period best;
  for (const int64_t period : periods) {
    if (x.last_column - x.first_column < 2 * period) break;
    if (Period next = with_residues(x, period); next.filled > 1.1 * best.filled) best = std::move(next);
  }
  return best.filled > 0.5 ? best : Period{};
}
std::string text_of(const Period& p) {
  constexpr size_t kShown = 8;
  const bool all = p.residues.size() <= kShown;
  return fmt::format("columns c with c mod {} in {{{}{}}}", p.period,
                     fmt::join(p.residues.begin(),
                               p.residues.begin() + static_cast<long>(all ? p.residues.size() : kShown),
                               ", "),
                     all ? "" : ", ...");
}

} // namespace

Region region_of(const Problem& p, int32_t chunk_tokens, std::span<const Deviation> bad, int32_t splits) {
  const Extent x(p, bad);
  const int64_t chunk = std::max(chunk_tokens, 1);
  const auto rows = fmt::format("{}, columns {} to {}", rows_text(p, x), x.first_column, x.last_column);
  if (x.every([&](const Deviation& d) { return d.column >= p.max_model_len; })) return {"row padding", rows};
  if (x.every([&](const Deviation& d) { return d.column >= p.limit(d.row); })) return {"tail", rows};
  if (x.every([&](const Deviation& d) { return d.column < p.first(d.row); }))
    return {"before the start", rows};
  if (bad.size() == 1)
    return {"single", fmt::format("{} column {}", row_text(p, x.first_row), x.first_column)};
  if (x.starts(0) && x.first_row == x.first_promised_row() && x.fill(0, 0))
    return {"all", "every promised cell"};
  if (x.starts(x.first_row) && x.fill(x.first_row, 0))
    return {"rows from", is_per_head(p.op) ? "from " + row_text(p, x.first_row)
                                           : fmt::format("rows from {}", x.first_row)};
  if (x.every([&](const Deviation& d) { return d.column == p.limit(d.row) - 1; }))
    return {"last column", "the last visible column of each row"};
  if (x.every([&](const Deviation& d) { return d.column >= (p.limit(d.row) - 1) / chunk * chunk; }))
    return {"last chunk", fmt::format("the last chunk of {} tokens; {}", chunk, rows)};
  if (in_split_tails(x, chunk, splits))
    return {"split tail",
            fmt::format("the last chunk of {} tokens of each of {} splits; {}", chunk, splits, rows)};
  if (x.fill(0, x.first_column)) return {"columns from", fmt::format("columns from {}", x.first_column)};
  if (const Period period = period_of(x, chunk); period.period > 0)
    return {"periodic", fmt::format("{}; {}", text_of(period), rows)};
  if (x.first_row == x.last_row)
    return {"one row",
            fmt::format("{}, columns {} to {}", row_text(p, x.first_row), x.first_column, x.last_column)};
  if (is_per_head(p.op) && x.first_row / p.rows() == x.last_row / p.rows()) return {"one head", rows};
  if (x.first_column == x.last_column) return {"one column", fmt::format("column {}", x.first_column)};
  return {"scattered", rows};
}

} // namespace mqalab
