// One pass over the watched cells, row by row in stretches: what lies before the first value, values, tail,
// padding.  A cell is asked for its prefill only when it holds a NaN, because a prefill is one.
#include "fuzz/judge.hpp"

#include "fuzz/sentinel.hpp"
#include "fuzz/signature.hpp"
#include "refimpl/compare.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

namespace mqalab {
namespace {

constexpr size_t kMostDeviations = 1 << 16;
constexpr uint32_t kNegInfBits = 0xff800000u;
constexpr double kNegInf = -std::numeric_limits<double>::infinity();
constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();

bool is_nan(uint32_t bits) { return (bits & 0x7fffffffu) > 0x7f800000u; }

struct Scan {
  const Expected& due;
  const Output& out;
  // Deviations by verdict class, because the class that is asked for first names the verdict.
  std::array<std::vector<Deviation>, kVerdictClasses> found{};
  int64_t bad = 0;
  double worst_ratio = 0;

  void report(VerdictClass kind, int64_t element, uint32_t got, double expected, double bound,
              bool promised) {
    ++bad;
    auto& list = found[static_cast<size_t>(kind)];
    const int64_t row = due.problem.output_row_at(element), column = element - due.problem.output_offset(row);
    if (list.size() < kMostDeviations) list.push_back({kind, row, column, got, expected, bound, promised});
  }
  // A promised cell that was not written, if that is what it is.
  bool still_prefilled(int64_t element, uint32_t got, double expected) {
    if (!is_nan(got)) return false;
    if (got == sentinel(out.salt, element))
      return report(VerdictClass::untouched, element, got, expected, 0, true), true;
    for (uint64_t salt : out.old_salts)
      if (got == sentinel(salt, element))
        return report(VerdictClass::stale, element, got, expected, 0, true), true;
    return false;
  }
  void value(int64_t element, uint32_t got, double expected, double bound) {
    const float number = std::bit_cast<float>(got);
    if (is_nan(got) && still_prefilled(element, got, expected)) return;
    if (!due.exact) worst_ratio = std::max(worst_ratio, error_ratio(expected, bound, number));
    if (due.exact ? agrees_exactly(expected, number) : agrees(expected, bound, number)) return;
    const bool numbers = std::isfinite(number) && std::isfinite(expected);
    report(numbers ? VerdictClass::value : VerdictClass::wrong_class, element, got, expected, bound, true);
  }
  void tail(int64_t element, uint32_t got) {
    if (got == kNegInfBits || still_prefilled(element, got, kNegInf)) return;
    report(VerdictClass::wrong_class, element, got, kNegInf, 0, true);
  }
  void forbidden(int64_t element, uint32_t got) {
    if (got != sentinel(out.salt, element)) report(VerdictClass::touched, element, got, kNothing, 0, false);
  }
  // -inf with a filled tail, else nothing.
  void empty(int64_t element, uint32_t got) {
    due.problem.tail == MQA_TAIL_NEG_INF ? tail(element, got) : forbidden(element, got);
  }
  // Elements [begin, end) of one row, which starts at element `start`.
  void stretch(const RowReference& row, int64_t start, int64_t begin, int64_t end, const uint32_t* cells) {
    int64_t e = begin;
    for (const int64_t stop = std::min(end, start + row.first); e < stop; ++e) empty(e, cells[e - begin]);
    const int64_t first = start + row.first;
    for (const int64_t stop = std::min(end, start + row.end()); e < stop; ++e)
      value(e, cells[e - begin], row.value[e - first], row.bound[e - first]);
    for (const int64_t stop = std::min(end, start + due.problem.max_model_len); e < stop; ++e)
      empty(e, cells[e - begin]);
    for (; e < end; ++e) forbidden(e, cells[e - begin]);
  }
  void window(const Window& w) {
    const Problem& p = due.problem;
    for (int64_t e = w.begin, end; e < w.end; e = end) {
      const int64_t row = p.output_row_at(e);
      end = std::min(w.end, p.output_end(row));
      stretch(due.rows[row], p.output_offset(row), e, end, out.cells.data() + w.first + (e - w.begin));
    }
  }
};

} // namespace

double error_ratio(double expected, double bound, float got) {
  if (!(bound > 0) || !std::isfinite(bound) || !std::isfinite(got) || !std::isfinite(expected)) return 0;
  return std::abs(got - expected) / bound;
}

Judgement judge_cells(const Expected& due, const Output& out) {
  Scan scan{due, out};
  for (const Window& w : out.watch.windows) scan.window(w);
  Judgement j;
  j.cells_checked = out.watch.cells, j.cells_bad = scan.bad, j.worst_error_ratio = scan.worst_ratio;
  for (VerdictClass kind : {VerdictClass::untouched, VerdictClass::stale, VerdictClass::touched,
                            VerdictClass::wrong_class, VerdictClass::value}) {
    auto& list = scan.found[static_cast<size_t>(kind)];
    if (list.empty()) continue;
    j.verdict = kind, j.deviations = std::move(list);
    break;
  }
  return j;
}

Verdict judge(const Expected& due, const Output& out) {
  const Judgement j = judge_cells(due, out);
  Verdict v;
  v.verdict = j.verdict;
  v.cells_checked = j.cells_checked, v.cells_bad = j.cells_bad, v.worst_error_ratio = j.worst_error_ratio;
  if (j.verdict != VerdictClass::ok) explain(v, due, out, j.deviations);
  return v;
}

std::vector<Deviation> differences(const Problem& p, const Output& first, const Output& second) {
  std::vector<Deviation> found;
  for (const Window& w : first.watch.windows)
    for (int64_t e = w.begin; e < w.end; ++e) {
      const uint32_t a = first.cells[w.first + e - w.begin], b = second.cells[w.first + e - w.begin];
      if (a == b && !is_nan(a)) continue;
      const bool a_untouched = a == sentinel(first.salt, e), b_untouched = b == sentinel(second.salt, e);
      if (a_untouched == b_untouched && (a_untouched || a == b || (is_nan(a) && is_nan(b)))) continue;
      if (found.size() == kMostDeviations) continue;
      const int64_t row = p.output_row_at(e);
      found.push_back(
          {VerdictClass::unstable, row, e - p.output_offset(row), b, std::bit_cast<float>(a), 0, true});
    }
  return found;
}

} // namespace mqalab
