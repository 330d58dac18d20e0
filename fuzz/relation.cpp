// How each relation makes its partner.
#include "fuzz/relation.hpp"

#include "fuzz/relation_parts.hpp"
#include "fuzz/splitmix.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numeric>

namespace mqalab {
namespace {

constexpr std::array<std::string_view, kRelations> kNames{
    "rename_blocks",   "output_place", "pool_place",    "input_strides",  "prefix",         "batch_split",
    "batch_order",     "next_n_split", "configuration", "variant",        "scales_doubled", "weights_doubled",
    "weights_negated", "both_negated", "other_layout",  "heads_permuted", "under_load",     "graph_replay"};

constexpr int64_t kMost_bytes = int64_t{1} << 35; // of a tensor that is held twice
constexpr int64_t kMostPoolBlocks = 1 << 20;      // whose layout is changed

using Make = std::vector<Partner> (*)(const Problem&, const Tensors&, const mqa_config&, Random&);

template <class T> void shuffle(std::vector<T>& v, Random& random) {
  for (size_t i = v.size(); i > 1; --i)
    std::swap(v[i - 1], v[static_cast<size_t>(random.between(0, static_cast<int64_t>(i) - 1))]);
}
template <class... P> std::vector<Partner> list(P&&... partner) {
  std::vector<Partner> all;
  (all.push_back(std::move(partner)), ...);
  return all;
}
Partner partner_of(const Problem& p, Problem changed, Tensors tensors) {
  Partner partner;
  partner.problem = std::move(changed), partner.tensors = std::move(tensors), partner.rows = same_rows(p);
  return partner;
}

// ---- places ----

std::vector<Partner> rename_blocks(const Problem& p, const Tensors& t, const mqa_config&, Random& random) {
  std::vector<int32_t> ids;
  for (const NeededBlock& b : needed_pool(p)) ids.push_back(b.block);
  const bool whole_pool = kv_cache_bytes(p) <= 1 << 24; // then every block of it is filled
  if (whole_pool) ids.resize(static_cast<size_t>(p.num_blocks)), std::iota(ids.begin(), ids.end(), 0);
  if (ids.size() < 2) return {};
  std::vector<int32_t> names = ids;
  shuffle(names, random);
  Problem renamed = p;
  Tensors tensors = copy_of(t);
  const int64_t bytes = int64_t{p.block_size} * (p.head_dim + 4);
  for (size_t i = 0; i < ids.size(); ++i)
    std::memcpy(tensors.kv_cache.fill(names[i] * p.kv_block_stride_bytes, bytes).data(),
                t.kv_cache.data() + ids[i] * p.kv_block_stride_bytes, static_cast<size_t>(bytes));
  for (int32_t& id : renamed.block_table)
    if (const auto it = std::ranges::lower_bound(ids, id); it != ids.end() && *it == id)
      id = names[static_cast<size_t>(it - ids.begin())];
  return list(partner_of(p, std::move(renamed), std::move(tensors)));
}

std::vector<Partner> output_place(const Problem& p, const Tensors& t, const mqa_config&, Random& random) {
  Problem q = p;
  q.logits_stride = p.max_model_len + random.between(0, 67);
  if (q.logits_stride == p.logits_stride) ++q.logits_stride;
  if (is_per_head(p.op) || p.op == Operation::head_sum)
    q.logits_stride_head = q.rows() * q.logits_stride + random.between(0, 33);
  Partner partner = partner_of(p, std::move(q), copy_of(t));
  partner.base_shift_elements = random.between(0, 3);
  return list(std::move(partner));
}

std::vector<Partner> pool_place(const Problem& p, const Tensors& t, const mqa_config&, Random& random) {
  Problem q = p;
  q.kv_block_stride_bytes += 4 * random.between(1, 17);
  const bool prefill = p.op == Operation::prefill_logits;
  if (prefill) {
    q.key_scales_stride += random.between(1, 5);
  } else { // a block before all others
    ++q.num_blocks;
    for (int32_t& id : q.block_table)
      if (id >= 0 && id < INT32_MAX) ++id;
  }
  Tensors tensors = laid_out_anew(p, t, q, prefill ? 0 : 1);
  return list(partner_of(p, std::move(q), std::move(tensors)));
}

std::vector<Partner> input_strides(const Problem& p, const Tensors& t, const mqa_config&, Random& random) {
  Problem q = p;
  q.q_stride_head = p.head_dim + 16 * random.between(0, 3);
  q.q_stride_next = p.heads * q.q_stride_head + 16 * random.between(0, 3);
  q.q_stride_batch = p.next_n * q.q_stride_next + 16 * random.between(0, 3);
  q.weights_stride = p.heads + random.between(1, 7);
  if (!is_ragged(p.op) && p.op != Operation::prefill_logits) {
    const int64_t columns = (p.max_model_len + p.block_size - 1) / p.block_size;
    q.block_table_stride = columns + random.between(1, 5);
    q.block_table.assign(static_cast<size_t>(q.batch * q.block_table_stride), -1);
    for (int32_t b = 0; b < p.batch; ++b)
      std::copy_n(p.block_table.begin() + b * p.block_table_stride, p.needed_blocks(b),
                  q.block_table.begin() + b * q.block_table_stride);
  }
  Tensors tensors = laid_out_anew(p, t, q);
  return list(partner_of(p, std::move(q), std::move(tensors)));
}

// ---- parts ----

Problem shortened(const Problem& p, Random& random) {
  Problem q = p;
  for (int32_t& length : q.context_lens)
    if (length > 0)
      length = static_cast<int32_t>(random.between(0, std::min<int64_t>(length, p.max_model_len + p.next_n)));
  if (!is_ragged(p.op)) return q;
  q.block_table.clear();
  const std::vector<int64_t> starts = table_starts(p);
  for (int32_t b = 0; b < p.batch; ++b) {
    const auto first = p.block_table.begin() + starts[b];
    q.block_table.insert(q.block_table.end(), first, first + q.context_lens[b]);
  }
  return q;
}

std::vector<Partner> prefix(const Problem& p, const Tensors& t, const mqa_config&, Random& random) {
  const Problem q = shortened(p, random);
  Partner partner = partner_of(p, q, copy_of(t));
  for (RowPair& row : partner.rows) row.end = std::min(row.end, std::max(row.begin, q.limit(row.theirs)));
  return list(std::move(partner));
}

// The unit that a batch is made of: a sequence, or a row of a prefill.
int64_t units(const Problem& p) { return p.op == Operation::prefill_logits ? p.rows() : p.batch; }
Choice chosen(const Problem& p, const std::vector<int64_t>& unit) {
  Choice choice{p.op == Operation::prefill_logits ? 1 : p.next_n, {}};
  for (const int64_t u : unit)
    for (int32_t n = 0; n < choice.next_n; ++n) choice.rows.push_back(u * choice.next_n + n);
  return choice;
}

std::vector<Partner> batch_split(const Problem& p, const Tensors& t, const mqa_config&, Random& random) {
  if (units(p) < 2) return {};
  std::vector<int64_t> low(static_cast<size_t>(random.between(1, units(p) - 1)));
  std::vector<int64_t> high(static_cast<size_t>(units(p)) - low.size());
  std::iota(low.begin(), low.end(), 0), std::iota(high.begin(), high.end(), std::ssize(low));
  return list(chosen_rows(p, t, chosen(p, low)), chosen_rows(p, t, chosen(p, high)));
}

std::vector<Partner> batch_order(const Problem& p, const Tensors& t, const mqa_config&, Random& random) {
  if (units(p) < 2) return {};
  std::vector<int64_t> order(static_cast<size_t>(units(p)));
  std::iota(order.begin(), order.end(), 0);
  shuffle(order, random);
  return list(chosen_rows(p, t, chosen(p, order)));
}

std::vector<Partner> next_n_split(const Problem& p, const Tensors& t, const mqa_config&, Random&) {
  Choice single{1, std::vector<int64_t>(static_cast<size_t>(p.rows()))};
  std::iota(single.rows.begin(), single.rows.end(), 0);
  return list(chosen_rows(p, t, single));
}

// ---- configurations ----

std::vector<Partner> configuration(const Problem& p, const Tensors& t, const mqa_config& launched,
                                   Random& random) {
  Partner partner = partner_of(p, p, copy_of(t));
  mqa_config& c = partner.config = launched;
  if (launched.variant == MQA_VARIANT_WGMMA) {
    if (launched.wave_per_eu <= 2) return {};
    --c.wave_per_eu; // fewer workers: more may not fit beside their tiles of keys
  } else {
    c.chunk_k = random.pick({64, 128, 256, 512, 1024});
    if (launched.variant != MQA_VARIANT_SCHEDULED) c.wave_per_eu = random.pick({1, 2, 4});
    if (launched.variant != MQA_VARIANT_SCHEDULED) c.split_kv = static_cast<int32_t>(random.between(1, 8));
  }
  return list(std::move(partner));
}

std::vector<Partner> variant(const Problem& p, const Tensors& t, const mqa_config& launched, Random&) {
  const bool general = launched.variant == MQA_VARIANT_GENERAL;
  Partner partner = partner_of(p, p, copy_of(t));
  partner.config.variant = general ? MQA_VARIANT_DIRECT : MQA_VARIANT_GENERAL;
  if (general && p.op == Operation::prefill_logits) partner.config.variant = MQA_VARIANT_STAGED;
  return list(std::move(partner));
}

// ---- numbers ----

template <class Change> void change_float(SparseBuffer& buffer, int64_t offset, Change change) {
  float value;
  const auto bytes = buffer.fill(offset, 4);
  std::memcpy(&value, bytes.data(), 4);
  value = change(value);
  std::memcpy(bytes.data(), &value, 4);
}
template <class Change> void change_weights(const Problem& p, Tensors& out, const Tensors& t, Change change) {
  for (int64_t row = 0; row < p.rows(); ++row)
    for (int32_t h = 0; h < p.heads; ++h) {
      const int64_t at = 4 * (row * p.weights_stride + h); // rows may share it: from the original
      std::memcpy(out.weights.fill(at, 4).data(), t.weights.data() + at, 4);
      change_float(out.weights, at, change);
    }
}
template <class Change> void change_scales(const Problem& p, Tensors& out, Change change) {
  for (const NeededBlock& b : needed_pool(p))
    for (int32_t token = 0; token < b.tokens; ++token)
      change_float(out.scales(p), scale_offset_bytes(p, b.block, token), change);
}
// Far from both ends of fp32, products with the other factors included.
bool has_room(float x) { return x == 0 || (std::fabs(x) >= 0x1p-30f && std::fabs(x) <= 0x1p30f); }

std::vector<Partner> scaled(const Problem& p, const Tensors& t, Random& random, bool weights) {
  Partner partner = partner_of(p, p, copy_of(t));
  partner.factor = random.pick({0.25, 0.5, 2.0, 4.0});
  bool room = true;
  const auto look = [&room](float x) { return room = room && has_room(x), x; };
  change_weights(p, partner.tensors, t, look), change_scales(p, partner.tensors, look);
  if (!room) return {};
  const auto change = [f = static_cast<float>(partner.factor)](float x) { return f * x; };
  if (weights)
    change_weights(p, partner.tensors, t, change);
  else
    change_scales(p, partner.tensors, change);
  return list(std::move(partner));
}
std::vector<Partner> scales_doubled(const Problem& p, const Tensors& t, const mqa_config&, Random& random) {
  return scaled(p, t, random, false);
}
std::vector<Partner> weights_doubled(const Problem& p, const Tensors& t, const mqa_config&, Random& random) {
  return scaled(p, t, random, true);
}
std::vector<Partner> weights_negated(const Problem& p, const Tensors& t, const mqa_config&, Random&) {
  Partner partner = partner_of(p, p, copy_of(t));
  partner.factor = -1;
  change_weights(p, partner.tensors, t, [](float x) { return -x; });
  return list(std::move(partner));
}

void negate(mqa_fp8 flavour, std::span<uint8_t> codes) {
  for (uint8_t& code : codes)
    if (flavour == MQA_E4M3FN || (code & 0x7f)) code ^= 0x80; // e4m3fnuz has one zero, and NaN where -0 was
}
std::vector<Partner> both_negated(const Problem& p, const Tensors& t, const mqa_config&, Random&) {
  Partner partner = partner_of(p, p, copy_of(t));
  const std::vector<ByteRange> queries = partner.tensors.q.filled();
  for (const ByteRange& r : queries) negate(p.fp8, partner.tensors.q.fill(r.begin, r.end - r.begin));
  for (const NeededBlock& b : needed_pool(p))
    negate(p.fp8, partner.tensors.kv_cache.fill(b.block * p.kv_block_stride_bytes,
                                                int64_t{p.block_size} * p.head_dim));
  return list(std::move(partner));
}

std::vector<Partner> other_layout(const Problem& p, const Tensors& t, const mqa_config&, Random&) {
  Problem q = p;
  q.layout = p.layout == MQA_PLANAR ? MQA_SHUFFLED : MQA_PLANAR;
  Tensors tensors = laid_out_anew(p, t, q);
  return list(partner_of(p, std::move(q), std::move(tensors)));
}

std::vector<Partner> heads_permuted(const Problem& p, const Tensors& t, const mqa_config& c, Random& random) {
  std::vector<int32_t> order(static_cast<size_t>(p.heads));
  std::iota(order.begin(), order.end(), 0);
  shuffle(order, random);
  std::vector<Partner> made = input_strides(p, t, c, random);
  Partner& partner = made.front();
  const Problem& q = partner.problem;
  for (int64_t row = 0; row < p.rows(); ++row)
    for (int32_t h = 0; h < p.heads; ++h) {
      std::memcpy(partner.tensors.q.fill(query_offset_bytes(q, row, h, 0), p.head_dim).data(),
                  t.q.data() + query_offset_bytes(p, row, order[h], 0), static_cast<size_t>(p.head_dim));
      std::memcpy(partner.tensors.weights.fill(4 * (row * q.weights_stride + h), 4).data(),
                  t.weights.data() + 4 * (row * p.weights_stride + order[h]), 4);
    }
  if (is_per_head(p.op))
    for (RowPair& pair : partner.rows)
      pair.ours = order[pair.theirs / p.rows()] * p.rows() + pair.theirs % p.rows();
  return made;
}

// ---- launches ----

// Shorter contexts, and the signs of all queries and weights turned, so that a launch that takes either from
// elsewhere shows.  Of the sizes of ours: a flat list of slots keeps its length.
OtherContents other_contents(const Problem& p, const Tensors& t, Random& random) {
  OtherContents other{shortened(p, random), copy_of(t)};
  if (is_ragged(p.op)) other.problem.block_table.resize(p.block_table.size(), -1);
  const std::vector<ByteRange> queries = other.tensors.q.filled();
  for (const ByteRange& r : queries) negate(p.fp8, other.tensors.q.fill(r.begin, r.end - r.begin));
  change_weights(p, other.tensors, t, [](float x) { return -x; });
  return other;
}
std::vector<Partner> beside_others(const Problem& p, const Tensors& t, Random& random, Manner manner) {
  Partner partner = partner_of(p, p, copy_of(t));
  partner.manner = manner, partner.other = other_contents(p, t, random);
  return list(std::move(partner));
}
std::vector<Partner> under_load(const Problem& p, const Tensors& t, const mqa_config&, Random& random) {
  return beside_others(p, t, random, Manner::under_load);
}
std::vector<Partner> graph_replay(const Problem& p, const Tensors& t, const mqa_config&, Random& random) {
  return beside_others(p, t, random, Manner::replayed);
}

constexpr std::array<Make, kRelations> kMake{
    rename_blocks,   output_place, pool_place,    input_strides,  prefix,         batch_split,
    batch_order,     next_n_split, configuration, variant,        scales_doubled, weights_doubled,
    weights_negated, both_negated, other_layout,  heads_permuted, under_load,     graph_replay};

bool touches_numbers(Relation r) { return r >= Relation::scales_doubled && r <= Relation::both_negated; }
bool lays_out_pool(Relation r) {
  return r == Relation::pool_place || r == Relation::input_strides || r == Relation::other_layout ||
         r == Relation::heads_permuted;
}

} // namespace

std::string_view name(Relation r) { return kNames[static_cast<size_t>(r)]; }
std::optional<Relation> relation_named(std::string_view wanted) {
  const auto it = std::ranges::find(kNames, wanted);
  if (it == kNames.end()) return {};
  return static_cast<Relation>(it - kNames.begin());
}

std::string why_no_partner(Relation r, const Case& c) {
  if (!makes_logits(c.op)) return "the operation makes no logits";
  const Problem p = resolve_shape(c);
  const bool prefill = c.op == Operation::prefill_logits;
  if (std::max({kv_cache_bytes(p), logits_bytes(p), query_bytes(p)}) > kMost_bytes)
    return "a tensor is too large to be held twice";
  if (lays_out_pool(r) && p.num_blocks > kMostPoolBlocks)
    return "the pool has too many blocks to be laid out anew";
  if (prefill && (r == Relation::rename_blocks || r == Relation::next_n_split || r == Relation::other_layout))
    return "the keys of a prefill have no blocks, and its rows no steps";
  if (r == Relation::next_n_split && p.next_n == 1) return "next_n is 1";
  if (r == Relation::next_n_split &&
      p.rows() * ((p.max_model_len + p.block_size - 1) / p.block_size) > 1 << 22)
    return "the block table of all rows would be too large";
  if (r == Relation::other_layout && p.block_size % 16 != 0) return "blocks of one token have one layout";
  if ((r == Relation::variant || r == Relation::heads_permuted) && !is_exact(p, c.data))
    return "it changes the order of additions, and only the exact lane does not see that";
  const bool special = c.data.lane == Lane::special || c.data.pattern == Pattern::raw_bytes;
  if (special && touches_numbers(r)) return "it changes numbers, and the data hold NaNs and infinities";
  return "";
}

std::vector<Partner> partners(Relation r, const Case&, const Problem& p, const Tensors& t,
                              const mqa_config& launched, Random& random) {
  std::vector<Partner> made = kMake[static_cast<size_t>(r)](p, t, launched, random);
  for (Partner& partner : made)
    if (partner.config.variant == MQA_VARIANT_AUTO) partner.config = launched;
  return made;
}

std::optional<Relation> relation_for(const Case& c) {
  uint64_t hash = 0x72656c6174696f6eull;
  for (const uint8_t byte : encode(c)) hash = splitmix(hash, byte);
  Random random(hash);
  if (!random.chance(50)) return {};
  std::vector<Relation> all;
  for (size_t i = 0; i < kRelations; ++i)
    if (const auto r = static_cast<Relation>(i); why_no_partner(r, c).empty()) all.push_back(r);
  if (all.empty()) return {};
  // The first ones by one draw; each later one takes its share from those before it, so that a relation that
  // is added changes few cases' draws.
  const auto later = std::ranges::find_if(all, [](Relation r) { return r >= Relation::under_load; });
  Relation drawn = random.pick(std::span<const Relation>(all.begin(), later));
  for (auto r = later; r != all.end(); ++r)
    if (random.between(0, r - all.begin()) == 0) drawn = *r;
  return drawn;
}

} // namespace mqalab
