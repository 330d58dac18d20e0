#include "fuzz/judge_top_k.hpp"

#include "fuzz/sentinel.hpp"
#include "fuzz/signature.hpp"
#include "refimpl/top_k_check.hpp"
#include "refimpl/topk.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace mqalab {
namespace {

constexpr size_t kMostDeviations = 1 << 16, kShown = 8;

VerdictClass class_of(TopKMistake mistake) {
  const bool confused = mistake == TopKMistake::out_of_range || mistake == TopKMistake::padding;
  return confused ? VerdictClass::wrong_class : VerdictClass::value;
}

// Deviations as they are found, by class, because the class that is asked for first names the verdict.
class Complaints {
public:
  void add(VerdictClass kind, int64_t row, int64_t position, uint32_t got, double expected,
           std::string_view pattern, const std::string& note) {
    ++bad_;
    TopKJudgement& j = found_[static_cast<size_t>(kind)];
    if (j.deviations.empty()) j.verdict = kind, j.pattern = pattern, j.note = note;
    if (j.deviations.size() < kMostDeviations)
      j.deviations.push_back({kind, row, position, got, expected, 0, kind != VerdictClass::touched});
  }
  TopKJudgement judgement() {
    for (const VerdictClass kind : {VerdictClass::untouched, VerdictClass::stale, VerdictClass::touched,
                                    VerdictClass::wrong_class, VerdictClass::value}) {
      TopKJudgement& j = found_[static_cast<size_t>(kind)];
      if (j.deviations.empty()) continue;
      j.cells_bad = bad_;
      return std::move(j);
    }
    return {};
  }

private:
  std::array<TopKJudgement, kVerdictClasses> found_{};
  int64_t bad_ = 0;
};

struct Scan {
  const Problem& p;
  const Candidates& candidates;
  const Output& out;
  Complaints complaints{};
  double recall = -1;

  // Was the cell left alone, now or by an earlier launch?
  VerdictClass prefilled(int64_t row, int64_t position, uint32_t got) const {
    const int64_t element = row * p.indices_stride + position;
    const auto holds = [&](uint64_t salt) { return got == sentinel(salt, element); };
    if (holds(out.salt)) return VerdictClass::untouched;
    return std::any_of(out.old_salts.begin(), out.old_salts.end(), holds) ? VerdictClass::stale
                                                                          : VerdictClass::ok;
  }
  bool whole(int64_t r, const TopKRow& row, std::span<const int32_t> indices) {
    std::vector<int32_t> due;
    for (int64_t i = 0; i < p.k; ++i) {
      const auto at = static_cast<size_t>(i);
      const VerdictClass kind = prefilled(r, i, static_cast<uint32_t>(indices[at]));
      if (kind == VerdictClass::ok) continue;
      if (due.empty()) due = top_k_columns(row);
      complaints.add(kind, r, i, static_cast<uint32_t>(indices[at]), due[at], name(kind),
                     kind == VerdictClass::stale ? "an earlier launch's prefill" : "never written");
    }
    return due.empty();
  }
  void look_at(int64_t r) {
    const std::span<const int32_t> indices = selection_of(p, out, r);
    const std::vector<float> logits = candidates(r);
    if (!logits.empty()) {
      const double share = selection_recall(logits, p.first(r), indices, p.k);
      recall = recall < 0 ? share : std::min(recall, share);
    }
    const TopKRow row{logits, p.first(r), p.k, p.stable};
    if (!whole(r, row, indices)) return;
    for (const TopKComplaint& c : top_k_complaints(row, indices))
      complaints.add(class_of(c.mistake), r, c.position, static_cast<uint32_t>(c.got), c.expected,
                     name(c.mistake), c.words);
  }
  void padding(const Window& w) {
    for (int64_t e = w.begin; e < w.end; ++e) {
      const int64_t position = e % p.indices_stride;
      const uint32_t got = out.cells[static_cast<size_t>(w.first + e - w.begin)];
      if (position >= p.k && got != sentinel(out.salt, e))
        complaints.add(VerdictClass::touched, e / p.indices_stride, position, got, NAN, "behind the row",
                       "must not be written");
    }
  }
};

// One row's selection against what the bounds of its reference leave open.
class EndToEnd {
public:
  EndToEnd(const RowReference& row, int64_t k, std::span<const int32_t> indices)
      : row_(row), k_(k), indices_(indices), margin_(topk_margin(row, k)),
        due_(topk(std::span<const double>(row.value), k)), taken_(row.value.size()) {}

