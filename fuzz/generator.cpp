#include "fuzz/generator.hpp"
#include "fuzz/boundaries.hpp"
#include "fuzz/repair.hpp"

#include <algorithm>

namespace mqalab {
namespace {

constexpr int64_t kMostContext = 9000;
constexpr int kLargeOffsetPercent = 3;

void draw(Case& c, std::string_view name, Random& random) {
  const Field& f = field(name);
  f.set(c, draw_field(c, f, random));
}

void draw_shape(Case& c, Random& random) {
  for (const char* name : {"next_n", "heads", "head_dim", "block_size", "fp8", "tail", "batch"})
    draw(c, name, random);
  if (random.chance(50)) c.shape.batch = static_cast<int32_t>(random.between(1, 3));
  if (c.shape.block_size != 1) draw(c, "layout", random);
  c.shape.lens_per_row = random.chance(20);
}

void draw_config(Case& c, Random& random) {
  for (const char* name : {"config.variant", "config.chunk_k", "config.split_kv", "config.wave_per_eu"})
    if (random.chance(80)) draw(c, name, random);
}

void draw_table(Case& c, Random& random) {
  draw(c, "block_table.mode", random);
  draw(c, "block_table.padding", random);
  draw(c, "block_table.period", random);
  c.block_table.seed = random.next() >> 1;
  if (random.chance(15)) draw(c, "num_blocks", random);
  // An id that no block has: its tokens must become NaN, visibly, and nothing may be read.
  if (random.chance(4)) c.block_table.set.push_back({0, 0, random.pick({-1, INT32_MAX, INT32_MIN, 1 << 30})});
}

void draw_strides(Case& c, Random& random) {
  if (random.chance(40)) return;
  for (const Field& f : fields())
    if (f.name.starts_with("strides.") && random.chance(35)) f.set(c, draw_field(c, f, random));
}

void draw_data(Case& c, Random& random) {
  const int64_t lane = random.between(0, 89);
  c.data.lane = lane < 60 ? Lane::exact : lane < 85 ? Lane::numeric : Lane::special;
  c.data.pattern = static_cast<Pattern>(draw_field(c, field("data.pattern"), random));
  if (c.data.lane == Lane::special && random.chance(30)) c.data.pattern = Pattern::raw_bytes;
  c.data.seed = random.next() >> 1;
}

} // namespace

void draw_lengths(Case& c, Random& random, int64_t most) {
  auto& lens = c.shape.context_lens;
  lens.assign(static_cast<size_t>(std::max<int64_t>(lens_wanted(c), 0)),
              static_cast<int32_t>(draw_context(c, random, most)));
  if (lens.empty()) return;
  const int64_t style = random.between(0, 3);
  if (style == 0)
    lens[static_cast<size_t>(random.between(0, static_cast<int64_t>(lens.size()) - 1))] =
        static_cast<int32_t>(draw_context(c, random, most));
  if (style == 1)
    for (int32_t& length : lens) length = static_cast<int32_t>(draw_context(c, random, most));
  if (style == 2)
    for (size_t i = 0; i < lens.size(); ++i)
      lens[i] = static_cast<int32_t>(std::min<int64_t>(lens[0] + static_cast<int64_t>(i), most));
  if (random.chance(3)) lens[0] = random.pick({0, -1, -7, INT32_MIN});
}

void fit_fault_instances(Case& c) {
  constexpr int32_t kStagedRowsByHeads = (48 << 10) / 128 / 4 * 3; // q, a quarter left for weights
  c.shape.head_dim = 128;
  if (c.config.variant == MQA_VARIANT_DIRECT) c.config.variant = MQA_VARIANT_STAGED;
  while (c.shape.next_n > 1 && c.shape.next_n * c.shape.heads > kStagedRowsByHeads) --c.shape.next_n;
  repair(c);
}

Case generate_large_offset_case(Random& random) {
  Case c;
  draw_shape(c, random);
  draw_config(c, random);
  Shape& s = c.shape;
  s.batch = static_cast<int32_t>(random.between(2, 5));
  s.lens_per_row = false;
  s.context_lens.assign(static_cast<size_t>(s.batch),
                        static_cast<int32_t>(random.between(1, 2 * s.block_size + 2)));
  s.max_model_len = longest_context(c) + random.between(0, 3);
  c.data.seed = random.next() >> 1;
  const int64_t row = random.between(1, rows(c) - 1), sequence = random.between(1, s.batch - 1);
  switch (random.between(0, 5)) {
  case 0: c.strides.weights = draw_crossing_stride(row, 4, random); break;
  case 1: c.strides.q[0] = draw_crossing_stride(sequence, 1, random); break;
  case 2:
    c.block_table.mode = TableMode::high;
    c.strides.kv_block = draw_crossing_stride(random.between(1, 3), 1, random) / 4 * 4 + random.pick({0, 4});
    s.num_blocks = random.between(4, 6) * s.batch;
    break;
  case 3:
    c.block_table.mode = TableMode::high;
    s.num_blocks =
        draw_crossing_stride(int64_t{s.block_size} * (s.head_dim + 4), 1, random) + random.between(0, 40);
    break;
  default: c.strides.logits = draw_crossing_stride(row, 4, random); break;
  }
  repair(c);
  bound_work(c);
  return c;
}

Case generate_case(Random& random) {
  if (random.chance(kLargeOffsetPercent)) return generate_large_offset_case(random);
  Case c;
  draw_shape(c, random);
  draw_config(c, random);
  const int64_t ceiling = random.chance(70) ? 600 : kMostContext;
  c.shape.max_model_len = ceiling;
  draw_lengths(c, random, ceiling);
  draw(c, "max_model_len", random);
  draw_table(c, random);
  draw_strides(c, random);
  draw_data(c, random);
  repair(c);
  bound_work(c, random.chance(95) ? kUsualWork : 4 * kUsualWork);
  return c;
}

} // namespace mqalab
