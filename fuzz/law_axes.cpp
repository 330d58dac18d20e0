#include "fuzz/law_axes.hpp"
#include "fuzz/boundaries.hpp"
#include "fuzz/fields.hpp"
#include "fuzz/repair.hpp"

#include <algorithm>
#include <array>

namespace mqalab {
namespace {

std::optional<Case> legal(Case c) {
  fit_lengths(c);
  if (!why_illegal(c).empty()) return std::nullopt;
  return c;
}
std::vector<int64_t> every(int64_t first, int64_t last, int64_t step) {
  std::vector<int64_t> result;
  for (int64_t value = first; value <= last; value += step) result.push_back(value);
  return result;
}

template <class Set> std::optional<Case> changed(const Case& c, Set set) {
  Case result = c;
  set(result);
  return legal(result);
}

// ---- context: all lengths together; the columns keep their distance ----
std::optional<Case> with_context(const Case& c, int64_t value) {
  if (value < 0 || value > 1 << 20) return std::nullopt;
  return changed(c, [&](Case& r) {
    const int64_t gap = c.shape.max_model_len - longest_context(c);
    const int64_t shift = value - longest_context(c);
    for (int32_t& length : r.shape.context_lens)
      length = static_cast<int32_t>(std::max<int64_t>(length + shift, 0));
    r.shape.max_model_len = std::max<int64_t>(value + gap, 1);
    if (r.strides.logits != 0) r.strides.logits = std::max(r.strides.logits, r.shape.max_model_len);
  });
}
std::vector<int64_t> context_samples(const Case& c) {
  std::vector<int64_t> values = every(0, 40, 1);
  for (const int64_t unit : {chunk_tokens(c), int64_t{c.shape.block_size}})
    for (int64_t count = 1; count <= 8 && unit > 1; ++count)
      for (int64_t d = -1; d <= (count == 1 ? 40 : 3); ++d) values.push_back(count * unit + d);
  const int64_t longest = longest_context(c);
  for (const int64_t d : {-2, -1, 0, 1, 2}) values.push_back(longest + d);
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  std::erase_if(values, [](int64_t value) { return value < 0; });
  return values;
}

std::vector<int64_t> column_samples(const Case& c) {
  std::vector<int64_t> values = context_samples(c);
  for (const int64_t d : {-2, -1, 0, 1, 2}) values.push_back(c.shape.max_model_len + d);
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  std::erase_if(values, [&](int64_t value) { return value < std::max<int64_t>(longest_context(c), 1); });
  return values;
}

std::vector<int64_t> k_samples(const Case& c) {
  std::vector<int64_t> values = every(1, 17, 1);
  for (const int64_t centre :
       {int64_t{32}, int64_t{64}, int64_t{256}, int64_t{c.selection.k}, longest_context(c)})
    for (int64_t d = -2; d <= 2; ++d) values.push_back(centre + d);
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  std::erase_if(values, [](int64_t value) { return value < 1 || value > kMostSelected; });
  return values;
}

std::optional<Case> with_batch(const Case& c, int64_t value) {
  return changed(c, [&](Case& r) {
    r.shape.batch = static_cast<int32_t>(value);
    std::erase_if(r.block_table.set, [&](const TableOverride& o) { return o.row >= value; });
  });
}
std::optional<Case> with_next_n(const Case& c, int64_t value) {
  return changed(c, [&](Case& r) { r.shape.next_n = static_cast<int32_t>(value); });
}
std::optional<Case> with_block_size(const Case& c, int64_t value) {
  return changed(c, [&](Case& r) {
    r.shape.block_size = static_cast<int32_t>(value);
    if (value == 1) r.shape.layout = MQA_PLANAR;
    r.strides.kv_block = 0;
  });
}
template <auto Part, auto Member> std::optional<Case> with_member(const Case& c, int64_t value) {
  return changed(c, [&](Case& r) {
    r.*Part.*Member = static_cast<std::remove_reference_t<decltype(r.*Part.*Member)>>(value);
  });
}
template <auto Part, auto Member> int64_t member(const Case& c) { return c.*Part.*Member; }

// ---- starts: all together, the ranges keep their lengths ----
int64_t largest_start(const Case& c) {
  const auto& starts = c.shape.starts;
  return starts.empty() ? 0 : std::max(*std::max_element(starts.begin(), starts.end()), 0);
}
std::optional<Case> with_start(const Case& c, int64_t value) {
  return changed(c, [&](Case& r) {
    const int64_t shift = value - largest_start(c);
    for (int32_t& start : r.shape.starts) start = static_cast<int32_t>(std::max<int64_t>(start + shift, 0));
    for (int32_t& end : r.shape.context_lens) end = static_cast<int32_t>(std::max<int64_t>(end + shift, 0));
    if (!r.shape.compressed) r.shape.max_model_len = std::max<int64_t>(r.shape.max_model_len + shift, 1);
  });
}

const std::array kSampled{
    LawAxis{"context", longest_context, with_context, context_samples},
    LawAxis{"max_model_len", member<&Case::shape, &Shape::max_model_len>,
            with_member<&Case::shape, &Shape::max_model_len>, column_samples},
    LawAxis{"next_n", member<&Case::shape, &Shape::next_n>, with_next_n,
            [](const Case&) { return every(1, 9, 1); }},
    LawAxis{"batch", member<&Case::shape, &Shape::batch>, with_batch,
            [](const Case&) { return every(1, 9, 1); }},
    LawAxis{"heads", member<&Case::shape, &Shape::heads>, with_member<&Case::shape, &Shape::heads>,
            [](const Case& c) {
              return c.shape.heads % 8 ? every(std::max(c.shape.heads - 16, 1), c.shape.heads + 16, 1)
                                       : every(8, 128, 8);
            }},
    LawAxis{"head_dim", member<&Case::shape, &Shape::head_dim>, with_member<&Case::shape, &Shape::head_dim>,
            [](const Case& c) {
              return has_fast_head_dim(c) ? std::vector<int64_t>{32, 64, 128} : every(16, 256, 16);
            }},
    LawAxis{"block_size", member<&Case::shape, &Shape::block_size>, with_block_size,
            [](const Case&) { return std::vector<int64_t>{1, 16, 32, 48, 64, 128, 256}; }},
    LawAxis{"split_kv", member<&Case::config, &mqa_config::split_kv>,
            with_member<&Case::config, &mqa_config::split_kv>,
            [](const Case& c) {
              return c.config.split_kv == 0 ? std::vector<int64_t>{}
                                            : every(1, 9, 1); // automatic is not a number of splits
            }},
    LawAxis{
        "top_k.k", member<&Case::selection, &Selection::k>, with_member<&Case::selection, &Selection::k>,
        [](const Case& c) { return has_meaning(c.op, "top_k.k") ? k_samples(c) : std::vector<int64_t>{}; }},
    LawAxis{"start", largest_start, with_start,
            [](const Case& c) { return c.shape.starts.empty() ? std::vector<int64_t>{} : every(0, 80, 1); }},
};

// ---- products ----
int64_t last_row(const Case& c) { return rows(c) - 1; }
std::optional<Case> with_last_row(const Case& c, int64_t value) {
  const int64_t count = value + 1;
  if (c.shape.next_n > 1 && c.shape.batch == 1) return with_next_n(c, count);
  if (count % c.shape.next_n != 0) return std::nullopt;
  return with_batch(c, count / c.shape.next_n);
}
int64_t last_sequence(const Case& c) { return c.shape.batch - 1; }
std::optional<Case> with_last_sequence(const Case& c, int64_t value) { return with_batch(c, value + 1); }
int64_t last_head(const Case& c) { return c.shape.heads - 1; }
std::optional<Case> with_last_head(const Case& c, int64_t value) {
  return changed(c, [&](Case& r) { r.shape.heads = static_cast<int32_t>(value + 1); });
}
// Of one sequence: the tokens of several are not one row of keys.
int64_t last_token(const Case& c) { return c.shape.batch == 1 ? longest_context(c) - 1 : 0; }
std::optional<Case> with_last_token(const Case& c, int64_t value) {
  return c.shape.batch == 1 ? with_context(c, value + 1) : std::nullopt;
}
int64_t last_block(const Case& c) { return resolve_shape(c).num_blocks - 1; }
std::optional<Case> with_last_block(const Case& c, int64_t value) {
  return changed(c, [&](Case& r) { r.shape.num_blocks = value + 1; });
}

std::vector<int64_t> none(const Case&) { return {}; }
template <class Get, class Set> LawAxis axis(std::string_view name, Get get, Set set) {
  return {name, get, set, none};
}

// A resolved stride, so that a dense one has a value too; setting it writes the case's own field.
const std::array kProducts{
    ProductAxes{axis("row", last_row, with_last_row),
                axis(
                    "logits_stride", [](const Case& c) { return resolve_shape(c).logits_stride; },
                    with_member<&Case::strides, &Strides::logits>),
                4},
    ProductAxes{axis("row", last_row, with_last_row),
                axis(
                    "weights_stride", [](const Case& c) { return resolve_shape(c).weights_stride; },
                    with_member<&Case::strides, &Strides::weights>),
                4},
    ProductAxes{axis("row", last_row, with_last_row),
                axis(
                    "indices_stride", [](const Case& c) { return resolve_shape(c).indices_stride; },
                    with_member<&Case::strides, &Strides::indices>),
                4},
    ProductAxes{axis("head", last_head, with_last_head),
                axis(
                    "logits_stride_head", [](const Case& c) { return resolve_shape(c).logits_stride_head; },
                    with_member<&Case::strides, &Strides::logits_head>),
                4},
    ProductAxes{axis("token", last_token, with_last_token),
                axis(
                    "keys_stride", [](const Case& c) { return resolve_shape(c).keys_stride; },
                    with_member<&Case::strides, &Strides::keys>),
                1},
    ProductAxes{axis("token", last_token, with_last_token),
                axis(
                    "key_scales_stride", [](const Case& c) { return resolve_shape(c).key_scales_stride; },
                    with_member<&Case::strides, &Strides::key_scales>),
                4},
    ProductAxes{axis("sequence", last_sequence, with_last_sequence),
                axis(
                    "q_stride_batch", [](const Case& c) { return resolve_shape(c).q_stride_batch; },
                    [](const Case& c, int64_t value) {
                      return changed(c, [&](Case& r) { r.strides.q[0] = value; });
                    }),
                1},
    ProductAxes{axis("block", last_block, with_last_block),
                axis(
                    "kv_block_stride_bytes",
                    [](const Case& c) { return resolve_shape(c).kv_block_stride_bytes; },
                    [](const Case& c, int64_t value) {
                      return with_member<&Case::strides, &Strides::kv_block>(c, value / 4 * 4);
                    }),
                1},
};

} // namespace

std::span<const LawAxis> sampled_axes() { return kSampled; }
std::span<const ProductAxes> product_axes() { return kProducts; }

} // namespace mqalab
