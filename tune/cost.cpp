// What both meters share.
#include "tune/cost.hpp"

#include <algorithm>

namespace mqalab {

double compulsory_bytes(const Problem& p) {
  double bytes = static_cast<double>(p.rows()) * p.heads * (p.head_dim + 4.0);
  for (const NeededBlock& block : needed_pool(p))
    bytes +=
        static_cast<double>(block.tokens) * (p.head_dim + 4) + (p.op == Operation::prefill_logits ? 0 : 4);
  for (int64_t row = 0; row < p.output_rows(); ++row)
    bytes += 4.0 * static_cast<double>(p.tail == MQA_TAIL_NEG_INF
                                           ? p.max_model_len
                                           : std::max<int64_t>(0, p.limit(row) - p.first(row)));
  return bytes;
}

namespace {

// The first rows: they see as much as others do.
Case clipped_rows(const Case& problem, int64_t most_tokens) {
  Case c = problem;
  const auto& s = problem.shape;
  int64_t tokens = 0;
  int32_t rows = 0;
  for (; rows < s.next_n && (rows == 0 || tokens <= most_tokens); ++rows) {
    const auto row = static_cast<size_t>(rows);
    tokens += std::max<int64_t>(0, int64_t{s.context_lens[row]} - (s.starts.empty() ? 0 : s.starts[row]));
  }
  c.shape.next_n = rows;
  c.shape.context_lens.resize(static_cast<size_t>(rows));
  if (!s.starts.empty()) c.shape.starts.resize(static_cast<size_t>(rows));
  return c;
}

} // namespace

Case clipped(const Case& problem, int64_t most_tokens) {
  if (problem.op == Operation::prefill_logits) return clipped_rows(problem, most_tokens);
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
