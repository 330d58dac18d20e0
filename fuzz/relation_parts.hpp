// Tensors laid out anew, byte by byte from those of a first launch: no generator is asked, so whatever the
// data are, overrides included, the partner has the same.  Huge sparse buffers are copied range by range.
#pragma once
#include "fuzz/relation.hpp"

#include <span>

namespace mqalab {

Tensors copy_of(const Tensors&);

// The same numbers in the partner's strides and layout.  Blocks keep their ids but for `block_shift`; what no
// sequence needs is poison.
Tensors laid_out_anew(const Problem& from, const Tensors&, const Problem& to, int32_t block_shift = 0);

// Rows of a partner: row `row` of sequence i is row chosen[i * next_n + row] of ours.
struct Choice {
  int32_t next_n = 1;
  std::vector<int64_t> rows;
};
// Those rows as a call of their own, dense, over the same pool, and the pairs that must agree.
Partner chosen_rows(const Problem&, const Tensors&, const Choice&);

// Every column that holds a value, in the same row.
std::vector<RowPair> same_rows(const Problem&);

} // namespace mqalab
