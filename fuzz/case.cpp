// Equality of cases; mqa_config is a C struct and brings none of its own.
#include "fuzz/case.hpp"

#include <tuple>

namespace mqalab {

bool operator==(const Case& a, const Case& b) {
  const auto config = [](const mqa_config& c) {
    return std::tuple(c.variant, c.chunk_k, c.split_kv, c.wave_per_eu);
  };
  return a.op == b.op && a.selection == b.selection && a.writer == b.writer && a.shape == b.shape &&
         a.strides == b.strides && a.block_table == b.block_table && a.data == b.data &&
         config(a.config) == config(b.config);
}

} // namespace mqalab
