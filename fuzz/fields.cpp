// The field table.  A row is a pair of member pointers; the three q strides, an array, are written out.
#include "fuzz/fields.hpp"
#include "fuzz/case_names.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>
#include <type_traits>

namespace mqalab {
namespace {

template <auto Part, auto Member>
constexpr auto get_member = [](const Case& c) { return static_cast<int64_t>(c.*Part.*Member); };
// Enumerators wrap: a value that its type does not have is undefined behaviour already when it is looked at.
template <class T> T of_type(int64_t value) {
  if constexpr (std::is_enum_v<T>)
    return static_cast<T>(static_cast<uint64_t>(value) % names_of(T{}).size());
  else
    return static_cast<T>(value);
}
template <auto Part, auto Member>
constexpr auto set_member = [](Case& c, int64_t value) {
  auto& member = c.*Part.*Member;
  member = of_type<std::remove_reference_t<decltype(member)>>(value);
};

template <auto Part, auto Member> Field row(std::string_view name, FieldGroup group) {
  return {name, group, get_member<Part, Member>(Case{}), get_member<Part, Member>, set_member<Part, Member>};
}
template <size_t I> Field q_stride(std::string_view name) {
  return {name, FieldGroup::strides, 0, [](const Case& c) { return c.strides.q[I]; },
          [](Case& c, int64_t value) { c.strides.q[I] = value; }};
}

const auto& table() {
  using enum FieldGroup;
  static const std::array all{
      row<&Case::shape, &Shape::batch>("batch", shape),
      row<&Case::shape, &Shape::next_n>("next_n", shape),
      row<&Case::shape, &Shape::heads>("heads", shape),
      row<&Case::shape, &Shape::head_dim>("head_dim", shape),
      row<&Case::shape, &Shape::block_size>("block_size", shape),
      row<&Case::shape, &Shape::layout>("layout", shape),
      row<&Case::shape, &Shape::fp8>("fp8", shape),
      row<&Case::shape, &Shape::tail>("tail", shape),
      row<&Case::shape, &Shape::max_model_len>("max_model_len", shape),
      row<&Case::shape, &Shape::num_blocks>("num_blocks", table),
      row<&Case::shape, &Shape::lens_per_row>("lens_per_row", shape),
      q_stride<0>("strides.q.batch"),
      q_stride<1>("strides.q.next"),
      q_stride<2>("strides.q.head"),
      row<&Case::strides, &Strides::weights>("strides.weights", strides),
      row<&Case::strides, &Strides::block_table>("strides.block_table", strides),
      row<&Case::strides, &Strides::logits>("strides.logits", strides),
      row<&Case::strides, &Strides::kv_block>("strides.kv_block", table),
      row<&Case::block_table, &BlockTable::mode>("block_table.mode", table),
      row<&Case::block_table, &BlockTable::padding>("block_table.padding", table),
      row<&Case::block_table, &BlockTable::seed>("block_table.seed", table),
      row<&Case::block_table, &BlockTable::period>("block_table.period", table),
      row<&Case::data, &DataSpec::lane>("data.lane", data),
      row<&Case::data, &DataSpec::pattern>("data.pattern", data),
      row<&Case::data, &DataSpec::seed>("data.seed", data),
      row<&Case::config, &mqa_config::variant>("config.variant", config),
      row<&Case::config, &mqa_config::chunk_k>("config.chunk_k", config),
      row<&Case::config, &mqa_config::split_kv>("config.split_kv", config),
      row<&Case::config, &mqa_config::wave_per_eu>("config.wave_per_eu", config),
  };
  return all;
}

} // namespace

std::span<const Field> fields() { return table(); }

const Field& field(std::string_view name) {
  const auto found =
      std::find_if(table().begin(), table().end(), [&](const Field& f) { return f.name == name; });
  if (found == table().end()) throw std::out_of_range("no case field is called " + std::string(name));
  return *found;
}

int64_t longest_context(const Case& c) {
  int64_t longest = 0;
  for (const int32_t length : c.shape.context_lens) longest = std::max<int64_t>(longest, length);
  return longest;
}

int64_t rows(const Case& c) { return int64_t{c.shape.batch} * c.shape.next_n; }

int64_t lens_wanted(const Case& c) { return c.shape.lens_per_row ? rows(c) : c.shape.batch; }

int64_t chunk_tokens(const Case& c) { return c.config.chunk_k > 0 ? c.config.chunk_k : 256; }

int64_t non_default_fields(const Case& c) {
  int64_t count = static_cast<int64_t>(c.block_table.set.size() + c.data.overrides.size());
  for (const Field& f : fields()) count += f.get(c) != f.smallest;
  const auto& lens = c.shape.context_lens;
  return count + std::any_of(lens.begin(), lens.end(), [](int32_t length) { return length != 1; });
}

} // namespace mqalab
