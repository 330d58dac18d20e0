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
template <auto Member> Field top_row(std::string_view name, FieldGroup group) {
  using T = std::remove_cvref_t<decltype(Case{}.*Member)>;
  return {name, group, static_cast<int64_t>(Case{}.*Member),
          [](const Case& c) { return static_cast<int64_t>(c.*Member); },
          [](Case& c, int64_t value) { c.*Member = of_type<T>(value); }};
}
template <size_t I> Field q_stride(std::string_view name) {
  return {name, FieldGroup::strides, 0, [](const Case& c) { return c.strides.q[I]; },
          [](Case& c, int64_t value) { c.strides.q[I] = value; }};
}

const auto& table() {
  using enum FieldGroup;
  static const std::array all{
      top_row<&Case::op>("op", operation),
      row<&Case::selection, &Selection::k>("top_k.k", operation),
      row<&Case::selection, &Selection::stable>("top_k.stable", operation),
      row<&Case::writer, &WriterSpec::key_type>("writer.key_type", operation),
      row<&Case::writer, &WriterSpec::scale_format>("writer.scale_format", operation),
      row<&Case::writer, &WriterSpec::skip_every>("writer.skip_every", operation),
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
      row<&Case::shape, &Shape::compressed>("compressed", shape),
      q_stride<0>("strides.q[0]"),
      q_stride<1>("strides.q[1]"),
      q_stride<2>("strides.q[2]"),
      row<&Case::strides, &Strides::weights>("strides.weights", strides),
      row<&Case::strides, &Strides::block_table>("strides.block_table", strides),
      row<&Case::strides, &Strides::logits>("strides.logits", strides),
      row<&Case::strides, &Strides::kv_block>("strides.kv_block", table),
      row<&Case::strides, &Strides::logits_head>("strides.logits_head", strides),
      row<&Case::strides, &Strides::keys>("strides.keys", strides),
      row<&Case::strides, &Strides::key_scales>("strides.key_scales", strides),
      row<&Case::strides, &Strides::indices>("strides.indices", strides),
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

// ---- what each operation knows ----
using Operations = uint32_t;
template <class... Op> constexpr Operations any_of(Op... op) {
  return ((Operations{1} << static_cast<int>(op)) | ...);
}
using enum Operation;
constexpr Operations kPaged = any_of(paged_logits, per_head_logits, head_sum);
constexpr Operations kRagged = any_of(ragged_logits, per_head_ragged_logits);
constexpr Operations kPrefill = any_of(prefill_logits), kIndexer = any_of(indexer);
constexpr Operations kLogits = kPaged | kRagged | kPrefill;
constexpr Operations kTopK = any_of(top_k), kWrite = any_of(cache_write), kGather = any_of(cache_gather);
constexpr Operations kBlocks = kPaged | kWrite | kGather | kIndexer; // of a size, in a table
constexpr Operations kSlots = kBlocks | kRagged;                     // named by a table program
constexpr Operations kKeys = kSlots | kPrefill;

// A field that is not listed is known to all.
struct Meaning {
  std::string_view field;
  Operations known_to;
};
constexpr Meaning kMeanings[] = {
    {"next_n", kLogits | kTopK | kIndexer},
    {"heads", kLogits | kIndexer},
    {"head_dim", kKeys},
    {"block_size", kBlocks},
    {"layout", kBlocks},
    {"fp8", kKeys},
    {"tail", kLogits | kIndexer},
    {"num_blocks", kKeys},
    {"lens_per_row", kPaged | kPrefill | kTopK | kIndexer},
    {"starts", kPrefill | kTopK},
    {"compressed", kPrefill},
    {"top_k.k", kTopK | kIndexer},
    {"top_k.stable", kTopK | kIndexer},
    {"writer.key_type", kWrite | kIndexer},
    {"writer.scale_format", kWrite | kIndexer},
    {"writer.skip_every", kWrite | kIndexer},
    {"strides.q[0]", kPaged | kRagged | kIndexer},
    {"strides.q[1]", kLogits | kIndexer},
    {"strides.q[2]", kLogits | kIndexer},
    {"strides.weights", kLogits | kIndexer},
    {"strides.block_table", kPaged | kGather | kIndexer},
    {"strides.logits", kLogits | kTopK | kIndexer},
    {"strides.kv_block", kKeys},
    {"strides.logits_head", any_of(per_head_logits, per_head_ragged_logits, head_sum)},
    {"strides.keys", kWrite | kGather | kIndexer},
    {"strides.key_scales", kPrefill | kGather},
    {"strides.indices", kTopK | kIndexer},
    {"block_table.mode", kSlots},
    {"block_table.padding", kPaged | kRagged | kGather | kIndexer},
    {"block_table.seed", kSlots},
    {"block_table.period", kSlots},
    {"block_table.set", kSlots},
    {"data.set", kLogits | kWrite | kGather | kIndexer},
    {"config.variant", kLogits | kIndexer},
    {"config.chunk_k", kLogits | kIndexer},
    {"config.split_kv", kLogits | kIndexer},
    {"config.wave_per_eu", kLogits | kIndexer},
};

} // namespace

bool has_meaning(Operation op, std::string_view field) {
  const auto found = std::find_if(std::begin(kMeanings), std::end(kMeanings),
                                  [&](const Meaning& m) { return m.field == field; });
  return found == std::end(kMeanings) || found->known_to & any_of(op);
}

std::span<const Field> fields() { return table(); }

const Field& field(std::string_view name) {
  const auto found =
      std::find_if(table().begin(), table().end(), [&](const Field& f) { return f.name == name; });
  if (found == table().end()) throw std::out_of_range("no case field is called " + std::string(name));
  return *found;
}

void drop_meaningless(Case& c) {
  for (const Field& f : fields())
    if (!has_meaning(c.op, f.name)) f.set(c, f.smallest);
  if (!has_meaning(c.op, "starts")) c.shape.starts.clear();
  if (!has_meaning(c.op, "block_table.set")) c.block_table.set.clear();
  if (!has_meaning(c.op, "data.set")) c.data.overrides.clear();
}

bool has_fast_head_dim(const Case& c) {
  return c.shape.head_dim == 32 || c.shape.head_dim == 64 || c.shape.head_dim == 128;
}
bool runs_general(const Case& c) {
  return c.config.variant == MQA_VARIANT_GENERAL ||
         (c.config.variant == MQA_VARIANT_AUTO && !has_fast_head_dim(c));
}

int64_t visible_tokens(const Case& c, int64_t least) {
  const Shape& s = c.shape;
  const int64_t most = s.max_model_len;
  int64_t tokens = 0;
  for (size_t i = 0; i < s.context_lens.size(); ++i) {
    const int64_t first = i < s.starts.size() ? std::max(s.starts[i], 0) : 0, last = s.context_lens[i];
    const int64_t seen = s.compressed ? last - first : std::min(last, most) - std::min(first, most);
    tokens += std::clamp(seen, least, std::max(most, least));
  }
  return s.lens_per_row ? tokens : tokens * s.next_n;
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
  count += std::any_of(lens.begin(), lens.end(), [](int32_t length) { return length != 1; });
  return count + !c.shape.starts.empty();
}

} // namespace mqalab
