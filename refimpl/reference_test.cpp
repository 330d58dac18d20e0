// The reference against a triple loop written from the formula, and correct kernels by model against the
// reference.
#include "refimpl/bound.hpp"
#include "refimpl/compare.hpp"
#include "refimpl/fp8.hpp"
#include "refimpl/reference.hpp"
#include "refimpl/test_accumulators.hpp"
#include "refimpl/test_problems.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

namespace mqalab {
namespace {

float load(const uint8_t* bytes) {
  float value;
  std::memcpy(&value, bytes, 4);
  return value;
}

DataSpec data_of(Lane lane, Pattern pattern, uint64_t seed) {
  return {.lane = lane, .pattern = pattern, .seed = seed, .overrides = {}};
}

// Everything that one cell is made of, gathered by the plainest means.
struct CellInputs {
  bool bad_block = false;
  mqa_fp8 flavour = MQA_E4M3FN;
  std::vector<std::vector<uint8_t>> query; // per head
  std::vector<uint8_t> key;
  std::vector<float> weight;
  float scale = 0;
};

int32_t named_block(const Problem& p, int64_t row, int64_t column) {
  if (p.op == Operation::prefill_logits)
    return int32_t(p.compressed ? std::max(0, p.row_starts[row]) + column : column);
  int64_t start = row / p.next_n * p.block_table_stride;
  if (is_ragged(p.op))
    for (int64_t before = 0; before < row / p.next_n; ++before) start += p.context_lens[before];
  return p.block_table[start + column / p.block_size];
}

CellInputs inputs_of(const Problem& p, const Tensors& t, int64_t row, int64_t position) {
  CellInputs in;
  in.flavour = p.fp8;
  const int32_t block = named_block(p, row, position);
  in.bad_block = block < 0 || block >= p.num_blocks;
  if (in.bad_block) return in;
  const auto token = int32_t(position % p.block_size);
  for (int32_t d = 0; d < p.head_dim; ++d)
    in.key.push_back(t.kv_cache.data()[value_offset_bytes(p, block, token, d)]);
  in.scale = load((p.op == Operation::prefill_logits ? t.key_scales : t.kv_cache).data() +
                  scale_offset_bytes(p, block, token));
  for (int32_t h = 0; h < p.heads; ++h) {
    const uint8_t* q = t.q.data() + query_offset_bytes(p, row, h, 0);
    in.query.emplace_back(q, q + p.head_dim);
    in.weight.push_back(load(t.weights.data() + 4 * (row * p.weights_stride + h)));
  }
  return in;
}

// The formula of operation.md with its error formula, one product after the other.
struct Naive {
  double value = 0, bound = 0;
};
Naive naive_sum(const CellInputs& in, const Policy& policy, int first_head, int heads) {
  if (in.bad_block) return {NAN, 0};
  const int head_dim = int(in.key.size());
  Naive cell;
  double dot_errors = 0, magnitude = 0;
  for (int h = first_head; h < first_head + heads; ++h) {
    double dot = 0, sum = 0, largest = 0;
    for (const Product& p : products_of(in.flavour, in.query[h], in.key)) {
      if (p.value == 0) continue;
      const double power = std::ldexp(1.0, p.exponent);
      dot += p.value, sum += std::max(std::fabs(p.value), power), largest = std::max(largest, power);
    }
    const double w = in.weight[h], error = dot_bound(policy.accumulation, head_dim, sum, largest);
    cell.value += std::max(dot, 0.0) * w;
    magnitude += std::max(dot, 0.0) * std::fabs(w), dot_errors += std::fabs(w) * error;
  }
  const double s = in.scale;
  cell.value *= s;
  cell.bound = s * dot_errors + roundings(heads + 3) * s * (magnitude + dot_errors) +
               (heads + 2) * kSmallestNormal * std::max(1.0, s);
  return cell;
}
// Of one plane, of the sum of all planes, or of the sum over heads in one go.
Naive naive_cell(const Problem& p, const CellInputs& in, const Policy& policy, int plane) {
  if (is_per_head(p.op)) return naive_sum(in, policy, plane, 1);
  if (p.op != Operation::head_sum) return naive_sum(in, policy, 0, p.heads);
  Naive total;
  double magnitude = 0;
  for (int h = 0; h < p.heads; ++h) {
    const Naive one = naive_sum(in, policy, h, 1);
    total.value += one.value, total.bound += one.bound, magnitude += std::fabs(one.value) + one.bound;
  }
  total.bound += roundings(p.heads) * magnitude;
  return total;
}

void expect_naive(const Problem& p, const DataSpec& data, const Policy& policy) {
  const Tensors t = generate(p, data);
  const std::vector<RowReference> rows = reference(p, t, policy);
  ASSERT_EQ(int64_t(rows.size()), (is_per_head(p.op) ? p.heads : 1) * p.rows());
  for (int64_t output_row = 0; output_row < int64_t(rows.size()); output_row += 1 + output_row % 3) {
    const int64_t row = output_row % p.rows();
    const RowReference alone = reference_row(p, t, output_row, policy);
    for (const RowReference& got : {std::cref(rows[output_row]), std::cref(alone)}) {
      ASSERT_EQ(got.first, p.first(row));
      ASSERT_EQ(got.end(), p.limit(row));
    }
    for (int64_t column = p.first(row); column < p.limit(row); ++column) {
      const Naive expected = naive_cell(p, inputs_of(p, t, row, column), policy, int(output_row / p.rows()));
      const int64_t i = column - p.first(row);
      for (const RowReference& got : {std::cref(rows[output_row]), std::cref(alone)}) {
        if (std::isnan(expected.value)) {
          ASSERT_TRUE(std::isnan(got.value[i])) << "row " << output_row << " column " << column;
          continue;
        }
        ASSERT_NEAR(got.value[i], expected.value, 1e-9 * expected.bound);
        // Equal for normal operands; a subnormal one may only widen it, and by no more than its own power of
        // two.
        ASSERT_GE(got.bound[i], expected.bound);
        ASSERT_LE(got.bound[i], 1.05 * expected.bound);
      }
    }
  }
}

TEST(Reference, EqualsATripleLoopOnRandomSmallProblems) {
  for (Operation op : kLogitsOperations)
    for (uint64_t seed = 1; seed <= (op == Operation::paged_logits ? 60 : 30); ++seed) {
      SCOPED_TRACE(testing::Message() << "operation " << int(op) << " seed " << seed);
      const Policy policy{.accumulation = Accumulation(seed % 6)};
      expect_naive(random_problem(op, seed), data_of(Lane::numeric, Pattern::general, seed), policy);
      expect_naive(random_problem(op, seed), data_of(Lane::exact, Pattern(seed % 6), seed), policy);
    }
}

TEST(Reference, GivesTheSameValuesWithoutBounds) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const Problem p = random_problem(seed);
    const Tensors t = generate(p, data_of(Lane::exact, Pattern::general, seed));
    const auto with = reference(p, t, Policy{}), without = reference(p, t, Policy{}, false);
    for (int64_t row = 0; row < p.rows(); ++row)
      for (size_t i = 0; i < with[row].value.size(); ++i) {
        ASSERT_TRUE(agrees_exactly(with[row].value[i], float(without[row].value[i])));
        ASSERT_EQ(without[row].bound[i], 0);
      }
  }
}

