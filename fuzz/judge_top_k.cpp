#include "fuzz/judge_top_k.hpp"

#include "fuzz/sentinel.hpp"
#include "fuzz/signature.hpp"
#include "refimpl/top_k_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace mqalab {
namespace {

constexpr size_t kMostDeviations = 1 << 16, kShown = 8;

VerdictClass class_of(TopKMistake mistake) {
  const bool confused = mistake == TopKMistake::out_of_range || mistake == TopKMistake::padding;
  return confused ? VerdictClass::wrong_class : VerdictClass::value;
}

struct Scan {
  const Problem& p;
  const Candidates& candidates;
  const Output& out;
  std::array<TopKJudgement, kVerdictClasses> found{}; // by class
  int64_t bad = 0;

  void report(VerdictClass kind, int64_t row, int64_t position, uint32_t got, double expected,
              std::string_view pattern, const std::string& note) {
    ++bad;
    TopKJudgement& j = found[static_cast<size_t>(kind)];
    if (j.deviations.empty()) j.verdict = kind, j.pattern = pattern, j.note = note;
    if (j.deviations.size() < kMostDeviations)
      j.deviations.push_back({kind, row, position, got, expected, 0, kind != VerdictClass::touched});
  }
  // Was the cell left alone, now or by an earlier launch?
  bool still_prefilled(int64_t row, int64_t position, uint32_t got) {
    const int64_t element = row * p.indices_stride + position;
    const auto holds = [&](uint64_t salt) { return got == sentinel(salt, element); };
    if (holds(out.salt))
      return report(VerdictClass::untouched, row, position, got, 0, "untouched", "never written"), true;
    if (!std::any_of(out.old_salts.begin(), out.old_salts.end(), holds)) return false;
    return report(VerdictClass::stale, row, position, got, 0, "stale", "an earlier launch's prefill"), true;
  }
  void row(int64_t r) {
    const uint32_t* cells = out.cells.data() + out.watch.cell_of(r * p.indices_stride);
    bool whole = true;
    for (int64_t i = 0; i < p.k; ++i) whole &= !still_prefilled(r, i, cells[i]);
    if (!whole) return;
    const std::vector<int32_t> indices(cells, cells + p.k);
    const std::vector<float> logits = candidates(r);
    for (const TopKComplaint& c : top_k_complaints({logits, p.first(r), p.k, p.stable}, indices))
      report(class_of(c.mistake), r, c.position, static_cast<uint32_t>(c.got), c.expected, name(c.mistake),
             c.words);
  }
  void padding(const Window& w) {
    for (int64_t e = w.begin; e < w.end; ++e) {
      const int64_t position = e % p.indices_stride;
      const uint32_t got = out.cells[static_cast<size_t>(w.first + e - w.begin)];
      if (position >= p.k && got != sentinel(out.salt, e))
        report(VerdictClass::touched, e / p.indices_stride, position, got, 0, "behind the row",
               "must not be written");
    }
  }
};

} // namespace

Problem index_cells(const Problem& p) {
  Problem cells;
  cells.batch = p.batch, cells.next_n = p.next_n, cells.lens_per_row = true;
  cells.max_model_len = p.k, cells.logits_stride = p.indices_stride;
  cells.context_lens.assign(static_cast<size_t>(p.rows()), p.k);
  return cells;
}

TopKJudgement judge_top_k_cells(const Problem& p, const Candidates& candidates, const Output& out) {
  Scan scan{p, candidates, out};
  for (int64_t row = 0; row < p.rows(); ++row) scan.row(row);
  for (const Window& w : out.watch.windows) scan.padding(w);
  for (const VerdictClass kind : {VerdictClass::untouched, VerdictClass::stale, VerdictClass::touched,
                                  VerdictClass::wrong_class, VerdictClass::value}) {
    TopKJudgement& j = scan.found[static_cast<size_t>(kind)];
    if (j.deviations.empty()) continue;
    j.cells_bad = scan.bad;
    return std::move(j);
  }
  return {};
}

Verdict judge_top_k(const Problem& p, const Candidates& candidates, const Output& out) {
  const TopKJudgement j = judge_top_k_cells(p, candidates, out);
  Verdict v;
  v.verdict = j.verdict, v.cells_checked = out.watch.cells, v.cells_bad = j.cells_bad;
  if (j.verdict == VerdictClass::ok) return v;
  const Region region = region_of(index_cells(p), 0, j.deviations);
  v.signature = {j.verdict, j.pattern, region.name};
  for (const Deviation& d : std::span(j.deviations).first(std::min(j.deviations.size(), kShown)))
    v.first_bad.push_back({d.row, d.column, static_cast<float>(static_cast<int32_t>(d.got)), d.expected, 0,
                           v.first_bad.empty() ? j.note : ""});
  const Deviation& first = j.deviations.front();
  v.message =
      fmt::format("{}: {} of {} indices are wrong, {}; {}. First: row {} position {}, {}", name(v.verdict),
                  v.cells_bad, v.cells_checked, j.pattern, region.detail, first.row, first.column, j.note);
  return v;
}

} // namespace mqalab
