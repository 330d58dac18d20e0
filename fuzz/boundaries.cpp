#include "fuzz/boundaries.hpp"

#include <algorithm>
#include <bit>
#include <optional>

namespace mqalab {
namespace {

void add_around(std::vector<int64_t>& values, int64_t centre, int64_t distance = 1) {
  for (int64_t d = -distance; d <= distance; ++d) values.push_back(centre + d);
}

int64_t draw_heads(Random& random) {
  if (random.chance(50)) return random.pick({8, 16, 24, 32, 40, 64, 72, 128});
  if (random.chance(80)) return 8 * random.between(1, 16);
  return random.pick({1, 3, 5, 12, 17, 31, 65, 100, 130, 200, 256, 1000});
}

int64_t draw_head_dim(Random& random) {
  return random.chance(90) ? random.pick({32, 64, 128, 128}) : 16 * random.between(1, 16);
}

// At a power of two, at what models use, at the number of candidates, where a selection becomes whole, or
// amid the candidates, where ties are cut.
int64_t draw_k(const Case& c, Random& random) {
  if (random.chance(25)) return std::clamp<int64_t>(random.between(1, longest_context(c)), 1, kMostSelected);
  if (random.chance(40))
    return std::clamp<int64_t>(longest_context(c) + random.between(-1, 1), 1, kMostSelected);
  return random.pick({1, 1, 2, 3, 5, 8, 31, 32, 33, 64, 100, 256, 512, 1000, 2048, 2048, 4095, 4096});
}

int64_t draw_block_size(Random& random) {
  if (random.chance(80)) return random.pick({1, 1, 16, 16, 32, 48, 64, 64, 128, 256});
  return 16 * random.between(1, 64);
}

int64_t draw_max_model_len(const Case& c, Random& random) {
  const int64_t context = std::max<int64_t>(longest_context(c), 1), chunk = chunk_tokens(c);
  const int64_t block = std::max(c.shape.block_size, 1);
  switch (random.between(0, 5)) {
  case 0: return context;
  case 1: return context + random.between(-2, 2);
  case 2: return (context / chunk + 1) * chunk + random.between(-1, 1);
  case 3: return (context / block + 1) * block + random.between(-1, 1);
  case 4: return (context / 256 + 1) * 256 + random.between(-1, 1);
  default: return random.log_uniform(1, 4 * context);
  }
}

// Dense, a prime more than dense, or a good deal more: paddings that no power of two hides.
int64_t draw_padded(int64_t dense, Random& random) {
  return random.pick(
      {int64_t{0}, dense, dense + 1, dense + 3, dense + 13, dense + 64, 2 * dense, 3 * dense + 7});
}

int64_t draw_stride(const Case& c, std::string_view name, Random& random) {
  const Shape& s = c.shape;
  const int64_t block = std::max(s.block_size, 1), columns = s.max_model_len;
  const int64_t head = std::max<int64_t>(c.strides.q[2], s.head_dim),
                next = std::max(c.strides.q[1], head * s.heads);
  if (name == "strides.q[2]") return draw_padded(s.head_dim, random);
  if (name == "strides.q[1]") return draw_padded(head * s.heads, random);
  if (name == "strides.q[0]") return draw_padded(next * s.next_n, random);
  if (name == "strides.weights") return draw_padded(s.heads, random);
  if (name == "strides.block_table") return draw_padded((columns + block - 1) / block, random);
  if (name == "strides.logits") return draw_padded(columns, random);
  if (name == "strides.logits_head")
    return draw_padded(rows(c) * std::max(c.strides.logits, columns), random);
  if (name == "strides.keys") return draw_padded(s.head_dim, random);
  if (name == "strides.key_scales") return draw_padded(1, random);
  if (name == "strides.indices") return draw_padded(c.selection.k, random);
  const int64_t bytes = c.op == Operation::prefill_logits ? s.head_dim : block * (s.head_dim + 4);
  return (draw_padded(bytes, random) + 3) / 4 * 4;
}

// ---- where an item lies at an edge ----
constexpr int64_t kEdgeGrain = 1 << 20; // keeps a product of edges and items within 64 bits

// In bytes.  Of units longer than a byte also the edge of a 32-bit index: 2^31 of them.
int64_t draw_edge(int64_t unit_bytes, Random& random) {
  if (unit_bytes > 1 && random.chance(10)) return kEdge31 * unit_bytes;
  return random.chance(50) ? kEdge31 : kEdge32;
}

int64_t bit_floor(int64_t value) {
  return static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(value)));
}

// Around: from an item before the edge to one behind it.  Begins and ends: exactly there.
enum class Place : uint8_t { around, begins, ends, across };
Place draw_place(Random& random) {
  const int64_t percent = random.between(0, 99);
  return percent < 40   ? Place::around
         : percent < 55 ? Place::begins
         : percent < 70 ? Place::ends
                        : Place::across;
}

// Not where no multiple of the item's number does it.
std::optional<int64_t> stride_for(Place place, const StridedItems& items, int64_t item, int64_t edge,
                                  Random& random) {
  const int64_t per_step = item * items.step, extent = items.extent(item);
  const auto exact = [&](int64_t begin) {
    return begin % per_step ? std::nullopt : std::optional(begin / per_step * items.step);
  };
  switch (place) {
  case Place::around: return ((edge + per_step - 1) / per_step + random.between(-1, 1)) * items.step;
  case Place::begins: return exact(edge);
  case Place::ends: return extent < 1 ? std::nullopt : exact(edge - extent);
  case Place::across: break;
  }
  const int64_t least = (edge - extent + per_step) / per_step, most = (edge - 1) / per_step;
  if (least > most) return std::nullopt;
  return random.between(least, most) * items.step;
}

} // namespace

