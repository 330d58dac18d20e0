#include "fuzz/mutator.hpp"
#include "fuzz/boundaries.hpp"
#include "fuzz/generator.hpp"
#include "fuzz/generator_draws.hpp"
#include "fuzz/repair.hpp"

#include <algorithm>
#include <array>
#include <vector>

namespace mqalab {
namespace {

constexpr int kWordsPercent = 8; // where the kernel has words

// Of those that the operation knows.  Shape and configuration choose the kernel's paths; the many strides and
// seeds would crowd them out.  The operation itself changes by a move of its own.
const Field& any_field(const Case& c, Random& random) {
  while (true) {
    const Field& f = random.pick(fields());
    if (f.name == "op" || !has_meaning(c.op, f.name)) continue;
    if (f.group == FieldGroup::shape || f.group == FieldGroup::config || random.chance(40)) return f;
  }
}

int32_t& any_length(Case& c, Random& random) {
  auto& lens = c.shape.context_lens;
  if (lens.empty()) lens.push_back(1);
  return lens[static_cast<size_t>(random.between(0, static_cast<int64_t>(lens.size()) - 1))];
}

int32_t* any_start(Case& c, Random& random) {
  if (!has_meaning(c.op, "starts")) return nullptr;
  auto& starts = c.shape.starts;
  if (starts.empty()) {
    c.shape.lens_per_row = true;
    fit_lengths(c);
    starts.assign(static_cast<size_t>(rows(c)), 0);
  }
  if (starts.empty()) return nullptr;
  return &starts[static_cast<size_t>(random.between(0, static_cast<int64_t>(starts.size()) - 1))];
}

void field_to_boundary(Case& c, Random& random) {
  const Field& f = any_field(c, random);
  f.set(c, draw_field(c, f, random));
}

void field_nudged(Case& c, Random& random) {
  const Field& f = any_field(c, random);
  const int64_t value = f.get(c);
  if (value > INT32_MAX) return; // a seed or a huge stride: nothing is near it
  f.set(c, random.pick(
               {value + 1, value - 1, value + 2, value * 2, value / 2, value / 16 * 16, value / 64 * 64}));
}

void field_reset(Case& c, Random& random) {
  const Field& f = any_field(c, random);
  f.set(c, f.smallest);
}

void length_to_boundary(Case& c, Random& random) {
  any_length(c, random) = static_cast<int32_t>(draw_context(c, random, kMostContext));
}
void length_nudged(Case& c, Random& random) {
  int32_t& length = any_length(c, random);
  length = static_cast<int32_t>(std::max<int64_t>(int64_t{length} + random.pick({-2, -1, 1, 2}), INT32_MIN));
}
void lengths_redrawn(Case& c, Random& random) { draw_lengths(c, random, kMostContext); }
void lengths_equal(Case& c, Random& random) {
  const int32_t length = any_length(c, random);
  std::fill(c.shape.context_lens.begin(), c.shape.context_lens.end(), length);
}

// context = i * chunk + d: the relation behind every split and tail fault.
void context_on_chunk(Case& c, Random& random) {
  const int64_t chunk = chunk_tokens(c);
  any_length(c, random) = static_cast<int32_t>(
      random.between(0, std::max<int64_t>(kMostContext / chunk / 2, 1)) * chunk + random.between(-2, 2));
}
void context_on_split(Case& c, Random& random) {
  const int64_t split = std::max(c.config.split_kv, 1);
  any_length(c, random) =
      static_cast<int32_t>(random.between(1, 3) * split * chunk_tokens(c) + random.between(-2, 2));
}
void context_on_block(Case& c, Random& random) {
  any_length(c, random) =
      static_cast<int32_t>(random.between(0, 4) * c.shape.block_size + random.between(-1, 1));
}
void columns_near_context(Case& c, Random& random) {
  c.shape.max_model_len = std::max<int64_t>(longest_context(c) + random.between(-2, 2), 1);
}
// rows * stride * 4 about 2^31, and the same for what is read.
void rows_times_stride(Case& c, Random& random) {
  if (rows(c) < 2) c.shape.batch = 2;
  const auto stretched = [&](int64_t count, int64_t unit_bytes, int64_t extent) {
    const StridedItems items{1, count - 1, count, unit_bytes, [=](int64_t) { return extent; }};
    return draw_crossing_stride(items, kMostStretched_bytes, random);
  };
  const Shape& s = c.shape;
  switch (random.between(0, 2)) {
  case 0: c.strides.logits = stretched(rows(c), 4, s.max_model_len); break;
  case 1: c.strides.weights = stretched(rows(c), 4, s.heads); break;
  default: c.strides.q[0] = stretched(s.batch, 1, int64_t{s.next_n} * s.heads * s.head_dim); break;
  }
}
void start_to_boundary(Case& c, Random& random) {
  if (int32_t* start = any_start(c, random))
    *start = static_cast<int32_t>(draw_context(c, random, kMostContext));
}
// Ranges of one key, of none, and the wrong way round.
void start_near_end(Case& c, Random& random) {
  int32_t* start = any_start(c, random);
  if (!start) return;
  const size_t row = static_cast<size_t>(start - c.shape.starts.data());
  *start = static_cast<int32_t>(
      std::clamp<int64_t>(int64_t{c.shape.context_lens[row]} + random.between(-3, 1), INT32_MIN, INT32_MAX));
}
void starts_dropped(Case& c, Random&) { c.shape.starts.clear(); }
// k = candidates + d: where a selection becomes whole.
void k_near_candidates(Case& c, Random& random) {
  if (!has_meaning(c.op, "top_k.k")) return;
  c.selection.k = static_cast<int32_t>(
      std::clamp<int64_t>(any_length(c, random) + random.between(-2, 2), 1, kMostSelected));
}
void another_operation(Case& c, Random& random) {
  c.op = static_cast<Operation>(draw_field(c, field("op"), random));
}
void heads_near_tile(Case& c, Random& random) {
  c.shape.heads =
      static_cast<int32_t>(random.pick({16, 32, 64}) * random.between(1, 4) + random.pick({-8, 0, 8}));
}
void another_config(Case& c, Random& random) {
  for (const Field& f : fields())
    if (f.group == FieldGroup::config && random.chance(60)) f.set(c, draw_field(c, f, random));
}
void another_lane(Case& c, Random& random) {
  for (const char* name : {"data.lane", "data.pattern", "data.seed"})
    field(name).set(c, draw_field(c, field(name), random));
}
void crowd(Case& c, Random& random) {
  if (makes_logits(c.op) && c.op != Operation::prefill_logits) draw_crowd(c, random);
}
void fresh_case(Case& c, Random& random) {
  c = random.chance(50) ? generate_case(random, c.op) : generate_case(random);
}
void large_offset(Case& c, Random& random) { c = generate_large_offset_case(random, c.op); }

struct Move {
  int weight;
  void (*apply)(Case&, Random&);
};
constexpr std::array kMoves{
    Move{14, field_to_boundary},
    Move{8, field_nudged},
    Move{10, field_reset},
    Move{8, length_to_boundary},
    Move{4, length_nudged},
    Move{5, lengths_redrawn},
    Move{3, lengths_equal},
    Move{9, context_on_chunk},
    Move{4, context_on_split},
    Move{5, context_on_block},
    Move{6, columns_near_context},
    Move{2, rows_times_stride},
    Move{4, heads_near_tile},
    Move{9, another_config},
    Move{3, another_lane},
    Move{8, fresh_case},
    Move{1, large_offset},
    Move{3, start_to_boundary},
    Move{3, start_near_end},
    Move{1, starts_dropped},
    Move{3, k_near_candidates},
    Move{2, another_operation},
    Move{1, crowd},
};

void apply_weighted(Case& c, Random& random) {
  int total = 0;
  for (const Move& move : kMoves) total += move.weight;
  int64_t draw = random.between(0, total - 1);
  for (const Move& move : kMoves)
    if ((draw -= move.weight) < 0) return move.apply(c, random);
}

// One number of the case is handed to the engine, which may put an operand of a recent comparison into its
// place.
void word_from_engine(Case& c, Random& random, const WordMutation& word) {
  if (random.chance(60)) {
    int32_t& length = any_length(c, random);
    length = static_cast<int32_t>(
        std::min<uint64_t>(word(static_cast<uint32_t>(length)) & UINT32_MAX, kMostContext));
    return;
  }
  const Field& f = any_field(c, random);
  f.set(c, static_cast<int64_t>(word(static_cast<uint64_t>(f.get(c))) & INT64_MAX));
}

void word_in_a_field(Case& c, Random& random, const Words& words) {
  const Field& f = any_field(c, random);
  const Words fitting = words_for(f, words);
  if (!fitting.empty()) f.set(c, random.pick(std::span<const int64_t>(fitting)));
}

} // namespace

Case mutate(const Case& parent, Random& random, const WordMutation& word, const Words& words) {
  Case c = parent;
  repair(c);                                                              // a parent may come from any bytes
  for (int moves = random.pick({1, 1, 1, 2, 2, 3}); moves > 0; --moves) { // few: a parent is worth keeping
    if (word && random.chance(12))
      word_from_engine(c, random, word);
    else if (!words.empty() && random.chance(kWordsPercent))
      random.chance(50) ? word_in_a_field(c, random, words) : draw_words(c, words, random);
    else
      apply_weighted(c, random);
    repair(c); // no move sees the wild values of another
  }
  bound_work(c);
  if (random.chance(kContractPercent)) make_illegal(c, random);
  return c;
}

Case cross(const Case& mother, const Case& father, Random& random) {
  Case child = mother;
  for (const FieldGroup group : {FieldGroup::operation, FieldGroup::shape, FieldGroup::strides,
                                 FieldGroup::table, FieldGroup::data, FieldGroup::config}) {
    if (random.chance(50)) continue;
    for (const Field& f : fields())
      if (f.group == group) f.set(child, f.get(father));
    if (group == FieldGroup::shape)
      child.shape.context_lens = father.shape.context_lens, child.shape.starts = father.shape.starts;
    if (group == FieldGroup::table) child.block_table.set = father.block_table.set;
    if (group == FieldGroup::data) child.data.overrides = father.data.overrides;
  }
  repair(child);
  bound_work(child);
  return child;
}

} // namespace mqalab