TEST(Reference, ComputesACellByHand) {
  Problem p;
  p.heads = 2, p.head_dim = 16, p.context_lens = {1};
  p = dense(p);
  DataSpec data;
  for (int64_t i = 0; i < 32; ++i) data.overrides.push_back({Tensor::q, i, 0});
  data.overrides.push_back({Tensor::q, 3, 0x40});      // head 0: 2 at dim 3
  data.overrides.push_back({Tensor::q, 16 + 5, 0xC0}); // head 1: -2 at dim 5
  data.overrides.push_back({Tensor::k, 3, 0x38});      // 1
  data.overrides.push_back({Tensor::k, 5, 0xBC});      // -1.5
  data.overrides.push_back({Tensor::scale, 0, 0x3F000000});
  data.overrides.push_back({Tensor::weights, 0, 0x40A00000}); // 5
  data.overrides.push_back({Tensor::weights, 1, 0xC0400000}); // -3
  const RowReference row = reference_row(p, generate(p, data), 0, Policy{});
  EXPECT_EQ(row.value, std::vector<double>{0.5 * (2 * 5 + 3 * -3)});
}

// One head, all dims of q and k the same byte, but for the first two; scale and weight 1.
RowReference two_odd_dims(uint8_t byte, uint8_t odd) {
  Problem p;
  p.heads = 1, p.context_lens = {1};
  p = dense(p);
  DataSpec data;
  for (int64_t d = 0; d < p.head_dim; ++d)
    for (Tensor tensor : {Tensor::q, Tensor::k}) data.overrides.push_back({tensor, d, d < 2 ? odd : byte});
  data.overrides.push_back({Tensor::scale, 0, 0x3F800000});
  data.overrides.push_back({Tensor::weights, 0, 0x3F800000});
  return reference_row(p, generate(p, data), 0, Policy{});
}

