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

// `offset_bytes` as a 32-bit number that lost its upper bits, or all but 31 of them.
void add_landings(Collector& out, const Problem& p, int64_t offset_bytes, int64_t rest_bytes) {
  for (const int64_t modulus_bytes : {int64_t{1} << 31, int64_t{1} << 32}) {
    if (offset_bytes + 4 * p.max_model_len < modulus_bytes) continue;
    const int64_t landing = (offset_bytes % modulus_bytes + rest_bytes) / 4;
    out.add(landing, landing + p.max_model_len);
  }
}

void add_row(Collector& out, const Problem& p, int64_t output_row) {
  const int64_t start = p.output_offset(output_row);
  out.add(start - kNeighbourhood_elements, start + p.max_model_len + kNeighbourhood_elements);
  add_landings(out, p, 4 * start, 0);
  if (!is_per_head(p.op)) return;
  const int64_t plane = output_row / p.rows() * p.logits_stride_head;
  add_landings(out, p, 4 * plane, 4 * (start - plane)); // only the plane's offset is cut
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
  Collector found{logits_bytes(p) / 4, {}};
  if (found.total <= kWatchedWhole_elements)
    found.add(0, found.total);
  else
    for (int64_t row = 0; row < p.output_rows(); ++row) add_row(found, p, row);
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
