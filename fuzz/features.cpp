#include "fuzz/features.hpp"
#include "fuzz/fields.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace mqalab {
namespace {

constexpr int kOperationAxis = 0;
constexpr std::array<Axis, kAxes> kTable{{
    {"operation",
     "op",
     {"paged", "ragged", "per head", "per head ragged", "head sum", "prefill", "top-k", "write", "gather",
      "indexer"}},
    {"config",
     "config.variant",
     {"staged w1", "staged w2", "staged w4", "direct w1", "direct w2", "direct w4", "general", "scheduled w1",
      "scheduled w2", "scheduled w4"}},
    {"context",
     "context_lens",
     {"none", "below next_n", "one", "below chunk", "chunk multiple", "multiple + 1", "multiple - 1",
      "other"}},
    {"splits",
     "config.split_kv",
     {"one", "more than chunks", "equal", "even share", "one over", "one short", "uneven", "no chunk"}},
    {"block_size", "block_size", {"1", "16", "32", "48", "64", "128", "256", "other"}},
    {"table",
     "block_table.mode",
     {"identity", "reversed", "shuffled", "one_block", "alias", "strided", "high", "override"}},
    {"heads",
     "heads",
     {"8", "16", "24", "32", "40..56", "64", "72..120", "128", "no multiple of 8", "136 and more"}},
    {"shape",
     "head_dim",
     {"d32 planar", "d64 planar", "d128 planar", "other planar", "d32 shuffled", "d64 shuffled",
      "d128 shuffled", "other shuffled"}},
    {"next_n", "next_n", {"1", "2", "3", "4", "5", "6..8", "9..16", "17 and more"}},
    {"batch", "batch", {"0", "1", "2", "3..4", "5..16", "17..64", "65..256", "257 and more"}},
    {"farthest byte",
     "context_lens",
     {"<2^12", "<2^16", "<2^20", "<2^24", "<2^28", "<2^31", "<2^32", "2^32 and more"}},
    {"data", "data.lane", {"general", "positive", "address", "one of", "numeric", "special", "raw bytes"}},
    {"tail",
     "tail",
     {"kept, full", "kept, on chunk", "kept, other", "kept, per row", "-inf, full", "-inf, on chunk",
      "-inf, other", "-inf, per row"}},
}};

bool knows(Operation op, const Axis& axis) { return has_meaning(op, axis.field); }

// Classes that some case can have together: both exist, and the operation, if it is one of the two, knows the
// other's axis.
bool possible(int axis_a, int class_a, int axis_b, int class_b) {
  if (kTable[axis_a].classes[class_a].empty() || kTable[axis_b].classes[class_b].empty()) return false;
  return axis_a != kOperationAxis || knows(static_cast<Operation>(class_a), kTable[axis_b]);
}

uint8_t bucket(int64_t value, std::initializer_list<int64_t> upper) {
  return static_cast<uint8_t>(
      std::count_if(upper.begin(), upper.end(), [&](int64_t limit) { return value > limit; }));
}

uint8_t config_class(const mqa_config& c) {
  const int wave = c.wave_per_eu >= 4 ? 2 : c.wave_per_eu >= 2 ? 1 : 0;
  switch (c.variant) {
  case MQA_VARIANT_GENERAL: return 6;
  case MQA_VARIANT_DIRECT: return static_cast<uint8_t>(3 + wave);
  case MQA_VARIANT_SCHEDULED: return static_cast<uint8_t>(7 + wave);
  default: return static_cast<uint8_t>(wave);
  }
}

uint8_t context_class(const Problem& p, int64_t context, int64_t chunk) {
  if (context <= 0) return 0;
  if (context < p.next_n) return 1;
  if (context == 1) return 2;
  if (context < chunk - 1) return 3;
  const int64_t residue = context % chunk;
  return residue == 0 ? 4 : residue == 1 ? 5 : residue == chunk - 1 ? 6 : 7;
}

uint8_t split_class(int64_t context, int64_t chunk, int64_t splits) {
  const int64_t chunks = (std::max<int64_t>(context, 0) + chunk - 1) / chunk;
  if (chunks == 0) return 7;
  if (splits <= 1) return 0;
  if (chunks < splits) return 1;
  if (chunks == splits) return 2;
  const int64_t rest = chunks % splits;
  return rest == 0 ? 3 : rest == 1 ? 4 : rest == splits - 1 ? 5 : 6;
}

uint8_t block_class(int32_t block_size) {
  constexpr std::array sizes{1, 16, 32, 48, 64, 128, 256};
  return static_cast<uint8_t>(std::find(sizes.begin(), sizes.end(), block_size) - sizes.begin());
}

uint8_t heads_class(int32_t heads) {
  if (heads % 8) return 8;
  if (heads > 128) return 9;
  if (heads <= 32) return static_cast<uint8_t>(heads / 8 - 1);
  return heads < 64 ? 4 : heads == 64 ? 5 : heads < 128 ? 6 : 7;
}

uint8_t shape_class(const Problem& p) {
  const int width = p.head_dim == 32 ? 0 : p.head_dim == 64 ? 1 : p.head_dim == 128 ? 2 : 3;
  return static_cast<uint8_t>(width + (p.layout == MQA_SHUFFLED ? 4 : 0));
}

uint8_t data_class(const DataSpec& data) {
  if (data.lane == Lane::numeric) return 4;
  if (data.lane == Lane::special) return data.pattern == Pattern::raw_bytes ? 6 : 5;
  return static_cast<uint8_t>(std::min(static_cast<int>(data.pattern), 3));
}

uint8_t tail_class(const Problem& p, int64_t context, int64_t chunk) {
  const int kind = p.lens_per_row ? 3 : context >= p.max_model_len ? 0 : p.max_model_len % chunk == 0 ? 1 : 2;
  return static_cast<uint8_t>((p.tail == MQA_TAIL_NEG_INF ? 4 : 0) + kind);
}

uint8_t farthest_byte_class(const Problem& p) {
  const int64_t farthest =
      p.op == Operation::top_k || p.op == Operation::cache_write || p.op == Operation::cache_gather
          ? std::max({kv_cache_bytes(p), logits_bytes(p), 4 * p.rows() * p.indices_stride})
          : std::max({query_bytes(p), kv_cache_bytes(p), weights_bytes(p), logits_bytes(p)});
  uint8_t result = 0;
  for (const int power : {12, 16, 20, 24, 28, 31, 32}) result += farthest > int64_t{1} << power;
  return result;
}

} // namespace

