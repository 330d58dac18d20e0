// Moves for what only some operations have: starts, a selection, a writer, and the operation itself.
#include "fuzz/minimize_parts.hpp"

#include <algorithm>

namespace mqalab {

// Fewer fields, or a kernel with fewer forms.
Cases simpler_operation(const Case& c) {
  const auto as = [&](Operation op) {
    Case simpler = c;
    simpler.op = op;
    drop_meaningless(simpler);
    return simpler;
  };
  switch (c.op) {
  case Operation::ragged_logits:
  case Operation::per_head_logits: return {as(Operation::paged_logits)};
  case Operation::per_head_ragged_logits:
    return {as(Operation::paged_logits), as(Operation::ragged_logits), as(Operation::per_head_logits)};
  case Operation::head_sum: return {as(Operation::paged_logits), as(Operation::per_head_logits)};
  case Operation::indexer:
    return {as(Operation::paged_logits), as(Operation::top_k), as(Operation::cache_write)};
  default: return {};
  }
}
Cases simpler_selection(const Case& c) {
  Cases result = smaller_values(c, "top_k.k");
  for (const char* name :
       {"top_k.stable", "writer.key_type", "writer.scale_format", "writer.skip_every", "compressed"})
    for (Case& simpler : default_value(c, name)) result.push_back(std::move(simpler));
  for (Case& smaller : smaller_values(c, "writer.skip_every")) result.push_back(std::move(smaller));
  return result;
}
// The candidates and k together: neither can shrink alone when the fault needs a full or a whole selection.
Cases k_and_context(const Case& c) {
  Cases result;
  if (!has_meaning(c.op, "top_k.k")) return result;
  for (const int64_t k : towards(1, c.selection.k)) {
    const int64_t less = c.selection.k - k;
    result.push_back(with(c, "top_k.k", k));
    for (int32_t& length : result.back().shape.context_lens)
      length =
          static_cast<int32_t>(std::max<int64_t>(std::min<int64_t>(length, c.shape.max_model_len) - less, 0));
    result.push_back(result.back());
    result.back().shape.max_model_len = std::max<int64_t>(c.shape.max_model_len - less, 1);
  }
  return result;
}
// Without starts, all at one place, one at a time, and each range moved to key 0.
Cases simpler_starts(const Case& c) {
  Cases result;
  const auto& starts = c.shape.starts;
  if (starts.empty()) return result;
  result.push_back(c);
  result.back().shape.starts.clear();
  const auto changed = [&](size_t row, int64_t start, int64_t shift) {
    result.push_back(c);
    result.back().shape.starts[row] = static_cast<int32_t>(start);
    int32_t& end = result.back().shape.context_lens[row];
    end = static_cast<int32_t>(std::clamp<int64_t>(end - shift, INT32_MIN, INT32_MAX));
  };
  for (size_t row = 0; row < std::min<size_t>(starts.size(), 16); ++row) {
    if (starts[row] != 0) changed(row, 0, 0), changed(row, 0, std::max(starts[row], 0));
    for (const int64_t start : towards(1, starts[row]))
      changed(row, start, 0), changed(row, start, starts[row] - start);
  }
  return result;
}

} // namespace mqalab
