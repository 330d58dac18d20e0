// Prefill rows: each has a range of keys of its own, and every relation between start, end, keys and columns
// is legal.
#include "fuzz/boundaries.hpp"
#include "fuzz/generator_draws.hpp"

#include <algorithm>
#include <array>

namespace mqalab {
namespace {

struct Range {
  int64_t start, end;
};

// Row i of `rows` over `keys` keys, `size` the one number of its kind.
Range causal(int64_t i, int64_t rows, int64_t keys, int64_t) { return {0, keys - rows + i + 1}; }
Range window(int64_t i, int64_t rows, int64_t keys, int64_t size) {
  const int64_t end = keys - rows + i + 1;
  return {end - size, end};
}
Range equal(int64_t, int64_t, int64_t keys, int64_t size) { return {keys / 3, keys / 3 + size}; }
// Several prompts one after the other: the rows of one start together, each sees one key more.
Range packed(int64_t i, int64_t rows, int64_t keys, int64_t size) {
  const int64_t each = std::clamp<int64_t>(size, 1, rows), prompt = i / each;
  const int64_t start = std::min(prompt * each * std::max<int64_t>(keys / rows, 1), keys);
  return {start, start + i % each + 1};
}
Range strided(int64_t i, int64_t, int64_t, int64_t size) { return {i * size, (i + 1) * size}; }
Range empty(int64_t i, int64_t, int64_t keys, int64_t size) {
  return {(i * size) % (keys + 1), (i * size) % (keys + 1)};
}
constexpr std::array kKinds{causal, causal, window, window, equal, packed, strided, empty};

int32_t narrow(int64_t value) {
  return static_cast<int32_t>(std::clamp<int64_t>(value, INT32_MIN, INT32_MAX));
}

// What no tidy caller asks for: reversed, past the keys, negative, the ends of int32.
void make_odd(int32_t& start, int32_t& end, int64_t keys, Random& random) {
  switch (random.between(0, 5)) {
  case 0: std::swap(start, end); break;
  case 1: end = narrow(keys + random.between(1, 3)); break;
  case 2: start = random.pick({-1, -64, INT32_MIN}); break;
  case 3: end = random.pick({0, -1, INT32_MIN, INT32_MAX}); break;
  case 4: start = random.pick({INT32_MAX, narrow(keys), narrow(keys - 1)}); break;
  default: start = end = narrow(random.between(0, keys)); break;
  }
}

void draw_ranges(Case& c, int64_t keys, Random& random) {
  Shape& s = c.shape;
  const auto range = kKinds[static_cast<size_t>(random.between(0, kKinds.size() - 1))];
  const int64_t count = s.next_n, size = draw_context(c, random, keys);
  s.starts.resize(static_cast<size_t>(count)), s.context_lens.resize(static_cast<size_t>(count));
  const bool odd = random.chance(25);
  for (int64_t i = 0; i < count; ++i) {
    const Range r = range(i, count, keys, size);
    int32_t &start = s.starts[static_cast<size_t>(i)], &end = s.context_lens[static_cast<size_t>(i)];
    start = narrow(std::max<int64_t>(r.start, 0)), end = narrow(r.end);
    if (odd && random.chance(20)) make_odd(start, end, keys, random);
  }
  const auto zero = [](int32_t start) { return start == 0; };
  if (std::all_of(s.starts.begin(), s.starts.end(), zero)) s.starts.clear();
}

// Of one row, at most the keys.
int64_t longest_range(const Shape& s, int64_t keys) {
  int64_t longest = 1;
  for (size_t i = 0; i < s.context_lens.size(); ++i) {
    const int64_t start = i < s.starts.size() ? std::max(s.starts[i], 0) : 0;
    longest = std::max(longest, std::min<int64_t>(s.context_lens[i], keys) - start);
  }
  return longest;
}

} // namespace

void draw_prefill(Case& c, Random& random) {
  Shape& s = c.shape;
  draw(c, {"heads", "head_dim", "fp8", "tail", "compressed"}, random);
  s.batch = random.chance(2) ? 0 : 1;
  s.next_n = random.pick({1, 1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 31, 33, 64, 65, 130});
  s.lens_per_row = true;
  draw_config(c, random);
  const int64_t keys = std::max<int64_t>(draw_context(c, random, random.chance(70) ? 600 : kMostContext), 1);
  draw_ranges(c, keys, random);
  if (random.chance(60)) s.num_blocks = keys;
  const int64_t columns = s.compressed ? longest_range(s, keys) : keys;
  s.max_model_len = std::max<int64_t>(
      random.pick({columns, columns, columns + 1, columns - 1, columns / 2, columns + 63, 2 * columns}), 1);
  draw_strides(c, random);
  draw_data(c, random);
}

} // namespace mqalab
