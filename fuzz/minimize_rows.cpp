// Moves towards fewer sequences, rows, heads and columns.
#include "fuzz/boundaries.hpp"
#include "fuzz/minimize_parts.hpp"

#include <algorithm>

namespace mqalab {

// ---- sequences and rows ----
Case sequences(const Case& c, int64_t first, int64_t batch) {
  const int64_t per_sequence = c.shape.lens_per_row ? c.shape.next_n : 1;
  const auto begin = c.shape.context_lens.begin() + first * per_sequence;
  Case result = c;
  result.shape.batch = static_cast<int32_t>(batch);
  result.shape.context_lens.assign(begin, begin + batch * per_sequence);
  std::erase_if(result.block_table.set, [&](const TableOverride& o) { return o.row >= batch; });
  if (c.shape.starts.empty()) return result;
  const auto starts = c.shape.starts.begin() + first * c.shape.next_n;
  result.shape.starts.assign(starts, starts + batch * c.shape.next_n);
  return result;
}
Cases fewer_sequences(const Case& c) {
  Cases result;
  const int64_t batch = c.shape.batch;
  for (const int64_t fewer : towards(1, batch)) {
    result.push_back(sequences(c, 0, fewer));
    result.push_back(sequences(c, batch - fewer, fewer));
  }
  return result;
}
// Of the rows [first, first + next_n) of every sequence.
static std::vector<int32_t> of_rows(const Case& c, const std::vector<int32_t>& values, int32_t first,
                                    int32_t next_n) {
  std::vector<int32_t> kept;
  for (int64_t b = 0; b < c.shape.batch && !values.empty(); ++b) {
    const auto row = values.begin() + b * c.shape.next_n + first;
    kept.insert(kept.end(), row, row + next_n);
  }
  return kept;
}
Case with_next_n(const Case& c, int32_t next_n, int32_t first) {
  Case result = c;
  result.shape.next_n = next_n;
  if (c.shape.lens_per_row) result.shape.context_lens = of_rows(c, c.shape.context_lens, first, next_n);
  result.shape.starts = of_rows(c, c.shape.starts, first, next_n);
  return result;
}
Cases smaller_next_n(const Case& c) {
  Cases result;
  for (const int64_t n : towards(1, c.shape.next_n)) {
    result.push_back(with_next_n(c, static_cast<int32_t>(n)));
    if (c.shape.lens_per_row) // the rows differ: perhaps the last ones are needed
      result.push_back(with_next_n(c, static_cast<int32_t>(n), static_cast<int32_t>(c.shape.next_n - n)));
  }
  return result;
}
Cases lengths_per_sequence(const Case& c) {
  if (!c.shape.lens_per_row || !c.shape.starts.empty() || c.op == Operation::prefill_logits) return {};
  Case result = c;
  result.shape.lens_per_row = false;
  result.shape.context_lens.clear();
  for (int64_t b = 0; b < c.shape.batch; ++b)
    result.shape.context_lens.push_back(
        c.shape.context_lens[static_cast<size_t>((b + 1) * c.shape.next_n - 1)]);
  return {result};
}
// To the default, to one, and ever closer to what they are: whole groups of 8 first.
Cases fewer_heads(const Case& c) {
  Cases result = default_value(c, "heads");
  for (Case& fewer : smaller_values(c, "heads", 8)) result.push_back(std::move(fewer));
  for (const int64_t heads : towards(1, c.shape.heads)) result.push_back(with(c, "heads", heads));
  return result;
}
Cases usual_head_dim(const Case& c) { return default_value(c, "head_dim"); }

// ---- columns ----
static Case with_lengths(const Case& c, const std::function<int64_t(int64_t)>& shorter) {
  Case result = c;
  for (int32_t& length : result.shape.context_lens) length = static_cast<int32_t>(shorter(length));
  return result;
}
// All lengths to one value: bisected, and chunk by chunk, which keeps the residue that a split or tail fault
// needs.
Cases shorter_contexts(const Case& c) {
  Cases result;
  const int64_t longest = longest_context(c), chunk = chunk_tokens(c), block = c.shape.block_size;
  const auto cap = [&](int64_t most) {
    if (most < longest)
      result.push_back(with_lengths(c, [most](int64_t length) { return std::min(length, most); }));
  };
  cap(1);
  for (const int64_t unit : {chunk, block}) {
    if (unit <= 1) continue;
    for (const int64_t count : towards(0, longest / unit))
      cap(count * unit + longest % unit), cap(count * unit + 1);
  }
  for (const int64_t length : towards(1, longest)) cap(length);
  return result;
}
// One row at a time: to 1, else bisected.
Cases shorter_single_context(const Case& c) {
  Cases result;
  const size_t count = std::min<size_t>(c.shape.context_lens.size(), 16);
  for (size_t i = 0; i < count; ++i)
    for (const int64_t length : towards(1, c.shape.context_lens[i])) {
      result.push_back(c);
      result.back().shape.context_lens[i] = static_cast<int32_t>(length);
    }
  return result;
}
Cases equal_contexts(const Case& c) {
  Cases result;
  for (const int64_t length : {int64_t{1}, longest_context(c)}) {
    result.push_back(with_lengths(c, [length](int64_t) { return length; }));
    if (result.back() == c) result.pop_back();
  }
  return result;
}
Cases fewer_columns(const Case& c) {
  Cases result;
  const int64_t context = std::max<int64_t>(longest_context(c), 1);
  for (const int64_t columns : {context, context + 1, context + 2})
    if (columns < c.shape.max_model_len) result.push_back(with(c, "max_model_len", columns));
  for (Case& smaller : smaller_values(c, "max_model_len")) result.push_back(std::move(smaller));
  return result;
}
// The context and the columns together: neither can shrink alone when the fault needs ctx == max_model_len.
Cases columns_and_context(const Case& c) {
  Cases result;
  const int64_t gap = c.shape.max_model_len - longest_context(c);
  for (Case& shorter : shorter_contexts(c)) {
    shorter.shape.max_model_len = std::max<int64_t>(longest_context(shorter) + gap, 1);
    result.push_back(std::move(shorter));
  }
  return result;
}

} // namespace mqalab
