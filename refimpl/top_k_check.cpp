// Two questions.  Is the selection right as a set: distinct candidates, none below the k-th largest, none
// above it left out?  Then is it the list that is due, where only one is?
#include "refimpl/top_k_check.hpp"
#include "refimpl/topk.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

namespace mqalab {
namespace {

// NaN is below every number, and equal to itself.
bool below(float a, float b) { return std::isnan(a) ? !std::isnan(b) : a < b; }

class Check {
public:
  Check(const TopKRow& row, std::span<const int32_t> indices)
      : row_(row), indices_(indices), due_(top_k_columns(row)),
        selected_(std::min<int64_t>(row.k, static_cast<int64_t>(row.candidates.size()))) {
    for (const int32_t column : std::span(due_).first(static_cast<size_t>(selected_)))
      if (!weakest_ || below(logit(column), *weakest_)) weakest_ = logit(column);
  }

  std::vector<TopKComplaint> run() {
    look_at_set();
    if (found_.empty() && only_one_list()) look_at_order();
    return std::move(found_);
  }

private:
  float logit(int64_t column) const { return row_.candidates[static_cast<size_t>(column - row_.first)]; }
  bool is_candidate(int64_t column) const {
    return column >= row_.first && column < row_.first + static_cast<int64_t>(row_.candidates.size());
  }
  bool only_one_list() const { return row_.stable || selected_ < row_.k || is_whole(); }
  bool is_whole() const { return selected_ == static_cast<int64_t>(row_.candidates.size()); }

  void complain(TopKMistake mistake, int64_t position, int32_t got, std::string words) {
    found_.push_back({mistake, position, got, due_[static_cast<size_t>(position)], std::move(words)});
  }

  void look_at_set() {
    std::vector<bool> taken(row_.candidates.size());
    for (int64_t i = 0; i < row_.k; ++i) {
      const int32_t got = indices_[static_cast<size_t>(i)];
      const std::string column = "column " + std::to_string(got);
      if (i >= selected_) {
        if (got != -1) complain(TopKMistake::padding, i, got, column + " where -1 is due");
      } else if (!is_candidate(got)) {
        complain(TopKMistake::out_of_range, i, got,
                 got == -1 ? "-1 where a column is due" : column + " is no candidate");
      } else if (taken[static_cast<size_t>(got - row_.first)]) {
        complain(TopKMistake::duplicate, i, got, column + " for the second time");
      } else {
        taken[static_cast<size_t>(got - row_.first)] = true;
        if (below(logit(got), *weakest_))
          complain(TopKMistake::not_among, i, got, column + " is below the k-th largest");
      }
    }
    look_for_missing(taken);
  }
  // Columns above the weakest must all be there.
  void look_for_missing(const std::vector<bool>& taken) {
    for (int64_t i = 0; i < selected_; ++i) {
      const int32_t column = due_[static_cast<size_t>(i)];
      const bool free = !below(*weakest_, logit(column)) && !is_whole();
      if (!free && !taken[static_cast<size_t>(column - row_.first)])
        complain(TopKMistake::missing, i, indices_[static_cast<size_t>(i)],
                 "column " + std::to_string(column) + " is missing");
    }
  }
  void look_at_order() {
    std::vector<int32_t> sorted(indices_.begin(), indices_.begin() + selected_);
    std::sort(sorted.begin(), sorted.end());
    const bool same_set = std::equal(sorted.begin(), sorted.end(), due_.begin());
    for (int64_t i = 0; i < selected_; ++i) {
      const int32_t got = indices_[static_cast<size_t>(i)], due = due_[static_cast<size_t>(i)];
      if (got == due) continue;
      complain(same_set ? TopKMistake::order : TopKMistake::tie, i, got,
               "column " + std::to_string(got) + " where column " + std::to_string(due) + " is due");
    }
  }

  const TopKRow& row_;
  std::span<const int32_t> indices_;
  std::vector<int32_t> due_;
  int64_t selected_; // how many columns are due
  std::optional<float> weakest_;
  std::vector<TopKComplaint> found_;
};

} // namespace

std::string_view name(TopKMistake mistake) {
  constexpr std::array<std::string_view, 7> kNames{"out of range",          "padding", "duplicate",
                                                   "not among the largest", "missing", "order",
                                                   "tie not the lowest"};
  return kNames[static_cast<size_t>(mistake)];
}

std::vector<int32_t> top_k_columns(const TopKRow& row) {
  std::vector<int32_t> columns = topk(row.candidates, row.k);
  for (int32_t& column : columns) column += static_cast<int32_t>(row.first);
  columns.resize(static_cast<size_t>(row.k), -1);
  return columns;
}

std::vector<TopKComplaint> top_k_complaints(const TopKRow& row, std::span<const int32_t> indices) {
  return Check(row, indices).run();
}

} // namespace mqalab
