// For tests of the oracle's pure half: the output that a right kernel leaves, to be spoilt by hand.
#pragma once
#include "fuzz/case.hpp"
#include "fuzz/judge.hpp"
#include "fuzz/sentinel.hpp"

#include <bit>
#include <limits>

namespace mqalab {

struct Doctored {
  Case c;
  Problem problem;
  Tensors tensors;
  std::vector<RowReference> rows;
  Watch watch;
  uint64_t salt = 1;
  std::vector<uint64_t> old_salts;
  std::vector<uint32_t> cells;

  explicit Doctored(const std::string& json)
      : c(case_from_json(json, "test")), problem(resolve(c)), tensors(generate(problem, c.data)),
        rows(reference(problem, tensors, Policy{})), watch(problem) {
    cells = right_output(salt);
  }
  std::vector<uint32_t> right_output(uint64_t prefill) const {
    std::vector<uint32_t> out(static_cast<size_t>(watch.cells));
    for (const Window& w : watch.windows)
      for (int64_t e = w.begin; e < w.end; ++e) out[w.first + e - w.begin] = right_bits(e, prefill);
    return out;
  }
  uint32_t right_bits(int64_t element, uint64_t prefill) const {
    const int64_t row = problem.output_row_at(element), column = element - problem.output_offset(row);
    if (column >= rows[row].first && column < rows[row].end())
      return std::bit_cast<uint32_t>(right(row, column));
    const bool tail = problem.tail == MQA_TAIL_NEG_INF && column < problem.max_model_len;
    return tail ? 0xff800000u : sentinel(prefill, element);
  }
  int64_t element(int64_t row, int64_t column) const { return problem.output_offset(row) + column; }
  uint32_t& at(int64_t row, int64_t column) { return cells[watch.cell_of(element(row, column))]; }
  void put(int64_t row, int64_t column, float v) { at(row, column) = std::bit_cast<uint32_t>(v); }
  float right(int64_t row, int64_t column) const {
    return static_cast<float>(rows[row].value[column - rows[row].first]);
  }
  void forget_write(int64_t row, int64_t column) { at(row, column) = sentinel(salt, element(row, column)); }

  Expected expected() const { return {problem, c.data, tensors, rows, is_exact(problem, c.data), 64}; }
  Output output() const { return {watch, cells, salt, old_salts}; }
  Verdict verdict() const { return judge(expected(), output()); }
};

inline constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
inline constexpr float kInf = std::numeric_limits<float>::infinity();

} // namespace mqalab
