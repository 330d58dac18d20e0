// Where bad cells lie.  A region is named when the bad cells keep inside it and fill at least two fifths of
// it: relu makes many logits 0, and a wrong 0 that is right by chance must not break up a region.
#include "fuzz/signature.hpp"

#include <fmt/format.h>

#include <algorithm>

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

} // namespace

Region region_of(const Problem& p, int32_t chunk_tokens, std::span<const Deviation> bad) {
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
  if (x.fill(0, x.first_column)) return {"columns from", fmt::format("columns from {}", x.first_column)};
  if (x.first_row == x.last_row)
    return {"one row",
            fmt::format("{}, columns {} to {}", row_text(p, x.first_row), x.first_column, x.last_column)};
  if (is_per_head(p.op) && x.first_row / p.rows() == x.last_row / p.rows()) return {"one head", rows};
  if (x.first_column == x.last_column) return {"one column", fmt::format("column {}", x.first_column)};
  return {"scattered", rows};
}

} // namespace mqalab
