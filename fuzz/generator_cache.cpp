// The cache writer and the gather: tokens of every count in blocks of every size.
#include "fuzz/boundaries.hpp"
#include "fuzz/generator.hpp"
#include "fuzz/generator_draws.hpp"

namespace mqalab {
namespace {

void draw_tokens(Case& c, Random& random) {
  draw(c, {"head_dim", "block_size", "fp8", "batch"}, random);
  if (random.chance(50)) c.shape.batch = static_cast<int32_t>(random.between(1, 3));
  if (c.shape.block_size != 1) draw(c, {"layout"}, random);
  const int64_t ceiling = random.chance(80) ? 300 : 3000;
  c.shape.max_model_len = ceiling;
  draw_lengths(c, random, ceiling);
  draw(c, {"max_model_len"}, random);
  draw_table(c, random);
  draw_strides(c, random);
  draw_data(c, random);
}

} // namespace

void draw_writer(Case& c, Random& random) {
  draw(c, {"writer.key_type", "writer.scale_format", "writer.skip_every"}, random);
}

void draw_cache_write(Case& c, Random& random) {
  draw_tokens(c, random);
  draw_writer(c, random);
  if (random.chance(30))
    c.data.lane = Lane::special; // rounding, NaN and the least scale are half of what it does
}

void draw_cache_gather(Case& c, Random& random) { draw_tokens(c, random); }

} // namespace mqalab
