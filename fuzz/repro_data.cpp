#include "fuzz/repro_data.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>

namespace mqalab {
namespace {

constexpr int64_t kShortestRun_words = 16;
constexpr size_t kMostHex = 2 << 20;
constexpr size_t kMostCells = 64;
constexpr int64_t kCellsPerRow = 8, kMostRowsLooked = 64;

std::string hex_of(const uint8_t* bytes, int64_t count) {
  std::string text;
  text.reserve(static_cast<size_t>(2 * count));
  for (int64_t i = 0; i < count; ++i) text += fmt::format("{:02x}", bytes[i]);
  return text;
}

// Length in words of the run of equal words at `at`.
int64_t run_words(const uint8_t* data, int64_t at, int64_t end) {
  int64_t words = 1;
  while (at + 4 * (words + 1) <= end && std::memcmp(data + at, data + at + 4 * words, 4) == 0) ++words;
  return words;
}

// Poison and zeros come in long runs of one word; everything else is written out.
void add_range(std::vector<Piece>& result, const uint8_t* data, int64_t begin, int64_t end) {
  int64_t plain = begin, at = begin;
  const auto flush = [&](int64_t upto) {
    if (upto > plain) result.push_back({plain, 1, hex_of(data + plain, upto - plain)});
  };
  while (at + 4 <= end) {
    const int64_t words = run_words(data, at, end);
    if (words >= kShortestRun_words) {
      flush(at);
      result.push_back({at, words, hex_of(data + at, 4)});
      plain = at + 4 * words;
    }
    at += 4 * words;
  }
  flush(end);
}

DueCell due_cell(const Problem& p, const RowReference& reference, int64_t row, int64_t column) {
  if (column < p.limit(row)) {
    const auto i = static_cast<size_t>(column);
    return {row, column, Due::value, reference.value[i], reference.bound[i]};
  }
  const bool filled = column < p.max_model_len && p.tail == MQA_TAIL_NEG_INF;
  return {row, column, filled ? Due::minus_infinity : Due::untouched, -INFINITY, 0};
}

std::vector<DueCell> due_cells(const Problem& p, const Tensors& tensors, const Verdict& verdict,
                               const Policy& policy) {
  std::set<std::pair<int64_t, int64_t>> seen;
  std::vector<DueCell> cells;
  const auto add = [&](const RowReference& reference, int64_t row, int64_t column) {
    const bool inside = column >= 0 && column < p.logits_stride;
    if (inside && cells.size() < kMostCells && seen.insert({row, column}).second)
      cells.push_back(due_cell(p, reference, row, column));
  };
  for (const BadCell& bad : verdict.first_bad)
    if (bad.row >= 0 && bad.row < p.rows())
      add(reference_row(p, tensors, bad.row, policy), bad.row, bad.column);
  for (int64_t row = 0; row < std::min(p.rows(), kMostRowsLooked); ++row) {
    const RowReference reference = reference_row(p, tensors, row, policy);
    for (int64_t column = 0; column < std::min(p.limit(row), kCellsPerRow); ++column)
      add(reference, row, column);
    add(reference, row, p.limit(row) - 1);
    add(reference, row, p.limit(row));
  }
  return cells;
}

size_t hex_size(const std::vector<Piece>& list) {
  size_t size = 0;
  for (const Piece& piece : list) size += piece.hex.size() + 16;
  return size;
}

} // namespace

std::vector<Piece> pieces(const SparseBuffer& buffer) {
  std::vector<Piece> result;
  for (const ByteRange& range : buffer.filled()) add_range(result, buffer.data(), range.begin, range.end);
  return result;
}

ReproData repro_data(const Case& c, const Verdict& verdict, const Policy& policy) {
  ReproData data;
  data.problem = resolve(c), data.config = c.config;
  if (verdict.launched.config.chunk_k > 0) data.config = verdict.launched.config;
  const Tensors tensors = generate(data.problem, c.data);
  data.cells = due_cells(data.problem, tensors, verdict, policy);
  data.title = verdict.message.substr(0, verdict.message.find('\n'));
  data.q = pieces(tensors.q), data.kv_cache = pieces(tensors.kv_cache),
  data.weights = pieces(tensors.weights);
  data.too_large = hex_size(data.q) + hex_size(data.kv_cache) + hex_size(data.weights) > kMostHex;
  return data;
}

} // namespace mqalab