std::vector<int64_t> context_boundaries(const Case& c, int64_t most) {
  const int64_t chunk = chunk_tokens(c), block = c.shape.block_size, split = std::max(c.config.split_kv, 1);
  std::vector<int64_t> values{0, 1, 2};
  add_around(values, c.shape.next_n);
  add_around(values, block);
  add_around(values, chunk / 2);
  for (const int64_t chunks : {int64_t{1}, int64_t{2}, int64_t{3}, split - 1, split, split + 1, 2 * split})
    add_around(values, chunks * chunk, 2);
  add_around(values, kIndexTopk);
  if (has_meaning(c.op, "top_k.k")) add_around(values, c.selection.k);
  add_around(values, c.shape.max_model_len);
  for (int64_t power = 8; power <= most; power *= 2) add_around(values, power);
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  std::erase_if(values, [&](int64_t value) { return value < 0 || value > most; });
  return values;
}

int64_t draw_context(const Case& c, Random& random, int64_t most) {
  if (random.chance(50)) return random.log_uniform(1, std::max<int64_t>(most, 1));
  const auto values = context_boundaries(c, most);
  return random.pick(std::span<const int64_t>(values));
}

int64_t draw_crossing_stride(const StridedItems& items, int64_t most_bytes, Random& random) {
  const auto lowest = [&](int64_t edge) { // its stride is the longest
    return std::max(items.first, (items.count * (edge / kEdgeGrain) + most_bytes / kEdgeGrain - 1) /
                                     (most_bytes / kEdgeGrain));
  };
  int64_t edge = draw_edge(items.unit_bytes, random);
  if (lowest(edge) > items.last) edge = kEdge31;
  if (lowest(edge) > items.last) return 0;
  const Place place = draw_place(random);
  for (int tries = 0; tries < 8; ++tries) {
    int64_t item = random.between(lowest(edge), items.last);
    if (const int64_t power = bit_floor(item); place == Place::begins && power >= lowest(edge)) item = power;
    if (const auto stride = stride_for(place, items, item, edge / items.unit_bytes, random)) return *stride;
  }
  const int64_t item = random.between(lowest(edge), items.last);
  return *stride_for(Place::around, items, item, edge / items.unit_bytes, random);
}

Pattern draw_pattern(const Case& c, Random& random) {
  using enum Pattern;
  // Each is another distribution of candidates, none of them the usual one.
  if (c.op == Operation::top_k)
    return random.pick({general, positive, address, one_token, one_head, one_dim});
  const int64_t percent = random.between(0, 99);
  if (percent < 25) return general;
  if (percent < 50) return positive; // half of the general cases
  return percent < 80 ? address : random.pick({one_token, one_head, one_dim});
}

int64_t draw_field(const Case& c, const Field& f, Random& random) {
  const std::string_view name = f.name;
  if (name == "batch") return random.pick({0, 1, 1, 2, 2, 3, 4, 5, 8, 9, 17, 33, 64, 65});
  if (name == "next_n") return random.pick({1, 1, 2, 2, 3, 4, 5, 6, 7, 8});
  if (name == "heads") return draw_heads(random);
  if (name == "head_dim") return draw_head_dim(random);
  if (name == "block_size") return draw_block_size(random);
  if (name == "max_model_len") return std::max<int64_t>(draw_max_model_len(c, random), 1);
  if (name == "num_blocks") return random.chance(60) ? 0 : random.log_uniform(1, 1 << 12);
  if (name == "op") return random.between(0, static_cast<int64_t>(Operation::indexer));
  if (name == "top_k.k") return draw_k(c, random);
  if (name == "writer.key_type") return random.between(0, MQA_KEY_FP32);
  if (name == "writer.skip_every") return random.pick({0, 0, 0, 1, 2, 3, 7});
  for (const std::string_view either :
       {"layout", "fp8", "tail", "lens_per_row", "compressed", "top_k.stable", "writer.scale_format"})
    if (name == either) return random.between(0, 1);
  if (name == "block_table.mode") return random.between(0, static_cast<int64_t>(TableMode::high));
  if (name == "block_table.padding") return random.between(0, static_cast<int64_t>(TablePadding::poisoned));
  if (name == "block_table.period") return random.pick({1, 2, 3, 4, 7});
  if (name == "data.lane") return random.pick({0, 0, 0, 0, 0, 0, 1, 1, 1, 2});
  if (name == "data.pattern") return static_cast<int64_t>(draw_pattern(c, random));
  if (name == "config.variant") return random.pick(std::span<const int32_t>(kVariants));
  if (name == "config.chunk_k") return random.pick({0, 64, 64, 128, 256, 512, 1024});
  if (name == "config.split_kv") return random.pick({0, 1, 1, 2, 3, 4, 5, 7, 8, 13, 38, 80});
  if (name == "config.wave_per_eu") return random.pick({0, 1, 2, 4});
  if (f.group == FieldGroup::strides || name == "strides.kv_block") return draw_stride(c, name, random);
  return static_cast<int64_t>(random.next() >> 1); // seeds
}

} // namespace mqalab
