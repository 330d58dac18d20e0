#include "fuzz/bisect.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>
#include <utility>

namespace mqalab {
namespace {
constexpr std::array<std::string_view, 3> kAnswers{"good", "bad", "skip"};
} // namespace

std::string_view name(Answer a) { return kAnswers[static_cast<size_t>(a)]; }
std::optional<Answer> answer_named(std::string_view word) {
  const auto it = std::ranges::find(kAnswers, word);
  if (it == kAnswers.end()) return {};
  return static_cast<Answer>(it - kAnswers.begin());
}

std::optional<Answer> settled(std::span<const Answer> runs, size_t repeats) {
  if (std::ranges::count(runs, Answer::bad)) return Answer::bad;
  if (runs.size() < repeats) return {};
  return std::ranges::count(runs, Answer::skip) ? Answer::skip : Answer::good;
}

History straight_history(size_t count) {
  History history(count);
  for (size_t i = 1; i < count; ++i) history[i] = {i - 1};
  return history;
}

Bisection::Bisection(History history)
    : history_(std::move(history)), is_suspect_(history_.size(), true), skipped_(history_.size(), false) {
  suspects_.resize(history_.size());
  std::iota(suspects_.begin(), suspects_.end(), size_t{0});
  tell(history_.size() - 1, Answer::bad);
  tell(0, Answer::good);
}

std::vector<bool> Bisection::with_ancestors(size_t subject) const {
  std::vector<bool> marked(history_.size(), false);
  marked[subject] = true;
  for (size_t i = subject + 1; i-- > 0;)
    if (marked[i])
      for (const size_t parent : history_[i]) marked[parent] = true;
  return marked;
}

void Bisection::tell(size_t subject, Answer answer) {
  if (answer == Answer::skip) {
    skipped_[subject] = true;
    return;
  }
  const std::vector<bool> older = with_ancestors(subject);
  std::erase_if(suspects_, [&](size_t i) { return older[i] != (answer == Answer::bad); });
  is_suspect_.assign(history_.size(), false);
  for (const size_t i : suspects_) is_suspect_[i] = true;
}

// Of every suspect, how many suspects it would leave if it were bad.
std::vector<size_t> Bisection::weights() const {
  std::vector<size_t> weight(history_.size(), 0);
  for (const size_t i : suspects_) {
    std::vector<size_t> parents;
    for (const size_t parent : history_[i])
      if (is_suspect_[parent]) parents.push_back(parent);
    if (parents.size() <= 1) {
      weight[i] = 1 + (parents.empty() ? 0 : weight[parents.front()]);
      continue;
    }
    const std::vector<bool> older = with_ancestors(i); // a merge: its sides may share some
    weight[i] = static_cast<size_t>(std::ranges::count_if(suspects_, [&](size_t s) { return older[s]; }));
  }
  return weight;
}

// The one that halves the suspects, then its neighbours.  What does not build often comes in long rows, so
// with every further skip about the middle the step away from it doubles.
std::optional<size_t> Bisection::next() const {
  const std::vector<size_t> weight = weights();
  std::vector<size_t> nearest(suspects_.begin(), suspects_.end() - 1);
  const auto told_apart = [&](size_t i) { return std::min(weight[i], suspects_.size() - weight[i]); };
  std::ranges::sort(nearest, {}, [&](size_t i) { return std::pair(suspects_.size() - told_apart(i), i); });
  const auto half = nearest.begin() + static_cast<ptrdiff_t>((nearest.size() + 1) / 2);
  const auto skips = std::count_if(nearest.begin(), half, [&](size_t i) { return skipped_[i]; });
  std::erase_if(nearest, [&](size_t i) { return skipped_[i]; });
  if (nearest.empty()) return {};
  const size_t away = skips < 2 ? 0 : (size_t{1} << std::min<ptrdiff_t>(skips - 1, 30)) - 1;
  return nearest[std::min(away, nearest.size() / 2)];
}

std::vector<size_t> Bisection::last_good() const {
  std::vector<size_t> good;
  for (const size_t i : suspects_)
    for (const size_t parent : history_[i])
      if (!is_suspect_[parent]) good.push_back(parent);
  std::ranges::sort(good);
  const auto [end, last] = std::ranges::unique(good);
  good.erase(end, last);
  return good;
}

int Bisection::steps_left() const { return std::bit_width(suspects_.size() - 1); }

NeededSwitches needed_switches(size_t count, const std::function<Answer(const std::vector<bool>& on)>& ask) {
  std::vector<bool> on(count, true), unclear(count, false);
  // Again after every success: what was needed beside a switch may not be without it.
  for (bool fewer = true; fewer;) {
    fewer = false;
    for (size_t i = 0; i < count; ++i) {
      if (!on[i]) continue;
      on[i] = false;
      const Answer answer = ask(on);
      on[i] = answer != Answer::bad;
      unclear[i] = answer == Answer::skip;
      fewer |= !on[i];
    }
  }
  NeededSwitches result;
  for (size_t i = 0; i < count; ++i)
    if (on[i]) (unclear[i] ? result.unclear : result.needed).push_back(i);
  return result;
}

} // namespace mqalab