  void look(int64_t r, Complaints& out) {
    for (size_t i = 0; i < due_.size(); ++i) look_at_selected(r, i, out);
    for (size_t i = 0; i < due_.size(); ++i) // every column that must be selected is among those due
      if (const auto column = static_cast<size_t>(due_[i]); margin_.must[column] && !taken_[column])
        out.add(VerdictClass::value, r, static_cast<int64_t>(i), static_cast<uint32_t>(indices_[i]),
                expected(i), "must be selected",
                fmt::format("column {} is missing: whatever the rounding, it is among the {} largest",
                            column_of(i), k_));
  }

private:
  int64_t column_of(size_t position) const { return row_.first + due_[position]; }
  double expected(size_t position) const { return static_cast<double>(column_of(position)); }

  void look_at_selected(int64_t r, size_t position, Complaints& out) {
    const int32_t got = indices_[position];
    const auto complain = [&](const std::string& why) {
      out.add(VerdictClass::value, r, static_cast<int64_t>(position), static_cast<uint32_t>(got),
              expected(position), "may not be selected", fmt::format("column {} {}", got, why));
    };
    const int64_t i = got - row_.first;
    if (i < 0 || i >= static_cast<int64_t>(taken_.size())) return complain("is no candidate");
    if (taken_[static_cast<size_t>(i)]) return complain("for the second time");
    taken_[static_cast<size_t>(i)] = true;
    if (!margin_.may[static_cast<size_t>(i)])
      complain(fmt::format("is selected: whatever the rounding, {} others are larger", k_));
  }

  const RowReference& row_;
  int64_t k_;
  std::span<const int32_t> indices_;
  TopkMargin margin_;
  std::vector<int32_t> due_; // counted from the row's first column, as margin_ and taken_ are
  std::vector<bool> taken_;
};

Verdict in_words(const Problem& p, const TopKJudgement& j, const Output& out) {
  Verdict v;
  v.verdict = j.verdict, v.cells_checked = out.watch.cells, v.cells_bad = j.cells_bad, v.recall = j.recall;
  if (j.verdict == VerdictClass::ok) return v;
  const Region region = region_of(index_cells(p), 0, j.deviations);
  v.signature = {j.verdict, j.pattern, region.name};
  for (const Deviation& d : std::span(j.deviations).first(std::min(j.deviations.size(), kShown)))
    v.first_bad.push_back({d.row, d.column, static_cast<float>(static_cast<int32_t>(d.got)), d.expected, 0,
                           v.first_bad.empty() ? j.note : "", position_text(d)});
  // A missing column is a mistake beside the one that took its place.
  v.message = fmt::format("{}: {} mistake{} in {} indices, {}; {}. First: {}, {}", name(v.verdict),
                          v.cells_bad, v.cells_bad == 1 ? "" : "s", v.cells_checked, j.pattern,
                          in_positions(region.detail), place_text(v.first_bad.front()), j.note);
  return v;
}

} // namespace

std::string position_text(const Deviation& d) { return fmt::format("row {} position {}", d.row, d.column); }

std::string in_positions(std::string region) {
  for (const std::string_view word : {"visible column", "column"})
    for (size_t at = 0; (at = region.find(word, at)) != std::string::npos;)
      region.replace(at, word.size(), "position");
  return region;
}

Problem index_cells(const Problem& p) {
  Problem cells;
  cells.batch = p.batch, cells.next_n = p.next_n, cells.lens_per_row = true;
  cells.max_model_len = p.k, cells.logits_stride = p.indices_stride;
  cells.context_lens.assign(static_cast<size_t>(p.rows()), p.k);
  return cells;
}

std::span<const int32_t> selection_of(const Problem& p, const Output& out, int64_t row) {
  const uint32_t* cells = out.cells.data() + out.watch.cell_of(row * p.indices_stride);
  return {reinterpret_cast<const int32_t*>(cells), static_cast<size_t>(p.k)};
}

TopKJudgement judge_top_k_cells(const Problem& p, const Candidates& candidates, const Output& out) {
  Scan scan{p, candidates, out};
  for (int64_t row = 0; row < p.rows(); ++row) scan.look_at(row);
  for (const Window& w : out.watch.windows) scan.padding(w);
  TopKJudgement j = scan.complaints.judgement();
  j.recall = scan.recall;
  return j;
}

Verdict judge_top_k(const Problem& p, const Candidates& candidates, const Output& out) {
  return in_words(p, judge_top_k_cells(p, candidates, out), out);
}

Verdict judge_end_to_end(const Problem& p, std::span<const RowReference> rows, const Output& out) {
  Complaints complaints;
  for (int64_t row = 0; row < p.rows(); ++row)
    EndToEnd(rows[static_cast<size_t>(row)], p.k, selection_of(p, out, row)).look(row, complaints);
  return in_words(p, complaints.judgement(), out);
}

} // namespace mqalab
