#include "fuzz/large_sample.hpp"

#include "fuzz/random.hpp"

#include <algorithm>
#include <cstring>
#include <set>
#include <utility>

namespace mqalab {
namespace {

constexpr int64_t kWindow = 32; // columns on either side of a place of interest
constexpr int kRandomRows = 8, kRandomColumns = 3;

std::vector<int64_t> sample_rows(const Problem& p, Random& random) {
  const int64_t count = p.output_rows();
  std::set<int64_t> rows;
  const auto add = [&](int64_t row) {
    for (int64_t r = row - 1; r <= row + 1; ++r)
      if (r >= 0 && r < count) rows.insert(r);
  };
  if (count == 0) return {};
  add(0), add(count - 1);
  for (const int64_t edge : {int64_t{1} << 29, int64_t{1} << 30}) // elements
    if (edge < p.output_offset(count - 1) + p.logits_stride) add(p.output_row_at(edge));
  if (p.next_n > 1) add(p.next_n);
  for (int i = 0; i < kRandomRows; ++i) rows.insert(random.between(0, count - 1));
  return {rows.begin(), rows.end()};
}

std::vector<int64_t> sample_columns(const Problem& p, int64_t row, int32_t chunk_tokens, Random& random) {
  const int64_t first = p.first(row), limit = p.limit(row), start = p.output_offset(row);
  std::vector<int64_t> columns{first, limit - 1};
  for (const int64_t edge : {int64_t{1} << 29, int64_t{1} << 30}) columns.push_back(edge - start);
  if (const int64_t chunks = (limit - first) / std::max(chunk_tokens, 1); chunks > 0)
    columns.push_back(first + random.between(1, chunks) * chunk_tokens);
  for (int i = 0; i < kRandomColumns; ++i) columns.push_back(random.between(first, limit - 1));
  std::erase_if(columns, [&](int64_t c) { return c < first || c >= limit; });
  return columns;
}

SparseBuffer copied(const SparseBuffer& from, int64_t offset_bytes, int64_t bytes) {
  SparseBuffer to(bytes);
  std::memcpy(to.fill(0, bytes).data(), from.data() + offset_bytes, static_cast<size_t>(bytes));
  return to;
}

} // namespace

std::vector<SampleWindow> sample_windows(const Problem& p, int32_t chunk_tokens, uint64_t seed) {
  Random random(seed);
  std::vector<SampleWindow> windows;
  for (const int64_t row : sample_rows(p, random)) {
    if (p.first(row) >= p.limit(row)) continue;
    for (const int64_t column : sample_columns(p, row, chunk_tokens, random))
      windows.push_back(
          {row, std::max(p.first(row), column - kWindow), std::min(p.limit(row), column + kWindow)});
  }
  return windows;
}

WindowReference::WindowReference(const Problem& p, Tensors tensors)
    : p_(p), table_starts_(mqalab::table_starts(p)), tensors_(std::move(tensors)), q_(std::move(tensors_.q)),
      weights_(std::move(tensors_.weights)) {}

Problem WindowReference::problem_of(const SampleWindow& w, int64_t first_position) const {
  Problem one = p_;
  const int64_t row = w.row % p_.rows(), end = p_.position_of(row, w.end - 1) + 1;
  one.batch = one.next_n = 1, one.lens_per_row = true;
  one.q_stride_batch = one.q_stride_next = p_.heads * p_.q_stride_head;
  one.weights_stride = p_.heads;
  if (p_.op == Operation::prefill_logits) { // its keys have no table: a narrower range of them
    one.row_starts = {static_cast<int32_t>(first_position)}, one.context_lens = {static_cast<int32_t>(end)};
    return one;
  }
  if (is_ragged(p_.op)) one.op = is_per_head(p_.op) ? Operation::per_head_logits : Operation::paged_logits;
  const int64_t first_block = first_position / p_.block_size,
                blocks = (end + p_.block_size - 1) / p_.block_size - first_block;
  const auto table =
      p_.block_table.begin() + table_starts_[static_cast<size_t>(row / p_.next_n)] + first_block;
  one.block_table.assign(table, table + blocks);
  one.block_table_stride = blocks;
  one.context_lens = {static_cast<int32_t>(end - first_block * p_.block_size)};
  one.max_model_len = one.context_lens[0];
  return one;
}

RowReference WindowReference::operator()(const SampleWindow& w, const Policy& policy, bool with_bound) {
  const int64_t row = w.row % p_.rows(), head = w.row / p_.rows(),
                first_position = p_.position_of(row, w.begin);
  const Problem one = problem_of(w, first_position);
  tensors_.q = copied(q_, query_offset_bytes(p_, row, 0, 0), query_bytes(one));
  tensors_.weights = copied(weights_, 4 * row * p_.weights_stride, 4 * int64_t{p_.heads});
  RowReference all = reference_row(one, tensors_, head, policy, with_bound);
  // A window of a table begins inside of a block.
  const int64_t before = p_.op == Operation::prefill_logits ? 0 : first_position % p_.block_size;
  all.value.erase(all.value.begin(), all.value.begin() + before);
  all.bound.erase(all.bound.begin(), all.bound.begin() + before);
  return all;
}

} // namespace mqalab
