// What both meters share.
#include "tune/cost.hpp"

#include <algorithm>

namespace mqalab {

double compulsory_bytes(const Problem& p) {
  double bytes = static_cast<double>(p.rows()) * p.heads * (p.head_dim + 4.0);
  for (int32_t b = 0; b < p.batch; ++b)
    bytes += static_cast<double>(p.needed_tokens(b)) * (p.head_dim + 4) +
             4.0 * static_cast<double>(p.needed_blocks(b));
  for (int64_t row = 0; row < p.rows(); ++row)
    bytes += 4.0 * static_cast<double>(p.tail == MQA_TAIL_NEG_INF ? p.max_model_len : p.limit(row));
  return bytes;
}

Case clipped(const Case& problem, int64_t most_tokens) {
  Case c = problem;
  const int32_t each = c.shape.lens_per_row ? c.shape.next_n : 1; // lengths of one sequence
  const auto lengths = problem.shape.context_lens;
  int32_t longest = 0;
  for (int32_t b = 0; b < c.shape.batch; ++b)
    if (lengths[static_cast<size_t>(b * each)] > lengths[static_cast<size_t>(longest * each)]) longest = b;
  c.shape.context_lens.clear(), c.shape.batch = 0;
  int64_t tokens = 0;
  for (int32_t i = 0; i < problem.shape.batch; ++i) {
    const int32_t b = (longest + i) % problem.shape.batch;
    tokens += std::max(0, lengths[static_cast<size_t>(b * each)]) * int64_t{c.shape.next_n};
    if (c.shape.batch > 0 && tokens > most_tokens) break;
    ++c.shape.batch;
    c.shape.context_lens.insert(c.shape.context_lens.end(), lengths.begin() + b * each,
                                lengths.begin() + (b + 1) * each);
  }
  if (c.shape.batch < problem.shape.batch) c.shape.num_blocks = 0, c.strides = {};
  return c;
}

} // namespace mqalab
