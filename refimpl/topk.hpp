// Top-k with margins (oracle.md, section 9): which columns any correct selection must hold, and which it may.
#pragma once
#include "refimpl/reference.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace mqalab {

struct TopkMargin {
  std::vector<bool> must, may;
};
TopkMargin topk_margin(const RowReference&, int64_t k);
// The k largest columns, ties to the lowest index, NaN after every number; ascending column order.
std::vector<int32_t> topk(std::span<const float> logits, int64_t k);
std::vector<int32_t> topk(std::span<const double> logits, int64_t k);
// Share of `expected` that is also in `got`; 1 when expected is empty.  Both ascending.
double recall(std::span<const int32_t> got, std::span<const int32_t> expected);
// Share of the k largest of a row that `got` holds, columns of logits first, first + 1, ... in any order.
// What ties with the k-th stands for each other; what is no column, or comes twice, counts nothing.  1 for a
// row without columns.
double selection_recall(std::span<const float> logits, int64_t first, std::span<const int32_t> got,
                        int64_t k);
double selection_recall(std::span<const double> logits, int64_t first, std::span<const int32_t> got,
                        int64_t k);
// The metric of vllm#39303, kept to show what it does: both ascending lists compared position by position.
// One column that differs shifts all between, and k >= columns gives 1 whatever the logits are.  Never judge
// by it.
double match_by_position(std::span<const int32_t> got, std::span<const int32_t> expected);

} // namespace mqalab
