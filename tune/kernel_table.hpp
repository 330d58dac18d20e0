// The kernel's table: our kernels beside a traffic-only kernel, which moves the same bytes and computes
// nothing, on the device it runs on.  Graph replay, cold L2 (every call of a graph has its own random pages),
// contenders interleaved, median of the replays.  Method and targets: docs/performance.md.
#pragma once
#include "kernels/mqa.h"

#include <cstdint>
#include <string>
#include <vector>

namespace mqalab {

struct TableShape {
  int32_t batch, context, next_n, heads, block_size;
  mqa_layout layout;
  const char* lengths; // "uniform", or a ragged mix by name
};
struct TableOptions {
  std::string filter; // regular expression on a shape's name, "64x8192 n1 h64 bs64"
  int replays = 21;
  bool json = false;
  std::vector<mqa_config> configs; // contenders besides the automatic configuration
};
// Prints a line a shape to stdout, as it is measured.  Returns the number of shapes measured.
int kernel_table(const TableOptions&);

} // namespace mqalab
