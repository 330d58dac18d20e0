// What a campaign must not lose: journals, findings, buckets; and what it must stop for.  No worker process
// is started here, campaign_process_test does that.
#include "fuzz/campaign.hpp"
#include "fuzz/corpus.hpp"
#include "fuzz/disk.hpp"
#include "fuzz/features.hpp"
#include "fuzz/fields.hpp"
#include "fuzz/generator.hpp"
#include "fuzz/must_pass.hpp"
#include "fuzz/triage.hpp"
#include "fuzz/worker_status.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <set>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace mqalab {
namespace {

namespace fs = std::filesystem;

struct Folder {
  fs::path path = fs::temp_directory_path() / ("mqalab-campaign-test-" + std::to_string(::getpid()));
  Folder() { fs::create_directories(path); }
  ~Folder() { fs::remove_all(path); }
};

// A judge without a kernel: rows past byte 2^31 are lost, contexts of 100 and more are wrong.
Verdict judge(const Case& c, const OracleOptions& = {}) {
  Verdict verdict;
  if (longest_context(c) >= 100) verdict.signature = {VerdictClass::value, "garbage", "all"};
  if ((rows(c) - 1) * c.strides.logits * 4 >= int64_t{1} << 31)
    verdict.signature = {VerdictClass::untouched, "untouched", "rows from"};
  verdict.verdict = verdict.signature.verdict;
  verdict.message = verdict.signature.text();
  return verdict;
}

Found lost_row(uint64_t seed) {
  Case c;
  c.shape.batch = 4;
  c.shape.context_lens = {3, 3, 3, 3};
  c.shape.max_model_len = 3;
  c.strides.logits = 1 << 28;
  c.data.seed = seed;
  return {encode(c), judge(c).signature, "untouched: found"};
}

TEST(Found, ALineGivesBackWhatWasWrittenAndATornOneNothing) {
  const Found found = lost_row(7);
  const std::string line = to_line(found);
  const auto back = from_line(line);
  ASSERT_TRUE(back);
  EXPECT_EQ(back->record, found.record);
  EXPECT_EQ(back->signature, found.signature);
  for (size_t length = 0; length < line.size(); ++length)
    EXPECT_FALSE(from_line(line.substr(0, length))) << length;
}

TEST(Triage, OneBugOneFolderMinimalWithItsLaw) {
  const Folder folder;
  Triage triage(folder.path, "", judge, judge, {});
  for (uint64_t seed = 1; seed <= 9; ++seed) triage.add(lost_row(seed));
  ASSERT_EQ(triage.buckets().size(), 1u);
  triage.settle({});
  const auto stored = read_findings(folder.path);
  ASSERT_EQ(stored.size(), 1u);
  EXPECT_EQ(stored[0].law, "row * logits_stride * 4 >= 2^31");
  EXPECT_EQ(rows(stored[0].minimal), 2);
  EXPECT_EQ(stored[0].seen, 9);
  for (const char* file :
       {"case.json", "original.json", "verdict.json", "repro.cpp", "repro.py", "replay.sh"})
    EXPECT_TRUE(fs::exists(stored[0].folder / file)) << file;
  size_t examples = 0;
  for ([[maybe_unused]] const auto& entry :
       fs::directory_iterator(folder.path / "examples" / stored[0].folder.filename()))
    ++examples;
  EXPECT_EQ(examples, 4u) << "five with the original";
}

TEST(Triage, AFindingIsOnDiskBeforeItIsMadeSmall) {
  const Folder folder;
  Triage(folder.path, "", judge, judge, {}).add(lost_row(1));
  ASSERT_EQ(read_findings(folder.path).size(), 1u);
  EXPECT_EQ(read_findings(folder.path)[0].minimized, "not yet");
}

TEST(Triage, AnotherStartGoesOnWhereTheFirstEnded) {
  const Folder folder;
  Triage(folder.path, "", judge, judge, {}).add(lost_row(1));
  Triage again(folder.path, "", judge, judge, {});
  again.add(lost_row(2));
  EXPECT_EQ(again.buckets().size(), 1u);
  EXPECT_EQ(again.unsettled(), 1);
  again.settle({});
  Triage third(folder.path, "", judge, judge, {});
  EXPECT_EQ(third.unsettled(), 0);
  EXPECT_EQ(third.buckets().begin()->second.finding.seen, 2);
}

TEST(Triage, SaysWhenAFailureDoesNotComeBack) {
  const Folder folder;
  Triage triage(folder.path, "", [](const Case&, const OracleOptions&) { return Verdict{}; }, judge, {});
  triage.add(lost_row(1));
  triage.settle({});
  ASSERT_EQ(read_findings(folder.path).size(), 1u) << "kept, and ranked down";
  EXPECT_NE(read_findings(folder.path)[0].minimized.find("did not fail again"), std::string::npos);
}

// Whoever reported the hang lived on: a process apart, whose exit code says no more than "a finding", would
// not know it again.
TEST(Triage, AHangThatWasReportedIsMadeSmallWithItsRelation) {
  const Folder folder;
  const auto hangs = [](const Case& c, const OracleOptions& options) {
    Verdict verdict;
    if (c.shape.batch >= 2 && options.relations == OracleOptions::Relations::named &&
        options.relation == Relation::under_load)
      verdict.verdict = VerdictClass::hang,
      verdict.signature = {VerdictClass::hang, "relation under_load", ""};
    return verdict;
  };
  const auto apart = [](const Case&, const OracleOptions&) { return Verdict{}; };
  Triage triage(folder.path, "", hangs, apart, {});
  triage.add({lost_row(1).record, {VerdictClass::hang, "relation under_load", ""}, "hang: found"});
  triage.settle({});
  const auto stored = read_findings(folder.path);
  ASSERT_EQ(stored.size(), 1u);
  EXPECT_EQ(stored[0].minimized, "yes");
  EXPECT_EQ(stored[0].minimal.shape.batch, 2);
}

TEST(Campaign, ACheckApartTriesTheRelationAskedFor) {
  const auto command = command_to_check("case.json", nullptr, *options_with_relations("under_load"));
  const auto at = std::ranges::find(command, "--relation");
  ASSERT_LT(at - command.begin(), std::ssize(command) - 1);
  EXPECT_EQ(at[1], "under_load");
}

TEST(Disk, AFullDiskIsSaidAndTheOldFileStays) {
  const Folder folder;
  write_whole(folder.path / "a", "old");
  rlimit limit{};
  getrlimit(RLIMIT_FSIZE, &limit);
  const rlimit small{4096, limit.rlim_max};
  std::signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &small);
  EXPECT_THROW(write_whole(folder.path / "a", std::string(100'000, 'x')), DiskError);
  setrlimit(RLIMIT_FSIZE, &limit);
  EXPECT_EQ(read_whole(folder.path / "a"), "old");
}

TEST(WorkerStatus, NamesTheCaseInFlightAfterItsProcessIsGone) {
  const Folder folder;
  const auto record = encode(generate_case(3));
  if (const pid_t child = fork(); child == 0) {
    StatusFile status(folder.path / "s", true);
    std::copy(record.begin(), record.end(), status->in_flight);
    status->in_flight_bytes = static_cast<uint32_t>(record.size());
    _exit(0);
  } else {
    int ignored = 0;
    waitpid(child, &ignored, 0);
  }
  EXPECT_EQ(StatusFile(folder.path / "s", false).in_flight(), record);
}

TEST(Features, EveryPairOfClassesHasACounterOfItsOwn) {
  std::set<int> indices;
  for (int a = 0; a < kAxes; ++a)
    for (int b = a + 1; b < kAxes; ++b)
      for (int i = 0; i < kClasses; ++i)
        for (int j = 0; j < kClasses; ++j) indices.insert(pair_index(a, i, b, j));
  EXPECT_EQ(static_cast<int>(indices.size()), kPairs);
  EXPECT_EQ(*indices.begin(), 0);
  EXPECT_EQ(*indices.rbegin(), kPairs - 1);
}

TEST(Features, GeneratedCasesReachMostPairsAndOnlyNamedClasses) {
  std::vector<uint8_t> seen(kFeatureBytes, 0);
  for (uint64_t seed = 0; seed < 4000; ++seed) {
    const Case c = generate_case(seed);
    const auto classes = classify(
        resolve(c), c,
        {MQA_VARIANT_STAGED, static_cast<int32_t>(chunk_tokens(c)), std::max(c.config.split_kv, 1), 2});
    for (int a = 0; a < kAxes; ++a)
      ASSERT_TRUE(classes[a] == kNoClass || !axes()[a].classes[classes[a]].empty())
          << axes()[a].name << " " << int{classes[a]};
    count_features(seen, classes, c, {});
  }
  const auto reached = std::count(seen.begin(), seen.begin() + kPairs, 1);
  EXPECT_GT(reached, possible_pairs() / 2);
  EXPECT_EQ(never_seen(seen, 100000).size(), static_cast<size_t>(possible_pairs() - reached));
}

TEST(Features, AnOperationIsPairedWithWhatItKnowsAndWithNothingElse) {
  std::vector<uint8_t> seen(kFeatureBytes, 0);
  Case c;
  c.op = Operation::top_k;
  const auto classes = classify(resolve(c), c, {});
  EXPECT_EQ(classes[0], static_cast<uint8_t>(Operation::top_k));
  EXPECT_EQ(std::count(classes.begin(), classes.end(), kNoClass), 7);
  count_features(seen, classes, c, {});
  EXPECT_EQ(std::count(seen.begin(), seen.end(), 1), 6 * 5 / 2);
  for (const std::string& pair : never_seen(seen, 100000))
    EXPECT_EQ(pair.find("operation top-k x heads"), std::string::npos) << pair;
}

TEST(Corpus, EveryCaseIsLegalAndReads) {
  EXPECT_GE(regression_corpus().size(), 14u);
  for (const CorpusCase& known : regression_corpus())
    EXPECT_EQ(why_illegal(case_from_json(std::string(known.json), std::string(known.name))), "")
        << known.name;
}

TEST(MustPass, EveryCaseIsLegalAndNamedOnce) {
  std::set<std::string_view> names;
  for (const MustPass& odd : must_pass_cases()) {
    EXPECT_EQ(why_illegal(case_from_json(odd.json, std::string(odd.name))), "") << odd.name;
    EXPECT_TRUE(names.insert(odd.name).second) << odd.name;
  }
  EXPECT_GE(names.size(), 40u);
}

} // namespace
} // namespace mqalab
