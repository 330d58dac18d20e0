// Two or a few rows, blocks or planes far apart: in one, two or all buffers a stride is so long that an
// address crosses 2^31 or 2^32 bytes.
#include "fuzz/boundaries.hpp"
#include "fuzz/generator.hpp"
#include "fuzz/generator_draws.hpp"
#include "fuzz/repair.hpp"

#include <algorithm>
#include <vector>

namespace mqalab {
namespace {

// Of each stretched buffer: a partner's launch needs as much again, and a device has 24 GiB or more.
int64_t most_bytes(size_t stretched) {
  return stretched == 1 ? kMostStretched_bytes : stretched == 2 ? int64_t{8} << 30 : int64_t{9} << 29;
}

// A stride of a buffer, and how a case gets it long.
struct Crossing {
  std::string_view buffer, field;
  int weight;
  StridedItems (*items)(const Problem&);
  void (*apply)(Case&, const Crossing&, int64_t most_bytes, Random&);
};

void stretch(Case& c, const Crossing& x, int64_t most, Random& random) {
  field(x.field).set(c, draw_crossing_stride(x.items(resolve_shape(c)), most, random));
}

StridedItems all_of(int64_t count, int64_t unit_bytes, std::function<int64_t(int64_t)> extent) {
  return {1, count - 1, count, unit_bytes, std::move(extent)};
}
StridedItems all_of(int64_t count, int64_t unit_bytes, int64_t extent) {
  return all_of(count, unit_bytes, [extent](int64_t) { return extent; });
}

// ---- queries: with the outer strides dense, rows and heads lie end to end ----
int64_t row_of_heads(const Problem& p) { return int64_t{p.heads} * p.head_dim; }
StridedItems sequences(const Problem& p) { return all_of(p.batch, 1, p.next_n * row_of_heads(p)); }
StridedItems query_rows(const Problem& p) { return all_of(p.rows(), 1, row_of_heads(p)); }
StridedItems query_heads(const Problem& p) { return all_of(p.rows() * p.heads, 1, p.head_dim); }
StridedItems weight_rows(const Problem& p) { return all_of(p.rows(), 4, p.heads); }

// ---- logits ----
int64_t row_extent(const Problem& p, int64_t row) {
  return p.tail == MQA_TAIL_NEG_INF ? p.max_model_len : p.limit(row);
}
bool has_planes(const Problem& p) { return has_meaning(p.op, "strides.logits_head"); }
// Planes lie end to end.
StridedItems logits_rows(const Problem& p) {
  const int64_t count = p.rows() * (has_planes(p) ? p.heads : 1);
  return all_of(count, 4, [p](int64_t row) { return row_extent(p, row % p.rows()); });
}
StridedItems planes(const Problem& p) {
  return all_of(p.heads, 4, (p.rows() - 1) * p.logits_stride + row_extent(p, p.rows() - 1));
}
// The sums of a head sum have the row stride of its planes: few of these, or they are too long.
StridedItems sum_rows(const Problem& p) {
  if (p.op != Operation::head_sum) return {};
  StridedItems items = logits_rows(p);
  items.last = p.rows() - 1;
  return items;
}
void stretch_sums(Case& c, const Crossing& x, int64_t most, Random& random) {
  c.shape.heads = most < int64_t{8} << 30 ? 1 : static_cast<int32_t>(random.between(1, 2));
  stretch(c, x, most, random);
}

// ---- keys, scales, indices ----
int64_t key_tokens(const Problem& p) {
  if (p.op == Operation::prefill_logits) return p.num_blocks;
  int64_t tokens = 0;
  for (int32_t b = 0; b < p.batch; ++b) tokens += p.needed_tokens(b);
  return tokens;
}
StridedItems key_rows(const Problem& p) {
  const int64_t unit_bytes = p.op == Operation::cache_gather ? 1 : p.key_type == MQA_KEY_FP32 ? 4 : 2;
  return all_of(key_tokens(p), unit_bytes, p.head_dim);
}
StridedItems scales(const Problem& p) { return all_of(key_tokens(p), 4, 1); }
StridedItems index_rows(const Problem& p) { return all_of(p.rows(), 4, p.k); }

// ---- the cache: the last blocks of a pool are in use ----
int64_t needed_blocks(const Problem& p) {
  if (p.op == Operation::prefill_logits) return p.num_blocks;
  int64_t blocks = 0;
  for (int32_t b = 0; b < p.batch; ++b) blocks += p.needed_blocks(b);
  return blocks;
}
int64_t block_bytes(const Problem& p) {
  return p.op == Operation::prefill_logits ? p.head_dim : int64_t{p.block_size} * (p.head_dim + 4);
}
StridedItems blocks(const Problem& p) {
  StridedItems items = all_of(p.num_blocks, 1, block_bytes(p));
  items.first = std::max<int64_t>(1, p.num_blocks - needed_blocks(p));
  items.step = 4;
  return items;
}
void stretch_blocks(Case& c, const Crossing& x, int64_t most, Random& random) {
  if (c.op != Operation::prefill_logits) {
    const int64_t needed = needed_blocks(resolve_shape(c));
    c.block_table.mode = TableMode::high;
    c.shape.num_blocks = needed + random.between(1, std::max<int64_t>(needed, 1));
  }
  stretch(c, x, most, random);
}
// Dense, and so many that one of those in use lies at the edge.
void add_blocks(Case& c, const Crossing&, int64_t most, Random& random) {
  const Problem p = resolve_shape(c);
  const int64_t edge = most > kEdge32 + kEdge31 && random.chance(50) ? kEdge32 : kEdge31;
  c.block_table.mode = TableMode::high;
  c.shape.num_blocks = edge / block_bytes(p) + random.between(1, needed_blocks(p));
}
StridedItems dense_blocks(const Problem& p) {
  if (!has_meaning(p.op, "block_table.mode")) return {};
  const int64_t needed = needed_blocks(p);
  return all_of(needed > 0 ? needed + 1 : 0, 1, block_bytes(p));
}

constexpr Crossing kCrossings[] = {
    {"q", "strides.q[0]", 2, sequences, stretch},
    {"q", "strides.q[1]", 2, query_rows, stretch},
    {"q", "strides.q[2]", 1, query_heads, stretch},
    {"weights", "strides.weights", 3, weight_rows, stretch},
    {"logits", "strides.logits", 4, logits_rows, stretch},
    {"logits", "strides.logits", 2, sum_rows, stretch_sums},
    {"logits", "strides.logits_head", 4, planes, stretch},
    {"keys", "strides.keys", 3, key_rows, stretch},
    {"key_scales", "strides.key_scales", 2, scales, stretch},
    {"indices", "strides.indices", 4, index_rows, stretch},
    {"kv_cache", "strides.kv_block", 2, blocks, stretch_blocks},
    {"kv_cache", "num_blocks", 2, dense_blocks, add_blocks},
};

std::vector<const Crossing*> crossings_of(const Case& c) {
  const Problem p = resolve_shape(c);
  std::vector<const Crossing*> all;
  for (const Crossing& x : kCrossings)
    if (x.weight > 0 && has_meaning(c.op, x.field) && x.items(p).last > 0) all.push_back(&x);
  return all;
}

const Crossing& draw_crossing(const std::vector<const Crossing*>& from, Random& random) {
  int total = 0;
  for (const Crossing* x : from) total += x->weight;
  int64_t draw = random.between(0, total - 1);
  for (const Crossing* x : from)
    if ((draw -= x->weight) < 0) return *x;
  return *from.back();
}

// One stride of each of `most` buffers, or of as many as there are.
std::vector<const Crossing*> draw_crossings(std::vector<const Crossing*> from, int most, Random& random) {
  std::vector<const Crossing*> drawn;
  while (!from.empty() && static_cast<int>(drawn.size()) < most) {
    drawn.push_back(&draw_crossing(from, random));
    std::erase_if(from, [&](const Crossing* x) { return x->buffer == drawn.back()->buffer; });
  }
  return drawn;
}

int draw_buffers(Random& random) {
  const int64_t percent = random.between(0, 99);
  return percent < 60 ? 1 : percent < 85 ? 2 : INT32_MAX;
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
  int64_t length = random.between(1, 2 * s.block_size + 2);
  if (!prefill && random.chance(75)) length += s.next_n - 1; // the first row sees one, too
  s.context_lens.assign(static_cast<size_t>(lens_wanted(c)), static_cast<int32_t>(length));
  s.max_model_len = longest_context(c) + random.between(0, 3);
  c.data.seed = random.next() >> 1;
}

} // namespace

Case generate_large_offset_case(Random& random, Operation op) {
  Case c;
  c.op = op;
  draw_small(c, random);
  repair(c);
  bound_work(c);
  const auto drawn = draw_crossings(crossings_of(c), draw_buffers(random), random);
  for (const Crossing* x : drawn) x->apply(c, *x, most_bytes(drawn.size()), random);
  repair(c);
  bound_work(c);
  return c;
}

} // namespace mqalab
