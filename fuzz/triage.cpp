#include "fuzz/triage.hpp"
#include "fuzz/disk.hpp"
#include "fuzz/fields.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace mqalab {
namespace {

constexpr size_t kMostExamples = 5;
constexpr std::string_view kNotYet = "not yet", kDone = "yes";

// Two buckets are one bug when their minimal cases agree in all but the data seed.
std::vector<uint8_t> identity(const Case& c) {
  Case without_seed = c;
  without_seed.data.seed = Case{}.data.seed;
  return encode(without_seed);
}

} // namespace

Triage::Triage(std::filesystem::path campaign, std::string fault, Checker check, Checker apart, Policy policy)
    : campaign_(std::move(campaign)), fault_(std::move(fault)), check_(std::move(check)),
      apart_(std::move(apart)), policy_(policy) {
  for (const StoredFinding& stored : read_findings(campaign_)) {
    Bucket bucket;
    bucket.folder = stored.folder;
    bucket.finding.minimal = stored.minimal;
    bucket.finding.original = load_case((stored.folder / "original.json").string());
    bucket.finding.verdict.verdict = stored.signature.verdict;
    bucket.finding.verdict.signature = stored.signature;
    bucket.finding.verdict.message = stored.message;
    bucket.finding.law.text = stored.law;
    bucket.finding.fault = stored.fault;
    bucket.finding.seen = stored.seen;
    bucket.finding.minimized = stored.minimized;
    bucket.settled = stored.minimized != kNotYet;
    bucket.examples.insert(encode(bucket.finding.original));
    bucket.finding.also = stored.also;
    const std::string slug = stored.folder.filename().string();
    for (const std::string& merged : stored.also) aliases_[merged] = slug;
    buckets_.emplace(slug, std::move(bucket));
  }
}

void Triage::add(const Found& found) {
  std::string slug = finding_slug(found.signature);
  if (const auto merged = aliases_.find(slug); merged != aliases_.end()) slug = merged->second;
  const auto [entry, fresh] = buckets_.try_emplace(slug);
  Bucket& bucket = entry->second;
  const bool new_example =
      bucket.examples.size() < kMostExamples && bucket.examples.insert(found.record).second;
  if (fresh) {
    bucket.folder = campaign_ / "findings" / slug;
    bucket.finding.minimal = bucket.finding.original = decode(found.record);
    bucket.finding.verdict.verdict = found.signature.verdict;
    bucket.finding.verdict.signature = found.signature;
    bucket.finding.verdict.message = found.message;
    bucket.finding.fault = fault_;
    bucket.finding.minimized = kNotYet;
    write(bucket);
  } else {
    ++bucket.finding.seen;
  }
  if (!new_example || fresh) return;
  std::filesystem::create_directories(campaign_ / "examples" / slug);
  write_whole(campaign_ / "examples" / slug / fmt::format("{}.json", bucket.examples.size()),
              to_json(decode(found.record)) + "\n");
}

int64_t Triage::unsettled() const {
  return std::count_if(buckets_.begin(), buckets_.end(),
                       [](const auto& entry) { return !entry.second.settled; });
}

void Triage::settle(const MinimizeOptions& options) {
  for (auto& [slug, bucket] : buckets_) {
    if (options.stop && options.stop()) return;
    if (!bucket.settled) settle(bucket, options);
  }
  merge_equal();
}

void Triage::settle(Bucket& bucket, const MinimizeOptions& options) {
  Finding& finding = bucket.finding;
  const Signature wanted = finding.verdict.signature;
  const OracleOptions asked = options_for(wanted);
  const auto check = [&](const Case& c) {
    const bool may_die = wanted.pattern == kProcessDied || wanted.pattern == kNoAnswer;
    return (may_die ? apart_ : check_)(c, asked);
  };
  const auto same = [&](const Case& c) { return same_bug(check(c).signature, wanted); };
  if (!same(finding.original)) {
    finding.minimized = "no: it did not fail again when it was run once more";
  } else {
    const Minimized result = minimize(finding.original, same, options);
    finding.minimal = result.smallest;
    finding.law = find_law(finding.minimal, observing(check, wanted), options);
    finding.verdict = check(finding.minimal);
    finding.minimized =
        result.finished ? std::string(kDone) : fmt::format("in part: stopped after {} checks", result.checks);
  }
  bucket.settled = true;
  write(bucket);
}

void Triage::merge_equal() {
  std::map<std::vector<uint8_t>, std::string> first;
  for (auto entry = buckets_.begin(); entry != buckets_.end();) {
    auto& [slug, bucket] = *entry;
    const bool whole = bucket.settled && bucket.finding.minimized == kDone;
    const auto [known, fresh] =
        whole ? first.try_emplace(identity(bucket.finding.minimal), slug) : std::pair(first.end(), true);
    if (fresh) {
      ++entry;
      continue;
    }
    Bucket& kept = buckets_.at(known->second);
    kept.finding.seen += bucket.finding.seen;
    kept.finding.also.push_back(slug);
    aliases_[slug] = known->second;
    write(kept);
    std::error_code ignored;
    std::filesystem::remove_all(bucket.folder, ignored);
    entry = buckets_.erase(entry);
  }
}

void Triage::write(const Bucket& bucket) {
  std::filesystem::create_directories(bucket.folder.parent_path());
  write_finding(bucket.folder, bucket.finding, policy_);
}

} // namespace mqalab
