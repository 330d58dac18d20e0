// Selections: rows of every length around k, padded or cut, with and without starts.
#include "fuzz/boundaries.hpp"
#include "fuzz/generator.hpp"
#include "fuzz/generator_draws.hpp"

#include <algorithm>

namespace mqalab {

void draw_selection(Case& c, Random& random) { draw(c, {"top_k.k", "top_k.stable"}, random); }

void draw_top_k(Case& c, Random& random) {
  Shape& s = c.shape;
  draw(c, {"next_n", "batch"}, random);
  if (random.chance(60)) s.batch = static_cast<int32_t>(random.between(1, 3));
  const int64_t ceiling = random.chance(50) ? 600 : kMostContext;
  s.max_model_len = ceiling;
  s.lens_per_row = random.chance(50);
  draw_lengths(c, random, ceiling);
  draw_selection(c, random);
  draw(c, {"max_model_len"}, random);
  if (s.lens_per_row && random.chance(70)) { // rows that start anywhere, also between two aligned columns
    s.starts.resize(static_cast<size_t>(rows(c)));
    for (int32_t& start : s.starts) start = static_cast<int32_t>(draw_context(c, random, ceiling) / 2);
    if (!s.starts.empty() && random.chance(20)) s.starts[0] = random.pick({-1, INT32_MIN, INT32_MAX});
  }
  draw_strides(c, random);
  draw_data(c, random);
}

} // namespace mqalab
