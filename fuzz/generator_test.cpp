// Generator, repair and mutator: every case legal and affordable, boundaries really drawn, data lanes in
// their shares.
#include "fuzz/boundaries.hpp"
#include "fuzz/case_names.hpp"
#include "fuzz/fault_fit.hpp"
#include "fuzz/generator.hpp"
#include "fuzz/mutator.hpp"
#include "fuzz/refusal.hpp"
#include "fuzz/repair.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

namespace mqalab {
namespace {

TEST(Random, TheSameSeedGivesTheSameCaseForEver) {
  EXPECT_EQ(encode(generate_case(7)), encode(generate_case(7)));
  EXPECT_NE(encode(generate_case(7)), encode(generate_case(8)));
  EXPECT_EQ(Random(1).next(), 0x910A2DEC89025CC1u); // SplitMix64's published first output for seed 1
}

TEST(Generator, EveryCaseIsLegalAndAffordable) {
  for (uint64_t seed = 0; seed < 3000; ++seed) {
    const Case c = generate_case(seed);
    ASSERT_EQ(why_illegal(c), "") << "seed " << seed;
    ASSERT_LE(work(c), std::max(5 * kUsualWork, usual_work(c))) << "seed " << seed;
  }
}

TEST(Generator, EveryOperationIsDrawnInItsShareAndIsLegal) {
  std::vector<int> count(kOperationNames.size(), 0);
  Random random(17);
  for (int i = 0; i < 4000; ++i) ++count[static_cast<size_t>(generate_case(random).op)];
  const std::vector<int> percent{45, 8, 7, 4, 4, 10, 8, 5, 4, 5};
  for (size_t op = 0; op < count.size(); ++op)
    EXPECT_NEAR(count[op] / 40.0, percent[op], 2.5) << kOperationNames[op];
  for (size_t op = 0; op < count.size(); ++op)
    for (int i = 0; i < 300; ++i) {
      const Case c = generate_case(random, static_cast<Operation>(op));
      ASSERT_EQ(static_cast<size_t>(c.op), op);
      ASSERT_EQ(why_illegal(c), "") << to_json(c);
      ASSERT_LE(work(c), std::max(5 * kUsualWork, usual_work(c))) << to_json(c);
    }
}

// Of 1000 generated cases, those for which the predicate holds.
template <class Predicate> int count_of(Operation op, Predicate predicate) {
  Random random(23);
  int count = 0;
  for (int i = 0; i < 1000; ++i) count += predicate(generate_case(random, op));
  return count;
}

TEST(Generator, PrefillRowsAreOfEveryKind) {
  const auto with_row = [](auto holds) {
    return count_of(Operation::prefill_logits, [&](const Case& c) {
      const Problem p = resolve(c);
      for (int64_t r = 0; r < p.rows(); ++r)
        if (holds(p, int64_t{p.row_starts[r]}, int64_t{p.context_lens[r]})) return true;
      return false;
    });
  };
  EXPECT_GT(with_row([](const Problem&, int64_t start, int64_t end) { return start == end; }), 30);
  EXPECT_GT(with_row([](const Problem&, int64_t start, int64_t end) { return start > end; }), 30);
  EXPECT_GT(with_row([](const Problem& p, int64_t, int64_t end) { return end > p.num_blocks; }), 30);
  EXPECT_GT(with_row([](const Problem&, int64_t start, int64_t) { return start < 0; }), 10);
  EXPECT_GT(with_row([](const Problem&, int64_t start, int64_t) { return start > 0; }), 300);
  EXPECT_GT(with_row([](const Problem&, int64_t, int64_t end) { return end == INT32_MIN; }), 3);
  EXPECT_GT(with_row([](const Problem& p, int64_t start, int64_t end) {
              return p.compressed && std::min(end, p.num_blocks) - start > p.max_model_len;
            }),
            20);
  EXPECT_GT(count_of(Operation::prefill_logits, [](const Case& c) { return c.shape.starts.empty(); }), 100);
  EXPECT_GT(count_of(Operation::prefill_logits, [](const Case& c) { return c.shape.next_n > 16; }), 100);
}

TEST(Generator, SlowShapesAndCrowdsAreDrawnNowAndThen) {
  const Operation op = Operation::paged_logits;
  const auto odd = [](const Case& c) { return c.shape.heads % 8 != 0; };
  const auto slow = [](const Case& c) { return runs_general(c); };
  const auto crowd = [](const Case& c) {
    return c.shape.batch > 200 && c.config.variant == MQA_VARIANT_SCHEDULED;
  };
  EXPECT_GT(count_of(op, odd), 40);
  EXPECT_GT(count_of(op, slow), 100);
  EXPECT_LT(count_of(op, slow), 400);
  EXPECT_GT(count_of(op, crowd), 5);
}

TEST(Generator, AsksForNoVariantThatCannotServeTheForm) {
  EXPECT_EQ(count_of(Operation::prefill_logits,
                     [](const Case& c) {
                       return c.config.variant == MQA_VARIANT_DIRECT ||
                              c.config.variant == MQA_VARIANT_SCHEDULED;
                     }),
            0);
  EXPECT_EQ(count_of(Operation::per_head_logits,
                     [](const Case& c) { return c.config.variant == MQA_VARIANT_SCHEDULED; }),
            0);
  EXPECT_GT(count_of(Operation::ragged_logits,
                     [](const Case& c) { return c.config.variant == MQA_VARIANT_SCHEDULED; }),
            50);
}

TEST(FaultFit, EveryFaultGetsCasesOfItsOwnOperation) {
  Random random(29);
  for (const Fault& fault : faults())
    for (int i = 0; i < 5; ++i) {
      Case c = generate_case(random);
      fit_fault(c, fault);
      ASSERT_EQ(c.op, operation_of(fault)) << fault.name;
      ASSERT_EQ(why_illegal(c), "") << fault.name;
    }
}

TEST(Generator, LanesKeepTheirShares) {
  int exact = 0, numeric = 0, special = 0;
  for (uint64_t seed = 0; seed < 4000; ++seed) {
    const Lane lane = generate_case(seed).data.lane;
    ++(lane == Lane::exact ? exact : lane == Lane::numeric ? numeric : special);
  }
  EXPECT_NEAR(exact / 4000.0, 0.67, 0.04); // 60 of 90, and the large offsets
  EXPECT_NEAR(numeric / 4000.0, 0.26, 0.05);
  EXPECT_NEAR(special / 4000.0, 0.07, 0.04);
}

TEST(Generator, TheExactLaneHasItsSubLanesInTheirShares) {
  int all = 0, general = 0, positive = 0, address = 0;
  Random random(29);
  for (int i = 0; i < 6000; ++i) {
    const Case c = generate_case(random);
    if (c.data.lane != Lane::exact || c.op == Operation::top_k) continue;
    ++all;
    general += c.data.pattern == Pattern::general;
    positive += c.data.pattern == Pattern::positive;
    address += c.data.pattern == Pattern::address;
  }
  EXPECT_NEAR(static_cast<double>(positive) / all, 0.24, 0.03);
  EXPECT_NEAR(static_cast<double>(general) / all, 0.29, 0.04); // and all of the large offsets
  EXPECT_NEAR(static_cast<double>(address) / all, 0.29, 0.03);
}

TEST(Generator, OneCaseInTwentyIsForTheLibraryToRefuse) {
  int illegal = 0;
  Random random(31);
  for (int i = 0; i < 4000; ++i) illegal += !why_outside_contract(generate_any_case(random)).empty();
  EXPECT_NEAR(illegal / 40.0, kContractPercent, 1.5);
}

TEST(Generator, IllegalCasesBreakEveryRuleOfEveryOperation) {
  Random random(37);
  std::map<Operation, std::set<std::string>> broken; // the argument that the reason names first
  for (int i = 0; i < 20000; ++i) {
    const Case c = generate_illegal_case(random, static_cast<Operation>(i % kOperationNames.size()));
    const std::string why = why_outside_contract(c);
    if (why.empty()) continue;
    broken[c.op].insert(why.substr(0, why.find(" is ")));
    ASSERT_EQ(check_refusal(c, why).verdict, VerdictClass::rejected) << to_json(c) << why;
  }
  const std::set<std::string> logits{"batch",          "next_n",           "heads",
                                     "head_dim",       "max_model_len",    "num_blocks",
                                     "strides.q[1]",   "strides.q[2]",     "strides.weights",
                                     "strides.logits", "strides.kv_block", "config.variant",
                                     "config.chunk_k", "config.split_kv",  "config.wave_per_eu"};
  const std::set<std::string> paged{"block_size", "strides.q[0]", "strides.block_table"};
  const auto has = [&](Operation op, const std::set<std::string>& wanted) {
    for (const std::string& field : wanted)
      EXPECT_TRUE(broken[op].contains(field)) << kOperationNames[static_cast<size_t>(op)] << " " << field;
  };
  for (const Operation op : {Operation::paged_logits, Operation::per_head_logits, Operation::head_sum,
                             Operation::ragged_logits, Operation::per_head_ragged_logits, Operation::indexer})
    has(op, logits);
  for (const Operation op :
       {Operation::paged_logits, Operation::per_head_logits, Operation::head_sum, Operation::indexer})
    has(op, paged);
  for (const Operation op :
       {Operation::per_head_logits, Operation::per_head_ragged_logits, Operation::head_sum})
    has(op, {"strides.logits_head"});
  has(Operation::prefill_logits, {"heads", "head_dim", "max_model_len", "num_blocks", "strides.q[1]",
                                  "strides.kv_block", "strides.key_scales", "config.variant"});
  has(Operation::top_k, {"batch", "next_n", "top_k.k", "max_model_len", "strides.logits", "strides.indices"});
  has(Operation::cache_write, {"head_dim", "block_size", "num_blocks", "strides.kv_block", "strides.keys"});
  has(Operation::cache_gather, {"batch", "head_dim", "block_size", "num_blocks", "strides.kv_block",
                                "strides.block_table", "strides.keys", "strides.key_scales"});
}

TEST(Generator, AKernelsWordsMeetInOneCase) {
  const Words words{3, 15, 40, 48, 128}; // next_n, nothing, heads, block_size, chunk_k
  Random random(41);
  int met = 0;
  for (int i = 0; i < 4000; ++i) {
    const Case c = generate_case(random, Operation::paged_logits, words);
    ASSERT_EQ(why_illegal(c), "");
    met += c.shape.next_n == 3 && c.shape.heads == 40 && c.shape.block_size == 48 && c.config.chunk_k == 128;
  }
  EXPECT_GT(met, 4); // without words: one case in 12,000
}

TEST(Generator, WordsGoOnlyWhereTheyFit) {
  const Words words{3, 48, 128, 5000};
  EXPECT_EQ(words_for(field("next_n"), words), (Words{3}));
  EXPECT_EQ(words_for(field("block_size"), words), (Words{48, 128}));
  EXPECT_EQ(words_for(field("config.chunk_k"), words), (Words{128}));
  EXPECT_EQ(words_for(field("data.seed"), words), Words{});
}

TEST(Generator, SomeCrowdsKeepEveryWorkerBusy) {
  EXPECT_GT(count_of(Operation::paged_logits,
                     [](const Case& c) {
                       return c.shape.batch > 304 && c.config.variant == MQA_VARIANT_SCHEDULED &&
                              c.config.wave_per_eu == 1 && c.shape.heads >= 32 &&
                              std::ranges::all_of(c.shape.context_lens, [](int32_t n) { return n > 0; });
                     }),
            4);
}

TEST(Generator, OneCaseInThirtyOrMoreLooksPast2To31Bytes) {
  int large = 0;
  for (uint64_t seed = 0; seed < 3000; ++seed) {
    const Problem p = resolve(generate_case(seed));
    const int64_t farthest = std::max({query_bytes(p), kv_cache_bytes(p), weights_bytes(p), logits_bytes(p)});
    large += farthest >= int64_t{1} << 31;
  }
  EXPECT_GE(large, 3000 / 33);
  EXPECT_LE(large, 3000 / 5); // the tables of high ids do, too
}

TEST(Generator, HalfOfTheContextsLieOnABoundary) {
  Case c;
  c.config.chunk_k = 256;
  Random random(3);
  const auto list = context_boundaries(c, 9000);
  const std::set<int64_t> boundary(list.begin(), list.end());
  int on = 0;
  for (int i = 0; i < 2000; ++i) on += boundary.count(draw_context(c, random, 9000));
  EXPECT_GE(on, 1000 * 9 / 10);
  EXPECT_TRUE(boundary.count(2049) && boundary.count(257) && boundary.count(0) && boundary.count(1025));
}

TEST(Repair, ACaseThatIsLegalStaysAsItIs) {
  for (uint64_t seed = 0; seed < 500; ++seed) {
    const Case c = generate_case(seed);
    Case repaired = c;
    repair(repaired);
    ASSERT_TRUE(repaired == c) << to_json(c) << to_json(repaired);
  }
}

TEST(Repair, AnyBytesBecomeALegalCase) {
  Random random(11);
  for (int i = 0; i < 2000; ++i) {
    std::vector<uint8_t> record = encode(generate_case(random));
    for (int flips = 0; flips < 4; ++flips)
      record[static_cast<size_t>(random.between(4, static_cast<int64_t>(record.size()) - 1)) %
             record.size()] = static_cast<uint8_t>(random.next());
    Case c = decode(record);
    repair(c);
    bound_work(c);
    ASSERT_EQ(why_illegal(c), "") << to_json(c);
  }
}

TEST(Mutator, MutantsAreLegalButForAFewOnPurpose) {
  Random random(5);
  int illegal = 0, changed = 0;
  Case c;
  for (int i = 0; i < 4000; ++i) {
    const Case mutant = mutate(c, random);
    changed += !(mutant == c);
    const bool legal = why_illegal(mutant).empty();
    illegal += !legal;
    if (legal) {
      ASSERT_LE(work(mutant), std::max(5 * kUsualWork, usual_work(mutant))) << to_json(mutant);
      c = mutant;
    }
  }
  EXPECT_NEAR(illegal / 40.0, kContractPercent, 1.5);
  EXPECT_GT(changed, 3000);
}

TEST(Mutator, AWordFromTheEngineReachesTheContext) {
  Random random(9);
  bool reached = false;
  for (int i = 0; i < 500 && !reached; ++i)
    reached = longest_context(mutate(Case{}, random, [](uint64_t) { return 2049; })) == 2049;
  EXPECT_TRUE(reached);
}

TEST(Mutator, AWildWordBecomesALegalCase) {
  Random random(13);
  for (int i = 0; i < 1000; ++i) {
    Case mutant = mutate(Case{}, random, [&](uint64_t) { return random.next(); });
    repair(mutant);
    ASSERT_EQ(why_illegal(mutant), "");
  }
}

TEST(Mutator, CrossoverTakesWholeGroups) {
  const Case mother = generate_case(1), father = generate_case(2);
  Random random(4);
  std::set<std::vector<uint8_t>> children;
  for (int i = 0; i < 200; ++i) {
    const Case child = cross(mother, father, random);
    ASSERT_EQ(why_illegal(child), "");
    EXPECT_TRUE(child.data == mother.data || child.data == father.data);
    children.insert(encode(child));
  }
  EXPECT_GE(children.size(), 8u);
}

TEST(Fields, EachIsItsDefaultInTheSmallestCase) {
  EXPECT_EQ(non_default_fields(Case{}), 0);
  for (const Field& f : fields()) {
    Case c;
    f.set(c, f.smallest + 1);
    EXPECT_EQ(f.get(c), f.smallest + 1) << f.name;
    EXPECT_EQ(non_default_fields(c), 1) << f.name;
  }
  EXPECT_THROW(field("no such field"), std::out_of_range);
}

} // namespace
} // namespace mqalab