std::span<const Axis, kAxes> axes() { return kTable; }

std::array<uint8_t, kAxes> classify(const Problem& p, const Case& c, const mqa_config& launched) {
  const int64_t chunk = std::max(launched.chunk_k, 64), context = longest_context(c);
  std::array<uint8_t, kAxes> classes{
      static_cast<uint8_t>(c.op),
      config_class(launched),
      context_class(p, context, chunk),
      split_class(context, chunk, launched.split_kv),
      block_class(p.block_size),
      static_cast<uint8_t>(c.block_table.set.empty() ? static_cast<int>(c.block_table.mode) : 7),
      heads_class(p.heads),
      shape_class(p),
      bucket(p.next_n, {1, 2, 3, 4, 5, 8, 16}),
      bucket(p.batch, {0, 1, 2, 4, 16, 64, 256}),
      farthest_byte_class(p),
      data_class(c.data),
      tail_class(p, context, chunk)};
  for (int axis = 0; axis < kAxes; ++axis)
    if (!knows(c.op, kTable[static_cast<size_t>(axis)])) classes[static_cast<size_t>(axis)] = kNoClass;
  return classes;
}

int pair_index(int axis_a, int class_a, int axis_b, int class_b) {
  const int pair = axis_a * kAxes - axis_a * (axis_a + 1) / 2 + (axis_b - axis_a - 1);
  return (pair * kClasses + class_a) * kClasses + class_b;
}

void count_features(std::span<uint8_t> counters, const std::array<uint8_t, kAxes>& classes, const Case& c,
                    const Verdict& verdict) {
  for (int a = 0; a < kAxes; ++a)
    for (int b = a + 1; b < kAxes; ++b)
      if (classes[a] != kNoClass && classes[b] != kNoClass)
        counters[static_cast<size_t>(pair_index(a, classes[a], b, classes[b]))] = 1;
  if (!(verdict.worst_error_ratio > 0)) return;
  const int log2 =
      static_cast<int>(std::clamp(std::log2(verdict.worst_error_ratio) + 12.0, 0.0, kErrorBuckets - 1.0));
  counters[static_cast<size_t>(kPairs + static_cast<int>(c.data.lane) * kErrorBuckets + log2)] = 1;
}

int possible_pairs() {
  int count = 0;
  for (int a = 0; a < kAxes; ++a)
    for (int b = a + 1; b < kAxes; ++b)
      for (int i = 0; i < kClasses; ++i)
        for (int j = 0; j < kClasses; ++j) count += possible(a, i, b, j);
  return count;
}

std::vector<std::string> never_seen(std::span<const uint8_t> seen, size_t most) {
  std::vector<std::string> result;
  for (int a = 0; a < kAxes; ++a)
    for (int b = a + 1; b < kAxes; ++b)
      for (int i = 0; i < kClasses; ++i)
        for (int j = 0; j < kClasses && result.size() < most; ++j)
          if (possible(a, i, b, j) && !seen[static_cast<size_t>(pair_index(a, i, b, j))])
            result.push_back(fmt::format("{} {} x {} {}", kTable[a].name, kTable[a].classes[i],
                                         kTable[b].name, kTable[b].classes[j]));
  return result;
}

} // namespace mqalab
