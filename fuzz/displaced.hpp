// Finds the cell whose right value a wrong cell holds.
#pragma once
#include "fuzz/judge.hpp"

#include <optional>

namespace mqalab {

struct CellPlace {
  int64_t row = 0, column = 0;
};

// The right values of all cells, by their bits: of the reference in the exact lane; else of the output
// itself, where a displaced cell has the very bits of the cell it was taken from.
class ValueIndex {
public:
  ValueIndex(const Expected&, const Output&);
  // Another cell with these bits: of the same row if there is one, else of the same column, else any.  Zeros,
  // NaNs and infinities are no evidence.
  std::optional<CellPlace> find(const Deviation&) const;
  // Is it more than chance that so many wrong cells hold other cells' values?  Where every second right value
  // occurs twice anyway, as small integers do in many cells, it is not.
  bool is_more_than_chance(size_t found) const;

private:
  struct Entry {
    uint32_t bits;
    int64_t row, column;
  };
  std::vector<Entry> entries_;
  double twice_ = 0; // share of the entries whose bits another one has, too
};

// With the address code: the physical slot whose logit the cell holds, or -1.
int64_t slot_read(const Expected&, const Deviation&);

} // namespace mqalab
