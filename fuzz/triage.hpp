// From failing cases to findings: buckets by signature, at most five examples a bucket, one minimal case and
// one law each.  A bucket is on disk, as it was found, before any work is put into making it small.
#pragma once
#include "fuzz/finding.hpp"
#include "fuzz/found.hpp"
#include "fuzz/oracle.hpp"

#include <functional>
#include <map>
#include <set>

namespace mqalab {

// Patterns of findings whose case ended its process, or kept it: they must not be run again in this one.
inline constexpr std::string_view kProcessDied = "the process died", kNoAnswer = "no answer";

struct Bucket {
  std::filesystem::path folder;
  Finding finding;
  std::set<std::vector<uint8_t>> examples;
  bool settled = false; // minimised, or tried
};

class Triage {
public:
  using Checker = std::function<Verdict(const Case&, const OracleOptions&)>; // never throws for a legal case
  // Takes up the findings that the folder already holds.
  // `apart` checks in a process of its own, which may die.
  Triage(std::filesystem::path campaign, std::string fault, Checker check, Checker apart, Policy);

  void add(const Found&);
  // Minimises and states the law of every bucket that is not settled; stops when told to, keeping the best so
  // far.
  void settle(const MinimizeOptions&);
  const std::map<std::string, Bucket>& buckets() const { return buckets_; }
  int64_t unsettled() const;

private:
  void settle(Bucket&, const MinimizeOptions&);
  void merge_equal();
  void write(const Bucket&);

  std::filesystem::path campaign_;
  std::string fault_;
  Checker check_, apart_;
  Policy policy_;
  std::map<std::string, Bucket> buckets_;      // by slug
  std::map<std::string, std::string> aliases_; // slug of a merged bucket -> slug of the one that took it in
};

} // namespace mqalab
