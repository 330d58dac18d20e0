#include "fuzz/minimize_moves.hpp"
#include "fuzz/minimize_parts.hpp"

#include <array>

namespace mqalab {

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

Cases smaller_values(const Case& c, std::string_view name, int64_t step) {
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

namespace {

constexpr std::array kMoves{
    ShrinkMove{"operation", simpler_operation},
    ShrinkMove{"data", simpler_data},
    ShrinkMove{"configuration", simpler_config},
    ShrinkMove{"fewer sequences", fewer_sequences},
    ShrinkMove{"smaller next_n", smaller_next_n},
    ShrinkMove{"lengths per sequence", lengths_per_sequence},
    ShrinkMove{"fewer heads", fewer_heads},
    ShrinkMove{"starts", simpler_starts},
    ShrinkMove{"selection and writer", simpler_selection},
    ShrinkMove{"k and context", k_and_context},
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
