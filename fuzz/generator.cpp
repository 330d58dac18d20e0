#include "fuzz/generator.hpp"
#include "fuzz/fields.hpp"
#include "fuzz/generator_draws.hpp"
#include "fuzz/repair.hpp"

namespace mqalab {
namespace {

constexpr int kWordsPercent = 25; // of the cases for a kernel that has words

// In percent.  Paged logits are what the others grow from, and what production runs most.
struct Share {
  Operation op;
  int percent;
};
constexpr Share kShares[] = {{Operation::paged_logits, 45},   {Operation::ragged_logits, 8},
                             {Operation::per_head_logits, 7}, {Operation::per_head_ragged_logits, 4},
                             {Operation::head_sum, 4},        {Operation::prefill_logits, 10},
                             {Operation::top_k, 8},           {Operation::cache_write, 5},
                             {Operation::cache_gather, 4},    {Operation::indexer, 5}};

Operation draw_operation(Random& random) {
  int64_t draw = random.between(0, 99);
  for (const Share& share : kShares)
    if ((draw -= share.percent) < 0) return share.op;
  return Operation::paged_logits;
}

void draw_case(Case& c, Random& random) {
  switch (c.op) {
  case Operation::prefill_logits: return draw_prefill(c, random);
  case Operation::top_k: return draw_top_k(c, random);
  case Operation::cache_write: return draw_cache_write(c, random);
  case Operation::cache_gather: return draw_cache_gather(c, random);
  case Operation::indexer:
    draw_logits(c, random);
    draw_selection(c, random);
    return draw_writer(c, random);
  default: return draw_logits(c, random);
  }
}

} // namespace

Case generate_case(Random& random, Operation op, const Words& words) {
  if (random.chance(kLargeOffsetPercent)) return generate_large_offset_case(random, op);
  Case c;
  c.op = op;
  draw_case(c, random);
  if (!words.empty() && random.chance(kWordsPercent)) draw_words(c, words, random);
  repair(c);
  if (random.chance(95) || usual_work(c) > kUsualWork)
    bound_work(c);
  else
    bound_work(c, 4 * kUsualWork);
  return c;
}

Case generate_case(Random& random) { return generate_case(random, draw_operation(random)); }

Case generate_any_case(Random& random) {
  const Operation op = draw_operation(random);
  return random.chance(kContractPercent) ? generate_illegal_case(random, op) : generate_case(random, op);
}

} // namespace mqalab
