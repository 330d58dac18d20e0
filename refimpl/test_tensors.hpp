// A problem for generator tests, and its tensors read back element by element.
#pragma once
#include "refimpl/fp8.hpp"
#include "refimpl/generate.hpp"
#include "refimpl/test_problems.hpp"

#include <cstring>

namespace mqalab {

inline double query(const Problem& p, const Tensors& t, int64_t row, int32_t head, int32_t dim) {
  return decode_fp8(p.fp8, t.q.data()[query_offset_bytes(p, row, head, dim)]);
}
inline double key(const Problem& p, const Tensors& t, int64_t block, int32_t token, int32_t dim) {
  return decode_fp8(p.fp8, t.kv_cache.data()[value_offset_bytes(p, block, token, dim)]);
}
inline float load(const uint8_t* bytes) {
  float value;
  std::memcpy(&value, bytes, 4);
  return value;
}
inline float scale(const Problem& p, const Tensors& t, int64_t block, int32_t token) {
  return load(t.kv_cache.data() + scale_offset_bytes(p, block, token));
}
inline float weight(const Problem& p, const Tensors& t, int64_t row, int32_t head) {
  return load(t.weights.data() + 4 * (row * p.weights_stride + head));
}

inline Problem small_problem() {
  Problem p;
  p.batch = 2, p.next_n = 2, p.heads = 16, p.head_dim = 64, p.block_size = 16, p.max_model_len = 40;
  p.context_lens = {40, 21};
  return dense(p);
}

inline DataSpec exact(Pattern pattern, uint64_t seed = 5) {
  return {.pattern = pattern, .seed = seed, .overrides = {}};
}
} // namespace mqalab
