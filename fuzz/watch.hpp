// Which elements of the logits buffer are prefilled and looked at.  A small buffer is watched whole.  Of a
// huge one (rows 2^29 apart) only what a launch may touch or is likely to hit: every row's columns with their
// neighbourhood, and the places where a row's 32-bit byte offset, or that of its plane alone, would land,
// wrapped or sign-extended.
#pragma once
#include "refimpl/problem.hpp"

#include <cstdint>
#include <vector>

namespace mqalab {

// Elements [begin, end) of the logits; `first` is the index of its first cell among all watched cells.
struct Window {
  int64_t begin = 0, end = 0, first = 0;
  int64_t size() const { return end - begin; }
};

struct Watch {
  std::vector<Window> windows; // ascending, disjoint
  int64_t cells = 0;
  explicit Watch(const Problem&);
  // Index of an element's cell, or -1 when it is not watched.
  int64_t cell_of(int64_t element) const;
};

} // namespace mqalab
