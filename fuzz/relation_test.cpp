#include "fuzz/relation.hpp"

#include "fuzz/fault_fit.hpp"
#include "fuzz/fault_list.hpp"
#include "fuzz/generator.hpp"
#include "fuzz/logits_output.hpp"
#include "fuzz/relation_trial.hpp"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
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
                                         Relation::configuration, Relation::other_layout,
                                         Relation::under_load, Relation::graph_replay),
                         [](const auto& info) { return std::string(name(info.param)); });

TEST(Relation, RenamingMovesBlocks) {
  const Case c = case_from_json(kPaged, "test");
  const Problem p = resolve(c);
  const auto all = made(Relation::rename_blocks, c, p, generate(p, c.data));
  EXPECT_NE(all.at(0).problem.block_table, p.block_table);
}

// What lies in the tensors while a launch is captured shares nothing with them but the sizes.
TEST(Relation, OtherContentsHaveTheSameSizes) {
  for (const char* json :
       {kPaged,
        R"({"op": "ragged_mqa_logits", "batch": 3, "context_lens": [40, 7, 33], "max_model_len": 48})",
        R"({"op": "prefill_mqa_logits", "next_n": 3, "context_lens": [40, 7, 33], "max_model_len": 48,
            "num_blocks": 48})"}) {
    const Case c = case_from_json(json, "test");
    const Problem p = resolve(c);
    const Tensors t = generate(p, c.data);
    const auto all = made(Relation::graph_replay, c, p, t);
    const OtherContents& other = all.at(0).other.value();
    EXPECT_EQ(other.problem.block_table.size(), p.block_table.size());
    EXPECT_EQ(other.problem.context_lens.size(), p.context_lens.size());
    EXPECT_NE(other.problem.context_lens, p.context_lens);
    EXPECT_EQ(other.tensors.q.size(), t.q.size());
    EXPECT_EQ(other.tensors.weights.size(), t.weights.size());
    for (int64_t row = 0; row < p.rows(); ++row)
      EXPECT_NE(query(other.problem, other.tensors, row), query(p, t, row));
  }
}

// Each launch by itself is right; which relation tells the launcher from a good one?
TEST(Relation, TellsHowALaunchWasStarted) {
  struct Told {
    const char *fault, *relation;
    VerdictClass due;
  };
  constexpr VerdictClass kOk = VerdictClass::ok, kSeen = VerdictClass::relation;
#ifdef MQALAB_SIM
  constexpr VerdictClass kCopyBack = kSeen;
#else
  constexpr VerdictClass kCopyBack = VerdictClass::fault; // refused while a stream captures
#endif
  for (const Told& told :
       {Told{"stream_ignored", "none", kOk}, Told{"stream_ignored", "under_load", kOk},
        Told{"stream_ignored", "graph_replay", kSeen}, Told{"lengths_on_host", "none", kOk},
        Told{"lengths_on_host", "under_load", kOk}, Told{"lengths_on_host", "graph_replay", kCopyBack},
        Told{"stream_switch_late", "none", kOk}, Told{"stream_switch_late", "under_load", kSeen},
        Told{"stream_switch_late", "graph_replay", kSeen}}) {
    const Fault* fault = find_fault(told.fault);
    ASSERT_TRUE(fault) << told.fault;
    Oracle oracle;
    const Verdict v =
        oracle.check(case_from_json(kPaged, "test"), fault, *options_with_relations(told.relation));
    EXPECT_EQ(v.verdict, told.due) << told.fault << ", " << told.relation << ": " << v.message;
  }
}

// Else these faults would prove nothing of the relations.
TEST(Relation, NothingElseSeesTheFaultsPlantedForIt) {
  OracleOptions options;
  options.relations = OracleOptions::Relations::none;
  Oracle oracle;
  for (const Fault& fault : relation_faults()) {
    Random random(7);
    for (int i = 0; i < 40; ++i) {
      Case c = generate_case(random, operation_of(fault));
      fit_fault(c, fault);
      const Verdict v = oracle.check(c, &fault, options);
      EXPECT_TRUE(v.verdict == VerdictClass::ok || v.verdict == VerdictClass::rejected)
          << fault.name << ": " << v.message << "\n"
          << to_json(c, -1);
    }
  }
}

// Recorded verdicts stay comparable: a later relation takes its share of the draws and leaves the others as
// they were.
TEST(Relation, EveryOneIsDrawnAsOften) {
  Case c = case_from_json(kPaged, "test");
  std::array<int, kRelations> drawn{};
  int possible = 0, none = 0;
  for (size_t i = 0; i < kRelations; ++i) possible += why_no_partner(static_cast<Relation>(i), c).empty();
  constexpr int kCases = 20000;
  for (int i = 0; i < kCases; ++i) {
    c.data.seed = static_cast<uint64_t>(i);
    if (const auto r = relation_for(c))
      ++drawn[static_cast<size_t>(*r)];
    else
      ++none;
  }
  const double due = kCases / 2.0 / possible, spread = 5 * std::sqrt(due);
  EXPECT_NEAR(none, kCases / 2.0, 5 * std::sqrt(kCases / 4.0));
  for (size_t i = 0; i < kRelations; ++i)
    if (why_no_partner(static_cast<Relation>(i), c).empty())
      EXPECT_NEAR(drawn[i], due, spread) << name(static_cast<Relation>(i));
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
