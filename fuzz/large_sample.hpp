// Which cells of an output of gigabytes the reference is asked for, and what it says of them: a window of one
// row is a small problem of its own, over the same keys.
#pragma once
#include "refimpl/reference.hpp"

#include <cstdint>
#include <vector>

namespace mqalab {

// Columns [begin, end) of an output row, all of them values.
struct SampleWindow {
  int64_t row = 0, begin = 0, end = 0;
};
// First and last rows and columns, those around 2^31 and 2^32 bytes, edges of chunks, and some at random.
std::vector<SampleWindow> sample_windows(const Problem&, int32_t chunk_tokens, uint64_t seed);

// Asks for windows of one launch's problem.
class WindowReference {
public:
  WindowReference(const Problem&, Tensors);
  // value[i] and bound[i] are those of column begin + i.
  RowReference operator()(const SampleWindow&, const Policy&, bool with_bound);

private:
  Problem problem_of(const SampleWindow&, int64_t first_position) const;
  const Problem& p_;
  std::vector<int64_t> table_starts_;
  Tensors tensors_; // keys of the launch; q and weights of the window's row alone
  SparseBuffer q_, weights_;
};

} // namespace mqalab