TEST(Reference, KeepsDotsExactThatNeedMoreBitsThanAFloat) {
  EXPECT_EQ(two_odd_dims(0x77, 0x39).value[0], 126 * 240.0 * 240 + 2 * 1.125 * 1.125);
  EXPECT_EQ(two_odd_dims(0x7E, 0x01).value[0], 126 * 448.0 * 448 + 2 * 0x1p-18);
  EXPECT_EQ(two_odd_dims(0x00, 0x38).value[0], 2) << "zeros have no exponent";
}

TEST(Reference, FollowsFp32WhereHeadsOverflow) {
  Problem p;
  p.heads = 2, p.context_lens = {1};
  p = dense(p);
  DataSpec data{.pattern = Pattern::one_dim, .overrides = {}}; // dots are positive
  data.overrides = {
      {Tensor::weights, 0, 0x7F7FFFFF}, {Tensor::weights, 1, 0xFF7FFFFF}, {Tensor::scale, 0, 0x40000000}};
  EXPECT_TRUE(std::isnan(reference_row(p, generate(p, data), 0, Policy{}).value[0])) << "Inf - Inf";
  data.overrides[1].bits = 0x7F7FFFFF;
  const RowReference certain = reference_row(p, generate(p, data), 0, Policy{});
  EXPECT_TRUE(agrees(certain.value[0], certain.bound[0], INFINITY));
  EXPECT_FALSE(agrees(certain.value[0], certain.bound[0], std::numeric_limits<float>::max()));
}

TEST(Reference, IgnoresThePoison) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const Problem p = random_problem(seed);
    const DataSpec data = data_of(Lane::numeric, Pattern::general, seed);
    const auto a = reference(p, generate(p, data, Poison::nan_codes), Policy{});
    const auto b = reference(p, generate(p, data, Poison::large_finite), Policy{});
    for (int64_t row = 0; row < p.rows(); ++row)
      for (size_t i = 0; i < a[row].value.size(); ++i)
        ASSERT_TRUE(a[row].value[i] == b[row].value[i] ||
                    (std::isnan(a[row].value[i]) && std::isnan(b[row].value[i])));
  }
}

TEST(Reference, SharesTheWorkOfABlockThatManyColumnsName) {
  Problem p;
  p.block_size = 16, p.max_model_len = 160, p.context_lens = {150};
  p = dense(p);
  p.block_table.assign(p.block_table.size(), 3);
  const RowReference row = reference_row(p, generate(p, DataSpec{}), 0, Policy{});
  for (size_t i = 16; i < row.value.size(); ++i) EXPECT_EQ(row.value[i], row.value[i - 16]);
}

TEST(Reference, OfABadBlockIsNanInItsTokensOnly) {
  Problem p;
  p.block_size = 16, p.max_model_len = 48, p.context_lens = {40};
  p = dense(p);
  p.block_table = {0, -7, 2};
  const RowReference row = reference_row(p, generate(p, DataSpec{}), 0, Policy{});
  for (size_t i = 0; i < row.value.size(); ++i) EXPECT_EQ(std::isnan(row.value[i]), i >= 16 && i < 32) << i;
}

TEST(Reference, OfTheExactLaneIsAnFp32NumberThatNoOrderChanges) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    const Problem p = random_problem(seed);
    const Tensors t = generate(p, data_of(Lane::exact, Pattern(seed % 6), seed));
    const auto rows = reference(p, t, Policy{});
    for (int64_t row = 0; row < p.rows(); ++row)
      for (int64_t position = 0; position < p.limit(row); position += 7) {
        const CellInputs in = inputs_of(p, t, row, position);
        if (in.bad_block) continue;
        for (uint64_t shuffle = 0; shuffle < 3; ++shuffle) {
          float sum = 0;
          const Stream order(seed, shuffle);
          const int heads = int(in.query.size()), dims = int(in.key.size());
          for (int i = 0; i < heads; ++i) {
            const int h =
                (i * (heads % 3 ? 3 : 5) + int(order.below(heads))) % heads; // a rotation with a stride
            float dot = 0;
            for (int j = 0; j < dims; ++j) {
              const int d = int(uint64_t(j) * 7 + order.below(dims, 1)) % dims;
              dot += float(decode_fp8(in.flavour, in.query[h][d]) * decode_fp8(in.flavour, in.key[d]));
            }
            sum += std::max(dot, 0.0f) * in.weight[h];
          }
          ASSERT_TRUE(agrees_exactly(rows[row].value[position], sum * in.scale)) << seed;
        }
      }
  }
}

