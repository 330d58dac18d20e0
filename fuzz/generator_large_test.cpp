// What the large-offset cases of one seed cover: every stride of every operation brings its items past 2^31
// and 2^32 bytes, across these edges, and exactly to them.  Where items lie is asked of the specification,
// not of the generator.
#include "fuzz/boundaries.hpp"
#include "fuzz/case_names.hpp"
#include "fuzz/fields.hpp"
#include "fuzz/generator.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

namespace mqalab {
namespace {

constexpr int kCases = 4000; // of every operation

struct Span {
  int64_t begin, end; // bytes that are read or written of an item
};
using Spans = std::vector<Span>;

Spans query_spans(const Problem& p, int64_t rows_an_item, int32_t heads_an_item) {
  Spans all;
  for (int64_t row = 0; row < p.rows(); row += rows_an_item)
    for (int32_t head = 0; head < p.heads; head += heads_an_item)
      all.push_back(
          {query_offset_bytes(p, row, head, 0),
           query_offset_bytes(p, row + rows_an_item - 1, head + heads_an_item - 1, p.head_dim - 1) + 1});
  return all;
}
Spans sequences(const Problem& p) { return query_spans(p, p.next_n, p.heads); }
Spans query_rows(const Problem& p) { return query_spans(p, 1, p.heads); }
Spans query_heads(const Problem& p) { return query_spans(p, 1, 1); }

Spans strided(int64_t items, int64_t stride_bytes, int64_t bytes) {
  Spans all;
  for (int64_t i = 0; i < items; ++i) all.push_back({i * stride_bytes, i * stride_bytes + bytes});
  return all;
}
Spans weight_rows(const Problem& p) { return strided(p.rows(), 4 * p.weights_stride, 4 * int64_t{p.heads}); }
Spans index_rows(const Problem& p) { return strided(p.rows(), 4 * p.indices_stride, 4 * int64_t{p.k}); }

// Rows that hold nothing are left out.
Spans logits_rows(const Problem& p) {
  Spans all;
  for (int64_t row = 0; row < p.output_rows(); ++row) {
    const int64_t begin = p.output_offset(row),
                  columns = p.tail == MQA_TAIL_NEG_INF ? p.max_model_len : p.limit(row);
    if (columns > 0) all.push_back({4 * begin, 4 * (begin + columns)});
  }
  return all;
}
Problem planes_of(Problem p) {
  if (p.op == Operation::head_sum) p.op = Operation::per_head_logits;
  return p;
}
Spans rows_of_planes(const Problem& p) { return logits_rows(planes_of(p)); }
Spans planes(const Problem& p) {
  const Spans rows = rows_of_planes(p);
  const size_t each = rows.size() / static_cast<size_t>(p.heads);
  Spans all;
  for (size_t i = 0; each > 0 && i < rows.size(); i += each)
    all.push_back({rows[i].begin, rows[i + each - 1].end});
  return all;
}

int64_t key_tokens(const Problem& p) {
  if (p.op == Operation::prefill_logits) return p.num_blocks;
  int64_t tokens = 0;
  for (int32_t b = 0; b < p.batch; ++b) tokens += p.needed_tokens(b);
  return tokens;
}
Spans keys(const Problem& p) {
  const int64_t bytes = p.op == Operation::cache_gather ? 1 : p.key_type == MQA_KEY_FP32 ? 4 : 2;
  return strided(key_tokens(p), bytes * p.keys_stride, bytes * p.head_dim);
}
Spans scales(const Problem& p) { return strided(key_tokens(p), 4 * p.key_scales_stride, 4); }
Spans blocks(const Problem& p) {
  const bool prefill = p.op == Operation::prefill_logits;
  const int64_t bytes = prefill ? p.head_dim : int64_t{p.block_size} * (p.head_dim + 4);
  Spans all;
  for (const NeededBlock& needed : needed_pool(p)) {
    const int64_t begin = value_offset_bytes(p, needed.block, 0, 0);
    all.push_back({begin, begin + bytes});
  }
  return all;
}

struct Strided {
  std::string_view field;
  std::set<Operation> operations;
  Spans (*items)(const Problem&);
  int64_t unit_bytes;
  // A scale lies across no edge; 2^31 is no multiple of a dense block, whose bytes are 4 times an odd number.
  enum Shows : uint8_t { all, never_across, always_across } shows = all;
};
using enum Operation;
const std::vector<Strided>& strided_buffers() {
  static const std::set<Operation> kPaged{paged_logits, per_head_logits, head_sum, indexer},
      kRagged{ragged_logits, per_head_ragged_logits}, kPrefill{prefill_logits},
      kCache{cache_write, cache_gather};
  const auto either = [](std::initializer_list<std::set<Operation>> sets) {
    std::set<Operation> united;
    for (const auto& set : sets) united.insert(set.begin(), set.end());
    return united;
  };
  static const std::vector<Strided> all_of_them{
      {"strides.q[0]", either({kPaged, kRagged}), sequences, 1},
      {"strides.q[1]", either({kPaged, kRagged, kPrefill}), query_rows, 1},
      {"strides.q[2]", either({kPaged, kRagged, kPrefill}), query_heads, 1},
      {"strides.weights", either({kPaged, kRagged, kPrefill}), weight_rows, 4},
      {"strides.logits", either({kPaged, kRagged, kPrefill, {top_k}}), logits_rows, 4},
      {"strides.logits", {head_sum}, rows_of_planes, 4},
      {"strides.logits_head", {per_head_logits, per_head_ragged_logits, head_sum}, planes, 4},
      {"strides.kv_block", either({kPaged, kRagged, kPrefill, kCache}), blocks, 1},
      {"num_blocks", either({kPaged, kRagged, kCache}), blocks, 1, Strided::always_across},
      {"strides.keys", either({kCache, {indexer}}), keys, 1},
      {"strides.key_scales", {prefill_logits, cache_gather}, scales, 4, Strided::never_across},
      {"strides.indices", {top_k, indexer}, index_rows, 4},
  };
  return all_of_them;
}

bool is_stretched(const Case& c, std::string_view name) {
  if (name == "num_blocks") return c.shape.num_blocks > 1 << 10 && c.strides.kv_block == 0;
  return field(name).get(c) != 0;
}

// Cases in which some item does it.
struct Seen {
  int past_31 = 0, past_32 = 0, across = 0, begins = 0, ends = 0, past_31_units = 0;
  void add(const Spans& items, int64_t unit_bytes) {
    const auto any = [&](auto holds) { return std::ranges::any_of(items, holds); };
    const auto at_either = [&](auto holds) {
      return any([&](const Span& s) { return holds(s, kEdge31) || holds(s, kEdge32); });
    };
    past_31 += any([](const Span& s) { return s.end > kEdge31; });
    past_32 += any([](const Span& s) { return s.end > kEdge32; });
    past_31_units += any([&](const Span& s) { return s.end > kEdge31 * unit_bytes; });
    across += at_either([](const Span& s, int64_t edge) { return s.begin < edge && s.end > edge; });
    begins += at_either([](const Span& s, int64_t edge) { return s.begin == edge; });
    ends += at_either([](const Span& s, int64_t edge) { return s.end == edge; });
  }
};

// About half of what the seed gives where it gives least.
void expect_enough(const Seen& seen, const Strided& x, Operation op) {
  SCOPED_TRACE(fmt::format("{} {}", kOperationNames[static_cast<size_t>(op)], x.field));
  EXPECT_GE(seen.past_31, 100);
  EXPECT_GE(seen.past_32, 40);
  if (x.unit_bytes > 1) EXPECT_GE(seen.past_31_units, 25);
  if (x.shows != Strided::never_across) EXPECT_GE(seen.across, 40);
  if (x.shows == Strided::always_across) return;
  EXPECT_GE(seen.begins, 25);
  EXPECT_GE(seen.ends, 7);
}

TEST(GeneratorLarge, EveryStrideOfEveryOperationMeetsEveryEdge) {
  for (size_t op = 0; op < kOperationNames.size(); ++op) {
    std::vector<Seen> seen(strided_buffers().size());
    Random random(101);
    for (int i = 0; i < kCases; ++i) {
      const Case c = generate_large_offset_case(random, static_cast<Operation>(op));
      ASSERT_EQ(why_illegal(c), "") << to_json(c);
      const Problem p = resolve(c);
      for (size_t s = 0; s < seen.size(); ++s)
        if (const Strided& x = strided_buffers()[s]; x.operations.contains(c.op) && is_stretched(c, x.field))
          seen[s].add(x.items(p), x.unit_bytes);
    }
    for (size_t s = 0; s < seen.size(); ++s)
      if (const Strided& x = strided_buffers()[s]; x.operations.contains(static_cast<Operation>(op)))
        expect_enough(seen[s], x, static_cast<Operation>(op));
  }
}

// A stride that is new, or new to an operation, must be among those above.  The lab's tables end at 2^25
// entries, far below any edge.
TEST(GeneratorLarge, NoStrideIsForgotten) {
  for (const Field& f : fields()) {
    if (!f.name.starts_with("strides.") || f.name == "strides.block_table") continue;
    for (size_t op = 0; op < kOperationNames.size(); ++op) {
      const bool listed = std::ranges::any_of(strided_buffers(), [&](const Strided& x) {
        return x.field == f.name && x.operations.contains(static_cast<Operation>(op));
      });
      EXPECT_EQ(listed, has_meaning(static_cast<Operation>(op), f.name))
          << kOperationNames[op] << " " << f.name;
    }
  }
}

// The buffer that a stride belongs to, as far as two of them can be long at a time.
std::string_view buffer_of(std::string_view name) {
  if (name.starts_with("strides.q")) return "q";
  if (name.starts_with("strides.logits")) return "logits";
  return name == "num_blocks" ? "strides.kv_block" : name;
}

TEST(GeneratorLarge, OneBufferOfMostCasesTwoOfAQuarterAllOfTheRest) {
  for (const auto& [op, buffers] : {std::pair{paged_logits, 4u}, {prefill_logits, 5u}, {indexer, 6u}}) {
    std::map<size_t, int> cases;
    Random random(102);
    for (int i = 0; i < kCases; ++i) {
      const Case c = generate_large_offset_case(random, op);
      std::set<std::string_view> stretched;
      for (const Strided& x : strided_buffers())
        if (has_meaning(op, x.field) && is_stretched(c, x.field)) stretched.insert(buffer_of(x.field));
      ++cases[stretched.size()];
    }
    EXPECT_NEAR(100.0 * cases[1] / kCases, 60, 5);
    EXPECT_NEAR(100.0 * cases[2] / kCases, 25, 5);
    EXPECT_GE(100.0 * cases[buffers] / kCases, 5) << buffers; // not all where one has too few items
  }
}

} // namespace
} // namespace mqalab
