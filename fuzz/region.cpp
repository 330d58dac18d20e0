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
  int64_t promised(int64_t row) const { return p.tail == MQA_TAIL_NEG_INF ? p.max_model_len : p.limit(row); }
  // Do the bad cells fill the promised cells at row >= r and column >= c?
  bool fill(int64_t r, int64_t c) const {
    int64_t cells = 0;
    for (; r < p.rows(); ++r) cells += std::max<int64_t>(0, promised(r) - c);
    return static_cast<double>(bad.size()) >= kFilled * static_cast<double>(cells);
  }
  int64_t first_promised_row() const {
    int64_t r = 0;
    while (r + 1 < p.rows() && promised(r) == 0) ++r;
    return r;
  }
  template <class Predicate> bool every(Predicate predicate) const {
    return std::all_of(bad.begin(), bad.end(), predicate);
  }
};

} // namespace

Region region_of(const Problem& p, int32_t chunk_tokens, std::span<const Deviation> bad) {
  const Extent x(p, bad);
  const int64_t chunk = std::max(chunk_tokens, 1);
  const auto rows =
      fmt::format("rows {} to {}, columns {} to {}", x.first_row, x.last_row, x.first_column, x.last_column);
  if (x.every([&](const Deviation& d) { return d.column >= p.max_model_len; })) return {"row padding", rows};
  if (x.every([&](const Deviation& d) { return d.column >= p.limit(d.row); })) return {"tail", rows};
  if (bad.size() == 1) return {"single", fmt::format("row {} column {}", x.first_row, x.first_column)};
  if (x.first_column == 0 && x.first_row == x.first_promised_row() && x.fill(0, 0))
    return {"all", "every promised cell"};
  if (x.first_column == 0 && x.fill(x.first_row, 0))
    return {"rows from", fmt::format("rows from {}", x.first_row)};
  if (x.every([&](const Deviation& d) { return d.column == p.limit(d.row) - 1; }))
    return {"last column", "the last visible column of each row"};
  if (x.every([&](const Deviation& d) { return d.column >= (p.limit(d.row) - 1) / chunk * chunk; }))
    return {"last chunk", fmt::format("the last chunk of {} tokens; {}", chunk, rows)};
  if (x.fill(0, x.first_column)) return {"columns from", fmt::format("columns from {}", x.first_column)};
  if (x.first_row == x.last_row)
    return {"one row", fmt::format("row {}, columns {} to {}", x.first_row, x.first_column, x.last_column)};
  if (x.first_column == x.last_column) return {"one column", fmt::format("column {}", x.first_column)};
  return {"scattered", rows};
}

} // namespace mqalab
