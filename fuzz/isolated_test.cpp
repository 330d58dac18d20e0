// Checks in a child that may die: the verdict arrives whole, and the next check finds a new child.
#include "fuzz/generator.hpp"
#include "fuzz/isolated.hpp"
#include "fuzz/verdict.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <unistd.h>

namespace mqalab {
namespace {

std::string program() { return MQALAB_PROGRAM; }

// A program that answers with `body` instead of an mqalab.
class Stand {
public:
  explicit Stand(const std::string& body) {
    char name[] = "/tmp/mqalab-stand-XXXXXX";
    close(mkstemp(name));
    path_ = name;
    std::ofstream(path_) << "#!/bin/sh\n" << body << "\n";
    std::filesystem::permissions(path_, std::filesystem::perms::owner_all);
  }
  ~Stand() { std::filesystem::remove(path_); }
  const std::string& path() const { return path_; }

private:
  std::string path_;
};

TEST(IsolatedOracle, GivesTheVerdictOfTheOracleItself) {
  IsolatedOracle apart(program());
  const Fault* fault = find_fault("scale_twice");
  ASSERT_NE(fault, nullptr);
  const Case c = case_from_json(fault->witness, "witness");
  const Verdict there = apart.check(c, fault), here = Oracle().check(c, fault);
  EXPECT_EQ(to_json(there), to_json(here));
  EXPECT_EQ(apart.check(Case{}, nullptr).verdict, VerdictClass::ok);
}

// JSON would refuse these on the way, and the child die of it: the refusal is the library's to give.
TEST(IsolatedOracle, ACallThatTheLibraryMustRefuseArrives) {
  IsolatedOracle apart(program());
  Oracle here;
  Random random(1);
  int refused = 0;
  for (int i = 0; i < 60; ++i) {
    const Case c = generate_illegal_case(random, static_cast<Operation>(i % 10));
    const Verdict v = apart.check(c, nullptr);
    EXPECT_EQ(to_json(v), to_json(here.check(c, nullptr))) << v.message;
    refused += v.verdict == VerdictClass::rejected;
  }
  EXPECT_GE(refused, 50);
}

TEST(IsolatedOracle, NamesTheSignalOfAChildThatDiedAndStartsAnother) {
  const Stand stand("read line; kill -9 $$");
  IsolatedOracle apart(stand.path());
  for (int i = 0; i < 2; ++i) {
    const Verdict v = apart.check(Case{}, nullptr);
    EXPECT_EQ(v.verdict, VerdictClass::fault);
    EXPECT_EQ(v.message, "fault: the checking process died of signal 9");
  }
}

TEST(IsolatedOracle, KillsAChildThatDoesNotAnswer) {
  const Stand stand("read line; exec sleep 60");
  IsolatedOracle apart(stand.path(), 1);
  EXPECT_EQ(apart.check(Case{}, nullptr).verdict, VerdictClass::hang);
}

TEST(IsolatedOracle, AChildThatCannotStartIsNoFinding) {
  IsolatedOracle apart("/nonexistent/mqalab");
  EXPECT_EQ(apart.check(Case{}, nullptr).verdict, VerdictClass::none);
}

TEST(Verdict, ReadsBackWhatItWrote) {
  Verdict v;
  v.verdict = VerdictClass::value, v.message = "value: a \"quoted\" word";
  v.signature = {v.verdict, "ratio 2", "all"};
  v.first_bad = {{3, 4, 2.5f, 5.0, 0.25, "note"}, {0, 1, -INFINITY, INFINITY, std::nan(""), ""}};
  v.cells_checked = 9, v.cells_bad = 2, v.worst_error_ratio = INFINITY;
  v.launched.config = {MQA_VARIANT_DIRECT, 64, 3, 4};
  EXPECT_EQ(to_json(verdict_from_json(to_json(v))), to_json(v));
  EXPECT_THROW(verdict_from_json("{}"), std::runtime_error);
  EXPECT_THROW(verdict_from_json("no json"), std::runtime_error);
}

} // namespace
} // namespace mqalab
