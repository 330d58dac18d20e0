// Two or a few rows, blocks or planes far apart: one stride at a time is so long that an address crosses 2^31
// or 2^32 bytes.
#include "fuzz/boundaries.hpp"
#include "fuzz/generator.hpp"
#include "fuzz/generator_draws.hpp"
#include "fuzz/repair.hpp"

#include <algorithm>
#include <vector>

namespace mqalab {
namespace {

int64_t key_bytes(const Case& c) {
  return c.op == Operation::cache_gather ? 1 : c.writer.key_type == MQA_KEY_FP32 ? 4 : 2;
}
int64_t tokens(const Case& c) {
  int64_t sum = 0;
  for (const int32_t length : c.shape.context_lens) sum += std::max(length, 0);
  return sum;
}

// A stride, what it counts, and how many items there are: the last of them lies past the edge.
struct Crossing {
  std::string_view field;
  int weight;
  int64_t (*unit_bytes)(const Case&);
  int64_t (*items)(const Case&);
};
int64_t one(const Case&) { return 1; }
int64_t four(const Case&) { return 4; }
constexpr Crossing kCrossings[] = {
    {"strides.weights", 2, four, rows},
    {"strides.q[0]", 2, one, [](const Case& c) { return int64_t{c.shape.batch}; }},
    {"strides.q[1]", 1, one, [](const Case& c) { return int64_t{c.shape.next_n}; }},
    {"strides.logits", 4, four, rows},
    {"strides.logits_head", 4, four, [](const Case& c) { return int64_t{c.shape.heads}; }},
    {"strides.keys", 3, key_bytes, tokens},
    {"strides.key_scales", 2, four, tokens},
    {"strides.indices", 4, four, rows},
};

struct Shift {
  std::string_view field; // empty: many dense blocks
  int weight;
  const Crossing* crossing;
};
constexpr std::string_view kBlockStride = "strides.kv_block", kManyBlocks = "";

std::vector<Shift> shifts(const Case& c) {
  std::vector<Shift> all;
  for (const Crossing& x : kCrossings)
    if (has_meaning(c.op, x.field) && x.items(c) > 1) all.push_back({x.field, x.weight, &x});
  if (has_meaning(c.op, kBlockStride)) all.push_back({kBlockStride, 2, nullptr});
  if (has_meaning(c.op, "block_table.mode")) all.push_back({kManyBlocks, 2, nullptr});
  return all;
}

void stretch_blocks(Case& c, Random& random) {
  c.strides.kv_block = draw_crossing_stride(random.between(1, 3), 1, random) / 4 * 4 + random.pick({0, 4});
  if (c.op == Operation::prefill_logits) return;
  c.block_table.mode = TableMode::high;
  c.shape.num_blocks = random.between(4, 6) * c.shape.batch;
}
void add_blocks(Case& c, Random& random) {
  c.block_table.mode = TableMode::high;
  c.shape.num_blocks = draw_crossing_stride(int64_t{c.shape.block_size} * (c.shape.head_dim + 4), 1, random) +
                       random.between(0, 40);
}

void apply(Case& c, const Shift& shift, Random& random) {
  if (shift.field == kManyBlocks) return add_blocks(c, random);
  if (shift.field == kBlockStride) return stretch_blocks(c, random);
  const int64_t index = random.between(1, shift.crossing->items(c) - 1);
  field(shift.field).set(c, draw_crossing_stride(index, shift.crossing->unit_bytes(c), random));
}

// Few sequences, rows and tokens.
void draw_small(Case& c, Random& random) {
  Shape& s = c.shape;
  draw(c,
       {"next_n", "heads", "head_dim", "block_size", "fp8", "tail", "compressed", "top_k.k", "top_k.stable",
        "writer.key_type", "writer.scale_format"},
       random);
  if (s.block_size != 1) draw(c, {"layout"}, random);
  draw_config(c, random);
  const bool prefill = c.op == Operation::prefill_logits;
  s.batch = prefill ? 1 : static_cast<int32_t>(random.between(2, 5));
  if (prefill) s.next_n = static_cast<int32_t>(random.between(2, 5));
  s.lens_per_row = prefill;
  s.context_lens.assign(static_cast<size_t>(lens_wanted(c)),
                        static_cast<int32_t>(random.between(1, 2 * s.block_size + 2)));
  s.max_model_len = longest_context(c) + random.between(0, 3);
  c.data.seed = random.next() >> 1;
}

} // namespace

Case generate_large_offset_case(Random& random, Operation op) {
  Case c;
  c.op = op;
  draw_small(c, random);
  const std::vector<Shift> all = shifts(c);
  int total = 0;
  for (const Shift& shift : all) total += shift.weight;
  int64_t draw = random.between(0, total - 1);
  for (const Shift& shift : all)
    if ((draw -= shift.weight) < 0) {
      apply(c, shift, random);
      break;
    }
  repair(c);
  bound_work(c);
  return c;
}

} // namespace mqalab
