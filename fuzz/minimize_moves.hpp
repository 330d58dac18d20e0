// The moves of the minimiser: each proposes simpler neighbours of a case, the boldest first.
#pragma once
#include "fuzz/case.hpp"

#include <span>
#include <string_view>
#include <vector>

namespace mqalab {

struct ShrinkMove {
  std::string_view name;
  std::vector<Case> (*propose)(const Case&);
};
// In the order in which they pay: data, configuration, batch, next_n, heads, contexts, trades, table,
// paddings, ...
std::span<const ShrinkMove> shrink_moves();

} // namespace mqalab
