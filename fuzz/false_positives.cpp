#include "fuzz/false_positives.hpp"
#include "fuzz/generator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>

namespace mqalab {
namespace {

void keep_lowest(std::vector<Accusation>& kept, Accusation accusation) {
  const auto at = std::ranges::upper_bound(kept, accusation.index, {}, &Accusation::index);
  kept.insert(at, std::move(accusation));
  if (kept.size() > kMostKept) kept.pop_back();
}

class Count {
public:
  Count(const std::function<Checker()>& new_checker, const FalsePositiveOptions& options)
      : new_checker_(new_checker), options_(options),
        all_(options.cases <= options.shard
                 ? 0
                 : (options.cases - options.shard + options.shards - 1) / options.shards) {}

  FalsePositives run() {
    const auto start = std::chrono::steady_clock::now();
    if (options_.jobs <= 1) {
      work();
    } else {
      std::vector<std::jthread> jobs;
      for (int job = 0; job < options_.jobs; ++job) jobs.emplace_back([this] { work(); });
    }
    sum_.stopped = sum_.cases < all_ && !found_;
    sum_.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return std::move(sum_);
  }

private:
  void work() {
    const Checker check = new_checker_();
    while (!found_ && !(options_.stop && options_.stop())) {
      const int64_t turn = next_++;
      if (turn >= all_) return;
      const int64_t index = options_.shard + turn * options_.shards;
      const Case c = false_positive_case(options_.seed, index);
      add(index, c.data.lane, verdict_of(check, c));
    }
  }

  static Verdict verdict_of(const Checker& check, const Case& c) {
    try {
      return check(c, nullptr);
    } catch (const std::exception& e) {
      Verdict lost;
      lost.verdict = VerdictClass::none, lost.message = fmt::format("none: {}", e.what());
      return lost;
    }
  }

  void add(int64_t index, Lane lane, const Verdict& verdict) {
    const std::scoped_lock lock(mutex_);
    ++sum_.cases;
    sum_.refused += verdict.verdict == VerdictClass::rejected;
    sum_.without_verdict += verdict.verdict == VerdictClass::none;
    sum_.findings += is_finding(verdict.verdict);
    if (const std::string key = ratio_key(verdict, lane); !key.empty())
      sum_.error_ratios[key].add(verdict.worst_error_ratio, index);
    if (options_.until_first && is_finding(verdict.verdict)) found_ = true;
    if (is_finding(verdict.verdict) || verdict.verdict == VerdictClass::none)
      keep_lowest(is_finding(verdict.verdict) ? sum_.accused : sum_.lost,
                  {index, verdict.verdict, verdict.message, verdict.signature.text()});
    if (options_.progress) options_.progress(sum_.cases, all_);
  }

  const std::function<Checker()>& new_checker_;
  const FalsePositiveOptions& options_;
  const int64_t all_;
  std::atomic<int64_t> next_ = 0;
  std::atomic<bool> found_ = false; // what ends the count
  std::mutex mutex_;
  FalsePositives sum_;
};

} // namespace

Case false_positive_case(uint64_t seed, int64_t index) {
  // Two draws apart: neighbouring seeds must not share cases at shifted indices.
  Random of_seed(seed);
  Random random(of_seed.next() ^ Random(static_cast<uint64_t>(index)).next());
  return generate_any_case(random);
}

FalsePositives count_false_positives(const std::function<Checker()>& new_checker,
                                     const FalsePositiveOptions& options) {
  return Count(new_checker, options).run();
}

bool too_many_lost(const FalsePositives& f) { return 20 * f.without_verdict > f.cases; }

std::string text(const FalsePositives& f) {
  return fmt::format("{} false positives in {} cases ({} refused, {} without a verdict)", f.findings, f.cases,
                     f.refused, f.without_verdict);
}

} // namespace mqalab
