// A case as JSON.  The reader and the writer list the same fields in the same order; a field at its default
// is left out, so what is printed is what differs from the smallest case.
#include "fuzz/case.hpp"
#include "fuzz/case_lengths.hpp"
#include "fuzz/json_reader.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace mqalab {
namespace {

constexpr uintmax_t kLargestCaseFile_bytes = 64 << 20;

std::vector<int32_t> read_integers(const Json& json, const JsonPlace& place, const std::string& what) {
  read_array(json, place, what);
  std::vector<int32_t> values;
  for (size_t i = 0; i < json.size(); ++i)
    values.push_back(static_cast<int32_t>(read_integer(json[i], place.element(i), INT32_MIN, INT32_MAX)));
  return values;
}

void read_context_lens(ObjectReader& reader, Operation op, Shape& shape) {
  const bool explicit_form = reader.find("lens_per_row");
  shape.lens_per_row = implied_per_row(op, shape);
  reader.boolean("lens_per_row", shape.lens_per_row);
  const Json* lens = reader.find("context_lens");
  if (!lens) {
    shape.context_lens = default_lengths(shape);
    return;
  }
  shape.context_lens = read_integers(*lens, reader.place("context_lens"),
                                     "an array of integers: one length per sequence, or one per row");
  if (!explicit_form) shape.lens_per_row = implied_per_row(op, shape) || deduced_per_row(shape);
}

void read_shape(ObjectReader& reader, Operation op, Shape& shape) {
  reader.word("fp8", shape.fp8);
  reader.integer("batch", shape.batch);
  reader.integer("next_n", shape.next_n);
  reader.integer("heads", shape.heads);
  reader.integer("head_dim", shape.head_dim);
  reader.integer("block_size", shape.block_size);
  reader.word("layout", shape.layout);
  reader.integer("max_model_len", shape.max_model_len);
  reader.word("tail", shape.tail);
  reader.integer("num_blocks", shape.num_blocks);
  reader.boolean("compressed", shape.compressed);
  if (const Json* starts = reader.find("starts"))
    shape.starts = read_integers(*starts, reader.place("starts"), "an array of integers: one start per row");
  read_context_lens(reader, op, shape);
}

void read_strides(const Json& json, const JsonPlace& place, Strides& strides) {
  ObjectReader reader(json, place);
  if (const Json* q = reader.find("q")) {
    const JsonPlace at = reader.place("q");
    if (!q->is_array() || q->size() != 3)
      at.refuse(*q, "[batch, next_n, head] strides, three integers, 0 = dense");
    for (size_t i = 0; i < 3; ++i) strides.q[i] = read_integer((*q)[i], at.element(i), INT64_MIN, INT64_MAX);
  }
  reader.integer("weights", strides.weights);
  reader.integer("block_table", strides.block_table);
  reader.integer("logits", strides.logits);
  reader.integer("kv_block", strides.kv_block);
  reader.integer("logits_head", strides.logits_head);
  reader.integer("keys", strides.keys);
  reader.integer("key_scales", strides.key_scales);
  reader.integer("indices", strides.indices);
  reader.finish();
}

TableOverride read_table_override(const Json& json, const JsonPlace& place) {
  if (!json.is_array() || json.size() != 3) place.refuse(json, "[row, column, id], three integers");
  const auto at = [&](size_t i) {
    return static_cast<int32_t>(read_integer(json[i], place.element(i), INT32_MIN, INT32_MAX));
  };
  return {at(0), at(1), at(2)};
}

void read_block_table(const Json& json, const JsonPlace& place, BlockTable& table) {
  ObjectReader reader(json, place);
  reader.word("mode", table.mode);
  reader.word("padding", table.padding);
  reader.seed("seed", table.seed);
  reader.integer("period", table.period);
  if (const Json* set = reader.find("set")) {
    const JsonPlace at = reader.place("set");
    read_array(*set, at, "an array of [row, column, id]");
    for (size_t i = 0; i < set->size(); ++i)
      table.set.push_back(read_table_override((*set)[i], at.element(i)));
  }
  reader.finish();
}

// Elements are bytes, but for scales, weights and the keys that a writer has yet to quantise.
Override read_override(const Json& json, const JsonPlace& place, Operation op) {
  if (!json.is_array() || json.size() != 3)
    place.refuse(json, "[tensor, index, bits], such as [\"q\", 0, 56]");
  Override value;
  value.tensor = static_cast<Tensor>(read_word(json[0], place.element(0), kTensorNames));
  value.index = read_integer(json[1], place.element(1), 0, INT64_MAX);
  const bool byte = value.tensor == Tensor::q || (value.tensor == Tensor::k && op != Operation::cache_write);
  value.bits = static_cast<uint32_t>(read_integer(json[2], place.element(2), 0, byte ? 0xff : 0xffffffffll));
  return value;
}

void read_data(const Json& json, const JsonPlace& place, Operation op, DataSpec& data) {
  ObjectReader reader(json, place);
  reader.word("lane", data.lane);
  reader.word("pattern", data.pattern);
  reader.seed("seed", data.seed);
  if (const Json* set = reader.find("set")) {
    const JsonPlace at = reader.place("set");
    read_array(*set, at, "an array of [tensor, index, bits]");
    for (size_t i = 0; i < set->size(); ++i)
      data.overrides.push_back(read_override((*set)[i], at.element(i), op));
  }
  reader.finish();
}

void read_selection(const Json& json, const JsonPlace& place, Selection& selection) {
  ObjectReader reader(json, place);
  reader.integer("k", selection.k);
  reader.boolean("stable", selection.stable);
  reader.finish();
}

void read_writer(const Json& json, const JsonPlace& place, WriterSpec& writer) {
  ObjectReader reader(json, place);
  reader.word("key_type", writer.key_type);
  reader.word("scale_format", writer.scale_format);
  reader.integer("skip_every", writer.skip_every);
  reader.finish();
}

void read_config(const Json& json, const JsonPlace& place, mqa_config& config) {
  ObjectReader reader(json, place);
  auto variant = static_cast<mqa_variant>(config.variant);
  reader.word("variant", variant);
  config.variant = variant;
  reader.integer("chunk_k", config.chunk_k);
  reader.integer("split_kv", config.split_kv);
  reader.integer("wave_per_eu", config.wave_per_eu);
  reader.finish();
}

// Puts `value` into `json` unless it is the default; `full` puts it always.
struct Writer {
  Json& json;
  bool full;
  template <class T> void put(const char* name, const T& value, const T& unset) const {
    if (full || !(value == unset)) json[name] = value;
  }
  template <class Enum> void put_word(const char* name, Enum value, Enum unset) const {
    if (full || value != unset) json[name] = name_of(value);
  }
  void put_object(const char* name, Json object) const {
    if (!object.empty()) json[name] = std::move(object);
  }
};

Json strides_json(const Strides& s, bool full) {
  Json json = Json::object();
  const Writer w{json, full};
  const Strides unset;
  w.put("q", s.q, unset.q);
  w.put("weights", s.weights, unset.weights);
  w.put("block_table", s.block_table, unset.block_table);
  w.put("logits", s.logits, unset.logits);
  w.put("kv_block", s.kv_block, unset.kv_block);
  w.put("logits_head", s.logits_head, unset.logits_head);
  w.put("keys", s.keys, unset.keys);
  w.put("key_scales", s.key_scales, unset.key_scales);
  w.put("indices", s.indices, unset.indices);
  return json;
}

Json block_table_json(const BlockTable& t, bool full) {
  Json json = Json::object();
  const Writer w{json, full};
  const BlockTable unset;
  w.put_word("mode", t.mode, unset.mode);
  w.put_word("padding", t.padding, unset.padding);
  w.put("seed", t.seed, unset.seed);
  w.put("period", t.period, unset.period);
  for (const TableOverride& o : t.set) json["set"].push_back({o.row, o.column, o.id});
  return json;
}

Json data_json(const DataSpec& d, bool full) {
  Json json = Json::object();
  const Writer w{json, full};
  const DataSpec unset;
  w.put_word("lane", d.lane, unset.lane);
  w.put_word("pattern", d.pattern, unset.pattern);
  w.put("seed", d.seed, unset.seed);
  for (const Override& o : d.overrides) json["set"].push_back({name_of(o.tensor), o.index, o.bits});
  return json;
}

Json selection_json(const Selection& s, bool full) {
  Json json = Json::object();
  const Writer w{json, full};
  const Selection unset;
  w.put("k", s.k, unset.k);
  w.put("stable", s.stable, unset.stable);
  return json;
}

Json writer_json(const WriterSpec& s, bool full) {
  Json json = Json::object();
  const Writer w{json, full};
  const WriterSpec unset;
  w.put_word("key_type", s.key_type, unset.key_type);
  w.put_word("scale_format", s.scale_format, unset.scale_format);
  w.put("skip_every", s.skip_every, unset.skip_every);
  return json;
}

Json config_json(const mqa_config& c, bool full) {
  Json json = Json::object();
  const Writer w{json, full};
  w.put_word("variant", static_cast<mqa_variant>(c.variant), MQA_VARIANT_AUTO);
  w.put("chunk_k", c.chunk_k, 0);
  w.put("split_kv", c.split_kv, 0);
  w.put("wave_per_eu", c.wave_per_eu, 0);
  return json;
}

void write_shape(const Writer& w, Operation op, const Shape& s) {
  const Shape unset;
  w.put_word("fp8", s.fp8, unset.fp8);
  w.put("batch", s.batch, unset.batch);
  w.put("next_n", s.next_n, unset.next_n);
  w.put("heads", s.heads, unset.heads);
  w.put("head_dim", s.head_dim, unset.head_dim);
  w.put("block_size", s.block_size, unset.block_size);
  w.put_word("layout", s.layout, unset.layout);
  if (w.full || s.context_lens != default_lengths(s)) w.json["context_lens"] = s.context_lens;
  // Without context_lens nothing is deduced from their number.
  const bool deduced = w.json.contains("context_lens") && deduced_per_row(s);
  const bool implied = implied_per_row(op, s) || deduced;
  if (w.full || s.lens_per_row != implied) w.json["lens_per_row"] = s.lens_per_row;
  w.put("starts", s.starts, unset.starts);
  w.put("compressed", s.compressed, unset.compressed);
  w.put("max_model_len", s.max_model_len, unset.max_model_len);
  w.put_word("tail", s.tail, unset.tail);
  w.put("num_blocks", s.num_blocks, unset.num_blocks);
}

} // namespace

