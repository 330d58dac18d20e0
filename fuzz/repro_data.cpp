#include "fuzz/repro_data.hpp"
#include "fuzz/case_names.hpp"

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
  const int64_t element = p.output_offset(row) + column;
  if (column >= reference.first && column < reference.end()) {
    const auto i = static_cast<size_t>(column - reference.first);
    return {row, column, element, Due::value, reference.value[i], reference.bound[i]};
  }
  const bool filled = column < p.max_model_len && p.tail == MQA_TAIL_NEG_INF;
  return {row, column, element, filled ? Due::minus_infinity : Due::untouched, -INFINITY, 0};
}

std::vector<DueCell> due_cells(const Problem& p, const Tensors& tensors, const Verdict& verdict,
                               const Policy& policy) {
  std::set<std::pair<int64_t, int64_t>> seen;
  std::vector<DueCell> cells;
  const auto add = [&](const RowReference& reference, int64_t row, int64_t column) {
    const bool inside = column >= 0 && p.output_offset(row) + column < p.output_end(row);
    if (inside && cells.size() < kMostCells && seen.insert({row, column}).second)
      cells.push_back(due_cell(p, reference, row, column));
  };
  for (const BadCell& bad : verdict.first_bad)
    if (bad.row >= 0 && bad.row < p.output_rows())
      add(reference_row(p, tensors, bad.row, policy), bad.row, bad.column);
  for (int64_t row = 0; row < std::min(p.output_rows(), kMostRowsLooked); ++row) {
    const RowReference reference = reference_row(p, tensors, row, policy);
    for (int64_t i = 0; i < std::min(reference.end() - reference.first, kCellsPerRow); ++i)
      add(reference, row, reference.first + i);
    for (int64_t column : {reference.first - 1, reference.end() - 1, reference.end()})
      add(reference, row, column);
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

int64_t planes_bytes(const Problem& p) {
  if (p.op != Operation::head_sum) return 0;
  Problem planes = p;
  planes.op = Operation::per_head_logits;
  return logits_bytes(planes);
}

std::string_view entry_name(Operation op) {
  if (op == Operation::prefill_logits) return "mqa_prefill_logits";
  if (op == Operation::head_sum || is_per_head(op)) return "mqa_per_head_logits";
  return is_ragged(op) ? "mqa_ragged_logits" : "mqa_paged_logits";
}

std::vector<int32_t> slot_prefix_of(const Problem& p) {
  const std::vector<int64_t> starts = table_starts(p);
  return {starts.begin(), starts.end()};
}

ReproData repro_data(const Case& c, const Verdict& verdict, const Policy& policy) {
  ReproData data;
  data.title = verdict.message.substr(0, verdict.message.find('\n'));
  data.config = c.config;
  if (verdict.launched.config.chunk_k > 0) data.config = verdict.launched.config;
  if (!makes_logits(c.op)) {
    data.no_program =
        fmt::format("no program is written for op {}: use replay.sh beside this file", name_of(c.op));
    return data;
  }
  data.problem = resolve(c);
  const Tensors tensors = generate(data.problem, c.data);
  data.cells = due_cells(data.problem, tensors, verdict, policy);
  data.q = pieces(tensors.q), data.kv_cache = pieces(tensors.kv_cache),
  data.weights = pieces(tensors.weights), data.key_scales = pieces(tensors.key_scales);
  if (hex_size(data.q) + hex_size(data.kv_cache) + hex_size(data.weights) + hex_size(data.key_scales) >
      kMostHex)
    data.no_program = "the data of this case are too large to embed: use replay.sh beside this file";
  return data;
}

} // namespace mqalab