// --- kernels by model, judged by the reference
// ---------------------------------------------------------------------

float relu32(float x, bool nan_to_zero) {
  if (std::isnan(x)) return nan_to_zero ? 0 : x;
  return x > 0 ? x : 0;
}

// A correct kernel in fp32 with the dots of `policy.accumulation`.
float model_kernel(const CellInputs& in, const Policy& policy, bool backwards) {
  if (in.bad_block) return NAN;
  float sum = 0;
  const int heads = int(in.query.size());
  for (int i = 0; i < heads; ++i) {
    const int h = backwards ? heads - 1 - i : i;
    bool nan = false;
    for (size_t d = 0; d < in.key.size(); ++d)
      nan |= is_nan_code(in.flavour, in.key[d]) || is_nan_code(in.flavour, in.query[h][d]);
    float dot =
        nan ? NAN : float(model_dot(policy.accumulation, products_of(in.flavour, in.query[h], in.key)));
    if (!policy.scale_after_sum) dot *= in.scale;
    sum += relu32(dot, policy.nan_to_zero) * in.weight[h];
  }
  return policy.scale_after_sum ? sum * in.scale : sum;
}

// One plane, or the planes added up: each term is an fp32 of its own.
float model_planes(const CellInputs& in, const Policy& policy, int first, int count) {
  float sum = 0;
  for (int h = first; h < first + count; ++h) {
    CellInputs one{in.bad_block, in.flavour, {}, in.key, {}, in.scale};
    if (!in.bad_block) one.query = {in.query[h]}, one.weight = {in.weight[h]};
    const float term = model_kernel(one, policy, false);
    sum = h == first ? term : sum + term;
  }
  return sum;
}
float model_of(const Problem& p, const CellInputs& in, const Policy& policy, int64_t output_row,
               bool backwards) {
  if (is_per_head(p.op)) return model_planes(in, policy, int(output_row / p.rows()), 1);
  return p.op == Operation::head_sum ? model_planes(in, policy, 0, p.heads)
                                     : model_kernel(in, policy, backwards);
}

struct Tally {
  int cells = 0, disagree = 0, inexact = 0, open = 0, special = 0;
};

Tally judge(const Problem& p, const DataSpec& data, const Policy& reference_policy, const Policy& kernel) {
  Tally tally;
  const Tensors t = generate(p, data);
  const auto rows = reference(p, t, reference_policy);
  for (int64_t row = 0; row < p.output_rows(); ++row)
    for (size_t i = 0; i < rows[row].value.size(); ++i) {
      const double value = rows[row].value[i], bound = rows[row].bound[i];
      const CellInputs in = inputs_of(p, t, row % p.rows(), rows[row].first + int64_t(i));
      const float got = model_of(p, in, kernel, row, i % 2 == 0);
      ++tally.cells;
      tally.disagree += !agrees(value, bound, got);
      tally.inexact += !agrees_exactly(value, got);
      tally.open += bound == kAnyResult;
      tally.special += !std::isfinite(value);
    }
  return tally;
}

Problem medium_problem(uint64_t seed) {
  Problem p;
  p.batch = 2, p.next_n = 2, p.heads = 16, p.head_dim = 64, p.block_size = 16, p.max_model_len = 100;
  p.fp8 = seed % 2 ? MQA_E4M3FN : MQA_E4M3FNUZ;
  p.context_lens = {100, 77};
  return dense(p);
}

TEST(Reference, AgreesWithACorrectKernelOfEveryPolicyInEveryLane) {
  for (int choice = 0; choice < 24; ++choice) {
    const Policy policy{choice % 2 == 0, choice / 2 % 2 == 0, Accumulation(choice / 4)};
    for (auto [lane, pattern] : {std::pair{Lane::numeric, Pattern::general},
                                 {Lane::special, Pattern::general},
                                 {Lane::special, Pattern::raw_bytes}}) {
      int special = 0;
      for (uint64_t seed = 1; seed <= 2; ++seed) {
        const Tally tally = judge(medium_problem(seed), data_of(lane, pattern, seed), policy, policy);
        EXPECT_EQ(tally.disagree, 0) << name(policy.accumulation) << " nan_to_zero " << policy.nan_to_zero
                                     << " after_sum " << policy.scale_after_sum << " lane " << int(lane);
        EXPECT_LT(tally.open, tally.cells / 20);
        special += tally.special;
      }
      if (lane == Lane::special) EXPECT_GT(special, 0);
    }
  }
}

