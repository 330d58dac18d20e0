// What a launch wrote beside its outputs is seen after every launch: in the zones, in any place and with any
// word, and in the inputs, also in large ones.
#include "fuzz/guards.hpp"

#include "fuzz/byte_trial.hpp"

#include <gmock/gmock.h>

#include <functional>
#include <set>

namespace mqalab {
namespace {

using testing::HasSubstr;

constexpr int64_t kWords = 100, kLead = 8, kGuards = GuardedWords::kGuard_bytes / 4;

// As a kernel would.
void put_word(const GuardedWords& to, int64_t word, uint32_t value) {
  require(hipMemcpy(to.data() + 4 * word, &value, 4, hipMemcpyHostToDevice), "hipMemcpy");
}
uint32_t word_of(const GuardedWords& from, int64_t word) {
  uint32_t value = 0;
  require(hipMemcpy(&value, from.data() + 4 * word, 4, hipMemcpyDeviceToHost), "hipMemcpy");
  return value;
}

class Guards : public testing::Test {
protected:
  Guards() {
    words_.resize(kWords, kLead);
    words_.prefill(all_, 1);
  }
  Verdict look(VerdictClass before = VerdictClass::ok) const {
    Verdict v;
    v.verdict = before;
    const GuardedOutput output{"logits", words_, 7};
    look_at_guards(v, {&output, 1});
    return v;
  }
  const std::vector<Window> all_{{kLead, kWords, 0}};
  GuardedWords words_;
};

TEST_F(Guards, AWriteIntoTheOutputIsNone) {
  put_word(words_, kLead, 0), put_word(words_, kWords - 1, 0);
  EXPECT_EQ(look().verdict, VerdictClass::ok);
}

TEST_F(Guards, AnyWordBesideTheOutputIsAnswered) {
  struct Row {
    int64_t word;
    bool before;
    int64_t distance_words;
  };
  for (const Row& r : {Row{kLead - 1, true, 1}, Row{0, true, kLead}, Row{-1, true, kLead + 1},
                       Row{-kGuards, true, kLead + kGuards}, Row{kWords, false, 0},
                       Row{kWords + kGuards - 1, false, kGuards - 1}}) {
    const uint32_t was = word_of(words_, r.word);
    put_word(words_, r.word, was ^ 1);
    const auto dead = words_.dead_guard();
    ASSERT_TRUE(dead) << r.word;
    EXPECT_EQ(dead->before, r.before) << r.word;
    EXPECT_EQ(dead->distance_words, r.distance_words) << r.word;
    EXPECT_EQ(dead->expected, was);
    EXPECT_EQ(dead->got, was ^ 1);
    put_word(words_, r.word, was);
    EXPECT_FALSE(words_.dead_guard());
  }
}

TEST_F(Guards, TheNearestOfSeveralIsNamed) {
  put_word(words_, -5, 0), put_word(words_, kWords + 3, 0), put_word(words_, kWords + 9, 0);
  const auto dead = words_.dead_guard();
  ASSERT_TRUE(dead);
  EXPECT_FALSE(dead->before);
  EXPECT_EQ(dead->distance_words, 3);
}

// A kernel that copies its neighbour, or that stores again what the launch before it stored.
TEST_F(Guards, NoWordIsThatOfAnotherPlaceOrLaunch) {
  std::set<uint32_t> seen;
  for (int64_t i = 0; i < 64; ++i)
    seen.insert(word_of(words_, kWords + i)), seen.insert(word_of(words_, i - 64));
  EXPECT_EQ(seen.size(), 128u);
  const uint32_t was = word_of(words_, kWords);
  words_.prefill(all_, 2);
  EXPECT_NE(word_of(words_, kWords), was);
  put_word(words_, kWords, was);
  EXPECT_TRUE(words_.dead_guard());
}

TEST_F(Guards, TheFindingSaysWhereAndWhat) {
  put_word(words_, kWords + 2, 0x12345678);
  const Verdict v = look(VerdictClass::value);
  EXPECT_EQ(v.verdict, VerdictClass::guard);
  EXPECT_THAT(v.message, HasSubstr("the zone around the logits was written, 8 bytes behind the last row"));
  EXPECT_THAT(v.message, HasSubstr("got 0x12345678"));
  ASSERT_EQ(v.first_bad.size(), 1u);
  EXPECT_EQ(v.first_bad[0].row, 7);
  EXPECT_EQ(v.first_bad[0].column, 2);
}

TEST_F(Guards, AnEarlierQuestionKeepsItsAnswer) {
  put_word(words_, -1, 0);
  for (const VerdictClass kind : {VerdictClass::untouched, VerdictClass::touched, VerdictClass::fault})
    EXPECT_EQ(look(kind).verdict, kind);
}

// ---- inputs ----

TEST(Inputs, SmallOnesAreComparedWholeAndLargeOnesInPiecesUpToBothEnds) {
  const std::vector<ByteRange> small{{0, 10}, {100, kComparedWhole_bytes}};
  EXPECT_EQ(compared_pieces(small), small);
  const int64_t gib = int64_t{1} << 30;
  const std::vector<ByteRange> large{{7, gib}, {3 * gib, 5 * gib + 1}};
  const std::vector<ByteRange> pieces = compared_pieces(large);
  int64_t total = 0;
  for (size_t i = 0; i < pieces.size(); ++i) {
    total += pieces[i].end - pieces[i].begin;
    if (i > 0) EXPECT_GE(pieces[i].begin, pieces[i - 1].end);
  }
  EXPECT_EQ(total, kComparedWhole_bytes);
  EXPECT_EQ(pieces.front().begin, 7);
  EXPECT_EQ(pieces.back().end, 5 * gib + 1);
}

TEST(Inputs, AChangedByteIsNamedAndAcceptedOnDemand) {
  InputBuffer buffer("slots");
  const std::vector<int32_t> numbers{1, 2, 3};
  buffer.put(numbers);
  EXPECT_FALSE(buffer.first_change());
  const uint8_t seven = 7;
  require(hipMemcpy(buffer.data() + 8, &seven, 1, hipMemcpyHostToDevice), "hipMemcpy");
  const auto change = buffer.first_change();
  ASSERT_TRUE(change);
  EXPECT_EQ(change->offset_bytes, 8);
  EXPECT_EQ(change->expected, 3);
  EXPECT_EQ(change->got, 7);
  Verdict v;
  EXPECT_TRUE(look_at_inputs(v, ChangedInput{"slots", *change}, kInLaterLaunch));
  EXPECT_EQ(v.message, "touched: the launch wrote into an input: slots byte 8, expected 0x03, got 0x07 (in a "
                       "launch after the first)");
  EXPECT_EQ(v.signature.region, "slots");
  buffer.accept();
  EXPECT_FALSE(buffer.first_change());
  buffer.put(numbers);
  EXPECT_FALSE(buffer.first_change());
}

// ---- every launch ----

// An output of 16 right bytes, and what a launch does besides.
class Misbehaving : public ByteTrial {
public:
  Misbehaving(TrialMemory& memory, std::function<void(Misbehaving&, int launch)> beside)
      : memory_(memory), beside_(std::move(beside)) {
    DueBytes due{0, 0, 0, 16, {}};
    std::fill(due.bytes.begin(), due.bytes.end(), uint8_t{9});
    outputs_.push_back({"keys", {due}, {{0, 4, 0}}});
  }
  const Problem& problem() const override { return problem_; }
  const std::vector<ByteOutput>& outputs() const override { return outputs_; }
  int64_t output_bytes(size_t) const override { return 16; }
  int64_t most_instructions() const override { return 1'000'000; }
  void upload(bool) override { input().put(std::vector<int32_t>{1, 2}); }
  LaunchResult launch(const Fault*) override {
    for (int64_t word = 0; word < 4; ++word) put_word(output(), word, 0x09090909);
    beside_(*this, ++launches_);
    return {};
  }
  std::optional<ChangedInput> changed_input() const override {
    return first_changed({{"slots", memory_.buffers[0]}});
  }
  InputBuffer& input() { return memory_.buffers[0]; }
  GuardedWords& output() { return memory_.outputs[0]; }

private:
  TrialMemory& memory_;
  std::function<void(Misbehaving&, int)> beside_;
  Problem problem_;
  std::vector<ByteOutput> outputs_;
  int launches_ = 0;
};

Verdict run_with(std::function<void(Misbehaving&, int launch)> beside) {
  TrialMemory memory;
  Misbehaving trial(memory, std::move(beside));
  return run_trial(memory, trial, nullptr, {});
}

TEST(EveryLaunch, IsLookedAt) {
  EXPECT_EQ(run_with([](Misbehaving&, int) {}).verdict, VerdictClass::ok);
  for (const int bad : {1, 2}) {
    const Verdict guard = run_with([&](Misbehaving& m, int launch) {
      if (launch == bad) put_word(m.output(), -1, 5);
    });
    EXPECT_EQ(guard.verdict, VerdictClass::guard) << guard.message;
    EXPECT_EQ(guard.message.ends_with("(in a launch after the first)"), bad == 2) << guard.message;
    const Verdict touched = run_with([&](Misbehaving& m, int launch) {
      const uint8_t byte = 77;
      if (launch == bad)
        require(hipMemcpy(m.input().data() + 4, &byte, 1, hipMemcpyHostToDevice), "hipMemcpy");
    });
    EXPECT_EQ(touched.verdict, VerdictClass::touched) << touched.message;
    EXPECT_EQ(touched.signature.text(), "touched / input changed / slots") << bad;
  }
}

} // namespace
} // namespace mqalab
