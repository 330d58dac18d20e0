#include "fuzz/watch.hpp"

#include <algorithm>

namespace mqalab {
namespace {

constexpr int64_t kWatchedWhole_elements = int64_t{1} << 20;
constexpr int64_t kNeighbourhood_elements = 64;

struct Collector {
  int64_t total;
  std::vector<Window> windows;
  void add(int64_t begin, int64_t end) {
    begin = std::max<int64_t>(begin, 0), end = std::min(end, total);
    if (begin < end) windows.push_back({begin, end, 0});
  }
};

void add_row(Collector& out, const Problem& p, int64_t row) {
  const int64_t start = row * p.logits_stride;
  out.add(start - kNeighbourhood_elements, start + p.max_model_len + kNeighbourhood_elements);
  for (const int64_t modulus_bytes : {int64_t{1} << 31, int64_t{1} << 32}) {
    if (4 * (start + p.max_model_len) < modulus_bytes) continue;
    const int64_t landing = 4 * start % modulus_bytes / 4;
    out.add(landing, landing + p.max_model_len);
  }
}

std::vector<Window> joined(std::vector<Window> windows) {
  std::sort(windows.begin(), windows.end(),
            [](const Window& a, const Window& b) { return a.begin < b.begin; });
  std::vector<Window> out;
  for (const Window& w : windows) {
    if (!out.empty() && w.begin <= out.back().end)
      out.back().end = std::max(out.back().end, w.end);
    else
      out.push_back(w);
  }
  return out;
}

} // namespace

Watch::Watch(const Problem& p) {
  Collector found{p.rows() * p.logits_stride, {}};
  if (found.total <= kWatchedWhole_elements)
    found.add(0, found.total);
  else
    for (int64_t row = 0; row < p.rows(); ++row) add_row(found, p, row);
  windows = joined(std::move(found.windows));
  for (Window& w : windows) w.first = cells, cells += w.size();
}

int64_t Watch::cell_of(int64_t element) const {
  const auto after = std::upper_bound(windows.begin(), windows.end(), element,
                                      [](int64_t e, const Window& w) { return e < w.begin; });
  if (after == windows.begin()) return -1;
  const Window& w = *std::prev(after);
  return element < w.end ? w.first + element - w.begin : -1;
}

} // namespace mqalab
