// The slow road of the reference, for cells where a class may come out: NaN codes, odd scales and weights,
// overflow. Follows fp32 with an error on every value, so that it can tell "Inf for certain" from "Inf or
// not".
#pragma once
#include "refimpl/reference.hpp"

#include <span>

namespace mqalab {

// One dot: its exact value (NaN when a code was NaN) and the error a kernel may have made.
struct Dot {
  double value = 0, error = 0;
};
struct Cell {
  double value = 0, bound = 0;
};
Cell special_cell(std::span<const Dot> dots, std::span<const double> weights, double scale, const Policy&);
// The sum of one-head cells, each stored as an fp32 first.
Cell special_head_sum(std::span<const Dot> dots, std::span<const double> weights, double scale,
                      const Policy&);

} // namespace mqalab
