// Odd here: `trade` moves.  They keep a product (rows * stride, blocks * block stride, chunks) while one
// factor shrinks and the other grows.  Without them a store lost past byte 2^31 stops shrinking at 513 rows.
#include "fuzz/minimize_moves.hpp"
#include "fuzz/boundaries.hpp"
#include "fuzz/fields.hpp"

#include <algorithm>
#include <array>
#include <functional>

namespace mqalab {
namespace {

using Cases = std::vector<Case>;

// Smallest first, then ever closer to the present value: a greedy walk over these is a bisection.
std::vector<int64_t> towards(int64_t smallest, int64_t value) {
  std::vector<int64_t> result;
  for (int64_t gap = value - smallest; gap > 0; gap /= 2) result.push_back(value - gap);
  return result;
}

Case with(const Case& c, std::string_view name, int64_t value) {
  Case result = c;
  field(name).set(result, value);
  return result;
}

Cases smaller_values(const Case& c, std::string_view name, int64_t step = 1) {
  Cases result;
  const Field& f = field(name);
  for (const int64_t value : towards(f.smallest / step, f.get(c) / step))
    result.push_back(with(c, name, value * step));
  return result;
}
Cases default_value(const Case& c, std::string_view name) {
  const Field& f = field(name);
  return f.get(c) == f.smallest ? Cases{} : Cases{with(c, name, f.smallest)};
}
Cases defaults_of(const Case& c, FieldGroup group) {
  Case all = c;
  Cases each;
  for (const Field& f : fields()) {
    if (f.group != group || f.get(c) == f.smallest) continue;
    f.set(all, f.smallest);
    each.push_back(with(c, f.name, f.smallest));
  }
  if (each.size() > 1) each.insert(each.begin(), all);
  return each;
}

// ---- data and configuration ----
Cases simpler_data(const Case& c) {
  Cases result;
  if (!c.data.overrides.empty()) {
    result.push_back(c);
    result.back().data.overrides.clear();
  }
  for (size_t i = 0; i < c.data.overrides.size(); ++i) {
    result.push_back(c);
    result.back().data.overrides.erase(result.back().data.overrides.begin() + static_cast<long>(i));
  }
  for (Case& simpler : defaults_of(c, FieldGroup::data)) result.push_back(std::move(simpler));
  return result;
}
Cases simpler_config(const Case& c) {
  Cases result = defaults_of(c, FieldGroup::config);
  for (Case& smaller : smaller_values(c, "config.chunk_k", 64)) result.push_back(std::move(smaller));
  for (Case& smaller : smaller_values(c, "config.split_kv")) result.push_back(std::move(smaller));
  return result;
}

// ---- sequences and rows ----
// Keeps the lengths [first, first + batch) of the sequences.
Case sequences(const Case& c, int64_t first, int64_t batch) {
  const int64_t per_sequence = c.shape.lens_per_row ? c.shape.next_n : 1;
  const auto begin = c.shape.context_lens.begin() + first * per_sequence;
  Case result = c;
  result.shape.batch = static_cast<int32_t>(batch);
  result.shape.context_lens.assign(begin, begin + batch * per_sequence);
  std::erase_if(result.block_table.set, [&](const TableOverride& o) { return o.row >= batch; });
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
Case with_next_n(const Case& c, int32_t next_n) {
  Case result = c;
  result.shape.next_n = next_n;
  if (c.shape.lens_per_row) {
    result.shape.context_lens.clear();
    for (int64_t b = 0; b < c.shape.batch; ++b)
      for (int64_t n = 0; n < next_n; ++n)
        result.shape.context_lens.push_back(
            c.shape.context_lens[static_cast<size_t>(b * c.shape.next_n + n)]);
  }
  return result;
}
Cases smaller_next_n(const Case& c) {
  Cases result;
  for (const int64_t n : towards(1, c.shape.next_n))
    result.push_back(with_next_n(c, static_cast<int32_t>(n)));
  return result;
}
Cases lengths_per_sequence(const Case& c) {
  if (!c.shape.lens_per_row) return {};
  Case result = c;
  result.shape.lens_per_row = false;
  result.shape.context_lens.clear();
  for (int64_t b = 0; b < c.shape.batch; ++b)
    result.shape.context_lens.push_back(
        c.shape.context_lens[static_cast<size_t>((b + 1) * c.shape.next_n - 1)]);
  return {result};
}
Cases fewer_heads(const Case& c) { return smaller_values(c, "heads", 8); }
Cases usual_head_dim(const Case& c) { return default_value(c, "head_dim"); }

// ---- columns ----
Case with_lengths(const Case& c, const std::function<int64_t(int64_t)>& shorter) {
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

// ---- table, pool, paddings ----
Cases simpler_table(const Case& c) {
  Cases result;
  if (!c.block_table.set.empty()) {
    result.push_back(c);
    result.back().block_table.set.clear();
  }
  for (const char* name :
       {"block_table.mode", "block_table.padding", "block_table.seed", "block_table.period", "num_blocks"})
    for (Case& simpler : default_value(c, name)) result.push_back(std::move(simpler));
  for (Case& smaller : smaller_values(c, "num_blocks")) result.push_back(std::move(smaller));
  return result;
}
Cases dense_strides(const Case& c) {
  Cases result = defaults_of(c, FieldGroup::strides);
  for (Case& dense : default_value(c, "strides.kv_block")) result.push_back(std::move(dense));
  return result;
}
Cases smaller_strides(const Case& c) {
  Cases result;
  for (const Field& f : fields())
    if (f.name.starts_with("strides."))
      for (Case& smaller : smaller_values(c, f.name, f.name == "strides.kv_block" ? 4 : 1))
        result.push_back(std::move(smaller));
  return result;
}
Cases smaller_blocks(const Case& c) {
  Cases result;
  for (const int32_t size : {1, 16, 32, 64}) {
    if (size >= c.shape.block_size) break;
    result.push_back(with(c, "block_size", size));
    if (size == 1) result.back().shape.layout = MQA_PLANAR;
  }
  return result;
}
Cases default_formats(const Case& c) {
  Cases result;
  for (const char* name : {"layout", "fp8", "tail"})
    for (Case& simpler : default_value(c, name)) result.push_back(std::move(simpler));
  return result;
}

// ---- trades ----
int64_t or_dense(int64_t stride, int64_t dense) { return stride ? stride : dense; }

// Rows of one sequence as sequences of one row, and the other way round.
Cases batch_for_next_n(const Case& c) {
  if (c.shape.next_n == 1) return {};
  Case apart = with_next_n(c, 1);
  apart.shape.lens_per_row = false;
  apart.shape.batch = static_cast<int32_t>(rows(c));
  apart.shape.context_lens.clear();
  for (int64_t r = 0; r < rows(c); ++r) {
    const int64_t length =
        c.shape.context_lens[static_cast<size_t>(c.shape.lens_per_row ? r : r / c.shape.next_n)];
    const int64_t hidden = c.shape.lens_per_row ? 0 : c.shape.next_n - 1 - r % c.shape.next_n;
    apart.shape.context_lens.push_back(static_cast<int32_t>(std::max<int64_t>(length - hidden, 0)));
  }
  return {apart};
}
// Fewer rows at a larger stride: the last row keeps its offset, and the lengths are those of the last rows.
Cases rows_for_stride(const Case& c) {
  Cases result;
  const int64_t last = rows(c) - 1;
  const Case apart = c.shape.next_n == 1 ? c : batch_for_next_n(c).front();
  for (int64_t kept = 1; kept < last; kept *= 2) {
    const Case traded = sequences(apart, last - kept, kept + 1);
    for (const char* name : {"strides.logits", "strides.weights", "strides.q[0]"}) {
      const Field& f = field(name);
      const int64_t dense = f.name == "strides.logits" ? c.shape.max_model_len : 0;
      const int64_t stride = or_dense(f.get(c), dense);
      const int64_t rows_before = f.name == "strides.q[0]" ? c.shape.batch - 1 : last;
      if (stride != 0) result.push_back(with(traded, name, (rows_before * stride + kept - 1) / kept));
    }
  }
  return result;
}
// The same number of chunks, each smaller.
Cases context_for_chunk(const Case& c) {
  Cases result;
  const int64_t chunk = chunk_tokens(c), longest = longest_context(c);
  for (int64_t smaller = 64; smaller < chunk; smaller *= 2) {
    const int64_t context = longest / chunk * smaller + std::min(longest % chunk, smaller - 1);
    if (context >= longest) continue;
    Case traded = with(c, "config.chunk_k", smaller);
    for (int32_t& length : traded.shape.context_lens)
      length = static_cast<int32_t>(std::min<int64_t>(length, context));
    const int64_t gap = c.shape.max_model_len - longest;
    traded.shape.max_model_len = std::max<int64_t>(context + std::min<int64_t>(gap, 2 * smaller), 1);
    result.push_back(traded);
  }
  return result;
}
// Fewer splits over fewer chunks.
Cases context_for_splits(const Case& c) {
  Cases result;
  const int64_t chunk = chunk_tokens(c), longest = longest_context(c), splits = c.config.split_kv;
  for (int64_t fewer = 1; fewer < splits; ++fewer) {
    const int64_t context = longest - (splits - fewer) * (longest / chunk / splits) * chunk;
    if (context >= longest || context < 1) continue;
    Case traded = with(c, "config.split_kv", fewer);
    for (int32_t& length : traded.shape.context_lens)
      length = static_cast<int32_t>(std::min<int64_t>(length, context));
    result.push_back(traded);
  }
  return result;
}
// Fewer blocks at a larger block stride: the last block keeps its offset.
Cases blocks_for_stride(const Case& c) {
  Cases result;
  const int64_t blocks = c.shape.num_blocks, dense = int64_t{c.shape.block_size} * (c.shape.head_dim + 4);
  for (int64_t fewer = 2; fewer < blocks; fewer *= 2) {
    const int64_t stride = (blocks - 1) * or_dense(c.strides.kv_block, dense) / (fewer - 1) / 4 * 4 + 4;
    result.push_back(with(with(c, "num_blocks", fewer), "strides.kv_block", stride));
  }
  return result;
}

constexpr std::array kMoves{
    ShrinkMove{"data", simpler_data},
    ShrinkMove{"configuration", simpler_config},
    ShrinkMove{"fewer sequences", fewer_sequences},
    ShrinkMove{"smaller next_n", smaller_next_n},
    ShrinkMove{"lengths per sequence", lengths_per_sequence},
    ShrinkMove{"fewer heads", fewer_heads},
    ShrinkMove{"shorter contexts", shorter_contexts},
    ShrinkMove{"columns and context", columns_and_context},
    ShrinkMove{"fewer columns", fewer_columns},
    ShrinkMove{"equal contexts", equal_contexts},
    ShrinkMove{"one context", shorter_single_context},
    ShrinkMove{"rows for stride", rows_for_stride},
    ShrinkMove{"batch for next_n", batch_for_next_n},
    ShrinkMove{"context for chunk", context_for_chunk},
    ShrinkMove{"context for splits", context_for_splits},
    ShrinkMove{"blocks for stride", blocks_for_stride},
    ShrinkMove{"table", simpler_table},
    ShrinkMove{"dense strides", dense_strides},
    ShrinkMove{"smaller strides", smaller_strides},
    ShrinkMove{"smaller blocks", smaller_blocks},
    ShrinkMove{"formats", default_formats},
    ShrinkMove{"head_dim", usual_head_dim},
};

} // namespace

std::span<const ShrinkMove> shrink_moves() { return kMoves; }

} // namespace mqalab
