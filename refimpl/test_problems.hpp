// Problems for tests: dense by default, random on demand.
#pragma once
#include "refimpl/problem.hpp"
#include "refimpl/random.hpp"

#include <numeric>

namespace mqalab {

// Dense strides, the smallest pool, the identity table; a test changes what it is about and calls dense()
// again.
inline Problem dense(Problem p) {
  const int64_t width = (p.max_model_len + p.block_size - 1) / p.block_size;
  p.q_stride_head = p.head_dim, p.q_stride_next = p.q_stride_head * p.heads;
  p.q_stride_batch = p.q_stride_next * p.next_n;
  p.weights_stride = p.heads, p.logits_stride = p.max_model_len, p.block_table_stride = width;
  p.kv_block_stride_bytes = int64_t{p.block_size} * (p.head_dim + 4);
  p.num_blocks = width * p.batch;
  p.block_table.resize(size_t(width * p.batch));
  std::iota(p.block_table.begin(), p.block_table.end(), 0);
  return p;
}

// Small and odd: every layout, flavour, block size, stride and kind of length; some ids are bad, some entries
// alias.
inline Problem random_problem(uint64_t seed) {
  const Stream draw(seed, 77);
  uint64_t next = 0;
  const auto pick = [&](std::initializer_list<int> choices) {
    return choices.begin()[draw.below(choices.size(), next++)];
  };
  Problem p;
  p.batch = pick({1, 1, 2, 3}), p.next_n = pick({1, 1, 2, 5}), p.heads = pick({1, 3, 8, 16, 40});
  p.head_dim = pick({16, 32, 64, 128, 256}), p.block_size = pick({1, 16, 48});
  p.layout = p.block_size > 1 && pick({0, 1}) ? MQA_SHUFFLED : MQA_PLANAR;
  p.fp8 = pick({0, 1}) ? MQA_E4M3FNUZ : MQA_E4M3FN;
  p.max_model_len = pick({1, 5, 33, 150}), p.lens_per_row = pick({0, 1});
  p = dense(p);
  p.q_stride_head += pick({0, 16}), p.q_stride_next = p.q_stride_head * p.heads + pick({0, 3});
  p.q_stride_batch = p.q_stride_next * p.next_n + pick({0, 7});
  p.weights_stride += pick({0, 5}), p.kv_block_stride_bytes += pick({0, 12}), p.logits_stride += pick({0, 3});
  p.num_blocks += 2;
  for (int32_t& id : p.block_table)
    id = draw.below(12, next++) == 0 ? pick({-1, int(p.num_blocks), INT32_MIN})
                                     : int32_t(draw.below(uint64_t(p.num_blocks), next++));
  for (int64_t i = 0; i < (p.lens_per_row ? p.rows() : p.batch); ++i)
    p.context_lens.push_back(int32_t(draw.below(uint64_t(p.max_model_len) + 8, next++)) - 2);
  return p;
}

inline constexpr Operation kLogitsOperations[] = {
    Operation::paged_logits,           Operation::ragged_logits, Operation::per_head_logits,
    Operation::per_head_ragged_logits, Operation::head_sum,      Operation::prefill_logits};

// Block size 1 and a flat list of slots, some of them bad.
inline Problem ragged(Problem p, const Stream& draw) {
  p.block_size = 1, p.layout = MQA_PLANAR, p.lens_per_row = false;
  p.kv_block_stride_bytes = p.head_dim + 4 + 4 * int64_t(draw.below(3, 0)), p.block_table_stride = 0;
  p.context_lens.assign(size_t(p.batch), 0), p.block_table.clear();
  p.num_blocks = 1 + int64_t(draw.below(200, 1));
  for (int32_t& length : p.context_lens) {
    length = int32_t(draw.below(uint64_t(p.max_model_len) + 5, 2 + p.block_table.size()));
    for (int32_t i = 0; i < length; ++i) {
      const uint64_t which = 1000 + p.block_table.size();
      p.block_table.push_back(draw.below(16, which) ? int32_t(draw.at(1).below(uint64_t(p.num_blocks), which))
                                                    : -1);
    }
  }
  return p;
}

// One batch of rows over contiguous keys, each row with a start and an end, some of them empty or the wrong
// way round.
inline Problem prefill(Problem p, const Stream& draw) {
  p.next_n = int32_t(p.rows()) + int32_t(draw.below(12, 0)), p.batch = 1;
  p.block_size = 1, p.layout = MQA_PLANAR, p.lens_per_row = true, p.compressed = draw.below(2, 1);
  p.block_table.clear(), p.block_table_stride = 0;
  p.num_blocks = int64_t(draw.below(200, 2));
  p.kv_block_stride_bytes = p.head_dim + 4 * int64_t(draw.below(3, 3)),
  p.key_scales_stride = 1 + int64_t(draw.below(3, 4));
  p.context_lens.clear();
  for (int32_t row = 0; row < p.next_n; ++row) {
    p.row_starts.push_back(
        int32_t(draw.at(2).below(uint64_t(p.num_blocks) + 4, uint64_t(row))) / (1 + row % 3) - 3);
    p.context_lens.push_back(int32_t(draw.at(3).below(uint64_t(p.num_blocks) + 8, uint64_t(row))) - 2);
  }
  return p;
}

// The same of any operation that makes logits.
inline Problem random_problem(Operation op, uint64_t seed) {
  Problem p = random_problem(seed);
  const Stream draw(seed, 78);
  p.op = op;
  if (is_ragged(op)) p = ragged(p, draw);
  if (op == Operation::prefill_logits) p = prefill(p, draw);
  if (is_per_head(op))
    p.logits_stride_head = (p.rows() - 1) * p.logits_stride + p.max_model_len + int64_t(draw.below(9, 9));
  return p;
}

} // namespace mqalab