std::string to_json(const Case& c, int indent, bool with_defaults) {
  Json json = Json::object();
  const Writer w{json, with_defaults};
  w.put_word("op", c.op, Case{}.op);
  write_shape(w, c.op, c.shape);
  w.put_object("strides", strides_json(c.strides, with_defaults));
  w.put_object("block_table", block_table_json(c.block_table, with_defaults));
  w.put_object("data", data_json(c.data, with_defaults));
  w.put_object("top_k", selection_json(c.selection, with_defaults));
  w.put_object("writer", writer_json(c.writer, with_defaults));
  w.put_object("config", config_json(c.config, with_defaults));
  return json.dump(indent);
}

Case case_from_json(const std::string& text, const std::string& origin) {
  const Json json = parse_json(text, origin);
  ObjectReader reader(json, JsonPlace{origin, ""});
  Case c;
  reader.word("op", c.op);
  read_shape(reader, c.op, c.shape);
  if (const Json* v = reader.find("strides")) read_strides(*v, reader.place("strides"), c.strides);
  if (const Json* v = reader.find("block_table"))
    read_block_table(*v, reader.place("block_table"), c.block_table);
  if (const Json* v = reader.find("data")) read_data(*v, reader.place("data"), c.op, c.data);
  if (const Json* v = reader.find("top_k")) read_selection(*v, reader.place("top_k"), c.selection);
  if (const Json* v = reader.find("writer")) read_writer(*v, reader.place("writer"), c.writer);
  if (const Json* v = reader.find("config")) read_config(*v, reader.place("config"), c.config);
  reader.finish();
  return c;
}

Case load_case(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored))
    throw CaseError(fmt::format("{}: is a folder; allowed: a case file; try: {}/case.json", path, path));
  std::ifstream file(path, std::ios::binary);
  if (!file)
    throw CaseError(
        fmt::format("{}: cannot be read: {}; allowed: a JSON case file", path, std::strerror(errno)));
  std::ostringstream text;
  if (const auto bytes = std::filesystem::file_size(path, ignored);
      !ignored && bytes > kLargestCaseFile_bytes)
    throw CaseError(fmt::format("{}: is {} bytes long; allowed: a case file of up to {} bytes", path, bytes,
                                kLargestCaseFile_bytes));
  text << file.rdbuf();
  return case_from_json(text.str(), path);
}

} // namespace mqalab
