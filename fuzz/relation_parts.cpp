#include "fuzz/relation_parts.hpp"

#include <algorithm>
#include <cstring>

namespace mqalab {
namespace {

constexpr int64_t kDense_bytes = 1 << 24;
constexpr uint8_t kPoison = 0xff; // NaN in e4m3fn and fp32, -240 in e4m3fnuz

SparseBuffer poisoned(int64_t bytes) {
  SparseBuffer buffer(bytes);
  if (bytes <= kDense_bytes) std::ranges::fill(buffer.fill(0, bytes), kPoison);
  return buffer;
}

SparseBuffer copy_of(const SparseBuffer& from) {
  SparseBuffer to(from.size());
  for (const ByteRange& r : from.filled())
    std::memcpy(to.fill(r.begin, r.end - r.begin).data(), from.data() + r.begin,
                static_cast<size_t>(r.end - r.begin));
  return to;
}

void copy(const SparseBuffer& from, int64_t at, SparseBuffer& to, int64_t there, int64_t bytes) {
  std::memcpy(to.fill(there, bytes).data(), from.data() + at, static_cast<size_t>(bytes));
}

// Row `theirs` of q and weights is row `ours`.
void copy_row(const Problem& from, const Tensors& t, int64_t ours, const Problem& to, Tensors& out,
              int64_t theirs) {
  for (int32_t h = 0; h < from.heads; ++h)
    copy(t.q, query_offset_bytes(from, ours, h, 0), out.q, query_offset_bytes(to, theirs, h, 0),
         from.head_dim);
  copy(t.weights, 4 * ours * from.weights_stride, out.weights, 4 * theirs * to.weights_stride,
       4 * int64_t{from.heads});
}

// With what is not needed of a needed block: it was poison.
void copy_block(const Problem& from, const Tensors& t, int64_t block, const Problem& to, Tensors& out,
                int64_t there, int32_t tokens) {
  const int32_t run = from.layout == to.layout && from.layout == MQA_PLANAR ? from.head_dim : 16;
  for (int32_t token = 0; token < tokens; ++token) {
    for (int32_t d = 0; d < from.head_dim; d += run)
      copy(t.kv_cache, value_offset_bytes(from, block, token, d), out.kv_cache,
           value_offset_bytes(to, there, token, d), run);
    copy(t.scales(from), scale_offset_bytes(from, block, token), out.scales(to),
         scale_offset_bytes(to, there, token), 4);
  }
}

Problem dense(const Problem& p, const Choice& choice) {
  Problem q = p;
  const bool prefill = p.op == Operation::prefill_logits;
  const auto rows = static_cast<int64_t>(choice.rows.size());
  q.next_n = prefill ? static_cast<int32_t>(rows) : choice.next_n;
  q.batch = prefill ? 1 : static_cast<int32_t>(rows / choice.next_n);
  q.q_stride_head = p.head_dim, q.q_stride_next = p.heads * q.q_stride_head;
  q.q_stride_batch = q.next_n * q.q_stride_next, q.weights_stride = p.heads;
  q.logits_stride = p.max_model_len,
  q.logits_stride_head = is_per_head(p.op) || p.op == Operation::head_sum ? rows * q.logits_stride : 0;
  q.context_lens.clear(), q.block_table.clear(), q.row_starts.clear();
  if (!prefill && !is_ragged(p.op))
    q.block_table_stride = (p.max_model_len + p.block_size - 1) / p.block_size;
  return q;
}

} // namespace

Tensors copy_of(const Tensors& t) {
  return {copy_of(t.q), copy_of(t.kv_cache), copy_of(t.weights), copy_of(t.key_scales)};
}

Tensors laid_out_anew(const Problem& from, const Tensors& t, const Problem& to, int32_t block_shift) {
  Tensors out{poisoned(query_bytes(to)), poisoned(kv_cache_bytes(to)), poisoned(weights_bytes(to)),
              poisoned(key_scales_bytes(to))};
  for (int64_t row = 0; row < from.rows(); ++row) copy_row(from, t, row, to, out, row);
  for (const NeededBlock& b : needed_pool(from))
    copy_block(from, t, b.block, to, out, b.block + block_shift, b.tokens);
  return out;
}

Partner chosen_rows(const Problem& p, const Tensors& t, const Choice& choice) {
  Partner partner;
  Problem& q = partner.problem = dense(p, choice);
  const std::vector<int64_t> starts = table_starts(p);
  for (size_t i = 0; i < choice.rows.size(); ++i) {
    const int64_t row = choice.rows[i], sequence = row / p.next_n;
    if (!p.row_starts.empty()) q.row_starts.push_back(p.row_starts[row]);
    const bool last_of_sequence = (i + 1) % choice.next_n == 0;
    // The length of a whole sequence is its last row's.
    const int64_t length = p.lens_per_row ? p.context_lens[row]
                                          : int64_t{p.context_lens[sequence]} - p.next_n + 1 + row % p.next_n;
    const auto usable =
        static_cast<int32_t>(std::max<int64_t>(length, p.op == Operation::prefill_logits ? INT32_MIN : 0));
    if (p.lens_per_row || last_of_sequence) q.context_lens.push_back(usable);
    if (p.op == Operation::prefill_logits || !last_of_sequence) continue;
    const auto entries = p.block_table.begin() + starts[sequence];
    q.block_table.insert(q.block_table.end(), entries,
                         entries + (is_ragged(p.op) ? usable : q.block_table_stride));
  }
  partner.tensors = {poisoned(query_bytes(q)), copy_of(t.kv_cache), poisoned(weights_bytes(q)),
                     copy_of(t.key_scales)};
  for (size_t i = 0; i < choice.rows.size(); ++i)
    copy_row(p, t, choice.rows[i], q, partner.tensors, static_cast<int64_t>(i));
  for (int64_t theirs = 0; theirs < q.output_rows(); ++theirs) {
    const int64_t row = choice.rows[theirs % q.rows()];
    partner.rows.push_back({row + theirs / q.rows() * p.rows(), theirs, p.first(row), p.limit(row)});
  }
  return partner;
}

std::vector<RowPair> same_rows(const Problem& p) {
  std::vector<RowPair> rows;
  for (int64_t row = 0; row < p.output_rows(); ++row) rows.push_back({row, row, p.first(row), p.limit(row)});
  return rows;
}

} // namespace mqalab