TEST(Reference, AgreesWithACorrectKernelOfEveryOperationInEveryLane) {
  for (Operation op : kLogitsOperations)
    for (auto [lane, pattern] : {std::pair{Lane::numeric, Pattern::general},
                                 {Lane::special, Pattern::general},
                                 {Lane::special, Pattern::raw_bytes}})
      for (uint64_t seed = 1; seed <= 6; ++seed) {
        const Policy policy{.accumulation = seed % 2 ? Accumulation::cdna3_fp8 : Accumulation::fp32_fma};
        const Tally tally = judge(random_problem(op, seed), data_of(lane, pattern, seed), policy, policy);
        EXPECT_EQ(tally.disagree, 0) << "operation " << int(op) << " lane " << int(lane) << " seed " << seed;
        EXPECT_LE(tally.open, tally.cells / 10);
      }
}

TEST(Reference, KeepsTheExactLaneExactForTheMostHeadsAndDims) {
  for (Operation op : kLogitsOperations)
    for (auto [heads, head_dim] : {std::pair{1024, 256}, {1, 256}, {513, 48}, {8, 240}}) {
      Problem p = random_problem(op, 3);
      p.batch = p.next_n = 1, p.heads = heads, p.head_dim = head_dim, p.max_model_len = 3,
      p.lens_per_row = false;
      p = dense(p);
      p.context_lens = {2}, p.row_starts.clear(), p.num_blocks = 4, p.compressed = false;
      if (op == Operation::prefill_logits) p.row_starts = {1}, p.key_scales_stride = 1;
      p.logits_stride_head = p.logits_stride;
      for (Pattern pattern : {Pattern::general, Pattern::positive, Pattern::address, Pattern::one_dim}) {
        const Tally tally = judge(p, data_of(Lane::exact, pattern, 7), Policy{}, Policy{});
        EXPECT_GT(tally.cells, 0);
        EXPECT_EQ(tally.inexact, 0) << "operation " << int(op) << " heads " << heads << " head_dim "
                                    << head_dim << " pattern " << int(pattern);
      }
    }
}

TEST(Reference, SeesAPlaneThatIsMissingFromAHeadSum) {
  Problem p = medium_problem(1);
  p.op = Operation::head_sum;
  const Tensors t = generate(p, data_of(Lane::numeric, Pattern::general, 3));
  const RowReference row = reference_row(p, t, 0, Policy{});
  int seen = 0;
  for (int64_t column = 0; column < row.end(); ++column)
    seen += !agrees(row.value[column], row.bound[column],
                    model_planes(inputs_of(p, t, 0, column), Policy{}, 0, p.heads - 1));
  EXPECT_GT(seen, row.end() / 3) << "relu hides what happens to negative dots";
}

TEST(Reference, TellsPoliciesApartInTheSpecialLane) {
  const Policy ours;
  for (const Policy& other : {Policy{.nan_to_zero = false}, Policy{.scale_after_sum = false}})
    EXPECT_GT(judge(medium_problem(1), data_of(Lane::special, Pattern::general, 1), ours, other).disagree, 0);
}

TEST(Reference, SeesOneDroppedProductInTheNumericLane) {
  Problem p = medium_problem(1);
  p.heads = 1;
  p = dense(p);
  const DataSpec data = data_of(Lane::numeric, Pattern::general, 3);
  const Tensors t = generate(p, data);
  const RowReference row = reference_row(p, t, 0, Policy{});
  int seen = 0, visible = 0;
  for (int64_t position = 0; position < p.limit(0); ++position) {
    CellInputs in = inputs_of(p, t, 0, position);
    const float right = model_kernel(in, Policy{}, false);
    in.key[17] = 0;
    const float wrong = model_kernel(in, Policy{}, false);
    if (right == 0) continue; // relu hides what happens to negative dots
    ++visible, seen += !agrees(row.value[position], row.bound[position], wrong);
  }
  EXPECT_GT(visible, 20);
  EXPECT_GT(seen, visible * 9 / 10);
}

TEST(Reference, KeepsTheErrorOfAModelWithinTwoHundredthsOfTheBound) {
  const Policy policy;
  const Problem p = medium_problem(1);
  const Tensors t = generate(p, data_of(Lane::numeric, Pattern::general, 2));
  const RowReference row = reference_row(p, t, 1, policy);
  double worst = 0;
  for (int64_t position = 0; position < p.limit(1); ++position) {
    const double got = model_kernel(inputs_of(p, t, 1, position), policy, false);
    worst = std::max(worst, std::fabs(got - row.value[position]) / row.bound[position]);
  }
  EXPECT_GT(worst, 1.0 / 200);
  EXPECT_LE(worst, 1);
}

} // namespace
} // namespace mqalab
