#include "fuzz/relation.hpp"

#include "fuzz/generator.hpp"
#include "fuzz/logits_output.hpp"
#include "fuzz/relation_trial.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cstring>

namespace mqalab {
namespace {

constexpr const char* kPaged =
    R"({"batch": 3, "next_n": 2, "block_size": 16, "context_lens": [40, 7, 33], "max_model_len": 48})";

std::vector<Partner> made(Relation r, const Case& c, const Problem& p, const Tensors& t) {
  Random random(1);
  return partners(r, c, p, t, {MQA_VARIANT_STAGED, 64, 1, 2}, random);
}

// Key and scale that a column of a row shows.
std::vector<uint8_t> token(const Problem& p, const Tensors& t, int64_t row, int64_t column) {
  const int64_t position = p.position_of(row, column), block = p.block_at(row, column);
  const auto in_block = static_cast<int32_t>(position % p.block_size);
  std::vector<uint8_t> bytes;
  for (int32_t d = 0; d < p.head_dim; ++d)
    bytes.push_back(t.kv_cache.data()[value_offset_bytes(p, block, in_block, d)]);
  const uint8_t* scale = t.scales(p).data() + scale_offset_bytes(p, block, in_block);
  bytes.insert(bytes.end(), scale, scale + 4);
  return bytes;
}
std::vector<uint8_t> query(const Problem& p, const Tensors& t, int64_t row) {
  std::vector<uint8_t> bytes;
  for (int32_t h = 0; h < p.heads; ++h) {
    const uint8_t* q = t.q.data() + query_offset_bytes(p, row, h, 0);
    bytes.insert(bytes.end(), q, q + p.head_dim);
    const uint8_t* w = t.weights.data() + 4 * (row * p.weights_stride + h);
    bytes.insert(bytes.end(), w, w + 4);
  }
  return bytes;
}

class SameBytes : public testing::TestWithParam<Relation> {};

// Whatever moves, every pair of cells is made of the same query, weights, key and scale.
TEST_P(SameBytes, InEveryPairOfCells) {
  const Case c = case_from_json(kPaged, "test");
  const Problem p = resolve(c);
  const Tensors t = generate(p, c.data);
  ASSERT_EQ(why_no_partner(GetParam(), c), "");
  const auto all = made(GetParam(), c, p, t);
  ASSERT_FALSE(all.empty());
  int64_t cells = 0;
  for (const Partner& partner : all)
    for (const RowPair& pair : partner.rows) {
      EXPECT_EQ(query(p, t, pair.ours), query(partner.problem, partner.tensors, pair.theirs));
      for (int64_t column = pair.begin; column < pair.end; ++column, ++cells)
        EXPECT_EQ(token(p, t, pair.ours, column),
                  token(partner.problem, partner.tensors, pair.theirs, column));
    }
  EXPECT_GT(cells, 0);
}
INSTANTIATE_TEST_SUITE_P(Relations, SameBytes,
                         testing::Values(Relation::rename_blocks, Relation::output_place,
                                         Relation::pool_place, Relation::input_strides, Relation::prefix,
                                         Relation::batch_split, Relation::batch_order, Relation::next_n_split,
                                         Relation::configuration, Relation::other_layout),
                         [](const auto& info) { return std::string(name(info.param)); });

TEST(Relation, RenamingMovesBlocks) {
  const Case c = case_from_json(kPaged, "test");
  const Problem p = resolve(c);
  const auto all = made(Relation::rename_blocks, c, p, generate(p, c.data));
  EXPECT_NE(all.at(0).problem.block_table, p.block_table);
}

TEST(Relation, ASignatureNamesItsRelation) {
  for (size_t i = 0; i < kRelations; ++i) {
    const auto r = static_cast<Relation>(i);
    EXPECT_EQ(relation_named(name(r)), r);
    const auto options = options_for({VerdictClass::relation, "relation " + std::string(name(r)), "all"});
    EXPECT_EQ(options.relations, OracleOptions::Relations::named);
    EXPECT_EQ(options.relation, r);
  }
  EXPECT_EQ(options_for({VerdictClass::value, "zero", "all"}).relations, OracleOptions::Relations::drawn);
}

// The first launch's result with one bit of one cell turned: every relation must see it, and none without.
TEST(Relation, EachSeesOneBit) {
  const Case c = case_from_json(kPaged, "test");
  const Problem p = resolve(c);
  const Tensors t = generate(p, c.data);
  for (const bool turned : {false, true})
    for (size_t i = 0; i < kRelations; ++i) {
      TrialMemory memory;
      memory.inputs.upload(p, t);
      LogitsOutput output(memory, p);
      output.prefill(1);
      const LaunchResult ran = output.launch(c.config, nullptr);
      ASSERT_EQ(ran.status, VerdictClass::ok);
      std::vector<uint32_t> cells;
      output.read(cells);
      if (turned) cells[0] ^= 1; // row 0 column 0, which every prefix of a row may lose
      const Output ours{output.watch(), cells, 1, {}};
      Verdict v;
      v.launched = ran.choice;
      try_relation(memory, static_cast<Relation>(i), {c, nullptr, p, t, ours, 1 << 30}, v);
      EXPECT_EQ(v.verdict, turned ? VerdictClass::relation : VerdictClass::ok)
          << name(static_cast<Relation>(i)) << ": " << v.message;
    }
}

TEST(Relation, ProductionKernelKeepsAllOfThem) {
  OracleOptions options;
  options.relations = OracleOptions::Relations::all;
  options.second_sentinel = options.read_set = false;
  Oracle oracle;
  int tried = 0;
  for (uint64_t seed = 1; tried < 120; ++seed) {
    const Case c = generate_case(seed);
    if (!makes_logits(c.op)) continue;
    ++tried;
    const Verdict v = oracle.check(c, nullptr, options);
    EXPECT_TRUE(v.verdict == VerdictClass::ok || v.verdict == VerdictClass::rejected) << v.message << "\n"
                                                                                      << to_json(c, -1);
  }
}

} // namespace
} // namespace mqalab
