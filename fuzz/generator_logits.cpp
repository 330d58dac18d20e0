// Logits of decode rows, paged and ragged, and the draws that other operations share with them.
#include "fuzz/boundaries.hpp"
#include "fuzz/generator.hpp"
#include "fuzz/generator_draws.hpp"

#include <algorithm>

namespace mqalab {
namespace {

constexpr int kLongPerMille = 8;
constexpr int kCrowdPercent = 4, kBusyPercent = 25;

void draw_shape(Case& c, Random& random) {
  draw(c, {"next_n", "heads", "head_dim", "block_size", "fp8", "tail", "batch"}, random);
  if (random.chance(50)) c.shape.batch = static_cast<int32_t>(random.between(1, 3));
  if (c.shape.block_size != 1) draw(c, {"layout"}, random);
  c.shape.lens_per_row = has_meaning(c.op, "lens_per_row") && random.chance(20);
}

} // namespace

void draw(Case& c, std::initializer_list<std::string_view> names, Random& random) {
  for (const std::string_view name : names)
    if (has_meaning(c.op, name)) field(name).set(c, draw_field(c, field(name), random));
}

void draw_config(Case& c, Random& random) {
  for (const char* name : {"config.variant", "config.chunk_k", "config.split_kv", "config.wave_per_eu"})
    if (random.chance(80)) draw(c, {name}, random);
}

void draw_table(Case& c, Random& random) {
  draw(c, {"block_table.mode", "block_table.padding", "block_table.period"}, random);
  c.block_table.seed = random.next() >> 1;
  if (random.chance(15)) draw(c, {"num_blocks"}, random);
  // An id that no block has: its tokens must become NaN, visibly, and nothing may be read.
  if (random.chance(4)) c.block_table.set.push_back({0, 0, random.pick({-1, INT32_MAX, INT32_MIN, 1 << 30})});
}

void draw_strides(Case& c, Random& random) {
  if (random.chance(40)) return;
  for (const Field& f : fields())
    if (f.name.starts_with("strides.") && random.chance(35)) draw(c, {f.name}, random);
}

void draw_data(Case& c, Random& random) {
  const int64_t lane = random.between(0, 89);
  c.data.lane = lane < 60 ? Lane::exact : lane < 85 ? Lane::numeric : Lane::special;
  c.data.pattern = draw_pattern(c, random);
  if (c.data.lane == Lane::special && random.chance(30)) c.data.pattern = Pattern::raw_bytes;
  c.data.seed = random.next() >> 1;
}

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
  if (random.chance(15)) // empty sequences before, between and behind others
    for (int32_t& length : lens)
      if (random.chance(40)) length = 0;
  if (random.chance(3)) lens[0] = random.pick({0, -1, -7, INT32_MIN});
}

void draw_crowd(Case& c, Random& random) {
  Shape& s = c.shape;
  // Sparse: empty sequences between short ones and a long one.  Busy: more sequences with work than a device
  // with one worker on each compute unit has workers, and queries that several waves stage.
  const bool busy = random.chance(kBusyPercent);
  s.batch = busy ? random.pick({305, 310, 320}) : random.pick({128, 255, 256, 257, 258, 300, 350});
  s.next_n = 1, s.lens_per_row = false;
  s.heads = busy ? random.pick({32, 32, 40}) : random.pick({1, 8, 8, 16});
  s.block_size = random.pick({1, 1, 16}); // the pool holds a block for each
  s.layout = MQA_PLANAR;
  s.context_lens.resize(static_cast<size_t>(s.batch));
  for (int32_t& length : s.context_lens)
    length = busy ? random.pick({1, 1, 2, 3}) : random.pick({0, 0, 0, 1, 1, 2, 3, 17});
  s.context_lens[static_cast<size_t>(random.between(0, s.batch - 1))] =
      static_cast<int32_t>(draw_context(c, random, 300));
  s.max_model_len = std::max<int64_t>(longest_context(c), 1);
  // Each worker looks at all lengths, whether it gets work or not: few workers are cheap.
  if (busy || random.chance(75)) c.config.wave_per_eu = 1;
  if (busy || random.chance(70) || runs_general(c)) c.config.variant = MQA_VARIANT_SCHEDULED;
}

namespace {

// One long sequence, cheap in all else: where a position meets blocks of every odd size, and numbers that
// grow with the context outgrow 16 bits.  A table that repeats itself keeps the pool small.
void draw_long(Case& c, Random& random) {
  Shape& s = c.shape;
  s.batch = s.next_n = 1, s.lens_per_row = false;
  s.heads = random.pick({1, 8}), s.head_dim = random.pick({32, 32, 64});
  s.block_size = random.chance(60) ? 16 * static_cast<int32_t>(2 * random.between(0, 31) + 1)
                                   : random.pick({1, 16, 64, 1024});
  s.context_lens = {static_cast<int32_t>(random.log_uniform(kMostContext, kLongestContext))};
  s.max_model_len = s.context_lens[0] + random.pick({0, 0, 1, 63});
  s.num_blocks = 0;
  c.block_table = {}, c.strides = {};
  c.block_table.mode = TableMode::alias;
  c.block_table.period = random.pick({3, 4, 7});
  if (runs_general(c)) c.config.variant = MQA_VARIANT_AUTO;
}

} // namespace

void draw_logits(Case& c, Random& random) {
  draw_shape(c, random);
  draw_config(c, random);
  const int64_t ceiling = random.chance(70) ? 600 : kMostContext;
  c.shape.max_model_len = ceiling;
  draw_lengths(c, random, ceiling);
  draw(c, {"max_model_len"}, random);
  if (c.op != Operation::indexer && random.chance(kCrowdPercent)) draw_crowd(c, random);
  draw_table(c, random);
  draw_strides(c, random);
  draw_data(c, random);
  if (c.op != Operation::indexer && random.between(0, 999) < kLongPerMille) draw_long(c, random);
}

} // namespace mqalab
