#include "fuzz/minimize.hpp"
#include "fuzz/fields.hpp"
#include "fuzz/minimize_moves.hpp"
#include "fuzz/repair.hpp"

#include <algorithm>
#include <cmath>
#include <set>

namespace mqalab {
namespace {

// head_dim 128 whatever the case says, and never fewer than 8 heads: the defaults are not sizes to shrink.
constexpr int64_t kUsualToken_bytes = 128 + 4;
constexpr int64_t kUsualHeads = 8;

class Search {
public:
  Search(const Case& start, const SameBug& same_bug, const MinimizeOptions& options)
      : same_bug_(same_bug), options_(options), best_cost_(cost(start)) {
    result_.smallest = start;
    seen_.insert(encode(start));
  }

  Minimized run() {
    for (bool improved = true; improved && result_.finished;) {
      improved = false;
      for (const ShrinkMove& move : shrink_moves()) improved |= exhaust(move);
    }
    return result_;
  }

private:
  // The move again and again, until none of its proposals is both simpler and the same bug.
  bool exhaust(const ShrinkMove& move) {
    bool any = false;
    while (result_.finished && accept_first(move.propose(result_.smallest))) any = true;
    return any;
  }

  bool accept_first(std::vector<Case> proposals) {
    for (Case& proposal : proposals) {
      fit_lengths(proposal);
      const CaseCost proposed = cost(proposal);
      if (!(proposed < best_cost_) || !why_illegal(proposal).empty()) continue;
      if (!seen_.insert(encode(proposal)).second) continue;
      if (out_of_budget()) return false;
      ++result_.checks;
      if (!same_bug_(proposal)) continue;
      best_cost_ = proposed;
      result_.smallest = std::move(proposal);
      ++result_.accepted;
      if (options_.progress) options_.progress(result_.smallest, result_.checks);
      return true;
    }
    return false;
  }

  bool out_of_budget() {
    if (result_.checks < options_.most_checks && !(options_.stop && options_.stop())) return false;
    result_.finished = false;
    return true;
  }

  const SameBug& same_bug_;
  const MinimizeOptions& options_;
  CaseCost best_cost_;
  std::set<std::vector<uint8_t>> seen_;
  Minimized result_;
};

// A stride weighs half: it costs no memory, so few rows or blocks far apart are simpler than many close
// together.
double log_sizes(const Case& c) {
  double sum = 0;
  for (const Field& f : fields())
    sum += std::log2(1.0 + std::abs(static_cast<double>(f.get(c)))) *
           (f.name.starts_with("strides.") ? 0.5 : 1.0);
  for (const int32_t length : c.shape.context_lens) sum += std::log2(2.0 + std::abs(length - 1.0));
  for (const int32_t start : c.shape.starts) sum += std::log2(2.0 + std::abs(static_cast<double>(start)));
  return sum;
}

} // namespace

CaseCost cost(const Case& c) {
  const Shape& s = c.shape;
  CaseCost result;
  const int64_t heads = std::max<int64_t>(s.heads, kUsualHeads);
  const int64_t planes = has_meaning(c.op, "strides.logits_head") ? heads : 1;
  const int64_t row_bytes = heads * kUsualToken_bytes + 4 * (planes * s.max_model_len + c.selection.k);
  // An empty row counts as one token: it is not simpler than a row of one.
  result.bytes_touched =
      rows(c) * row_bytes + (visible_tokens(c, 1) + s.block_size) * kUsualToken_bytes + 4 * s.batch;
  result.non_default = non_default_fields(c);
  result.log_sizes = log_sizes(c);
  return result;
}

Minimized minimize(const Case& start, const SameBug& same_bug, const MinimizeOptions& options) {
  return Search(start, same_bug, options).run();
}

} // namespace mqalab
