// The launches behind the comparison, measured as a suite would.
#include "fuzz/oracle.hpp"
#include "fuzz/policy.hpp"
#include "fuzz/practice.hpp"
#include "fuzz/practice_run.hpp"

#include <bit>
#include <cmath>
#include <memory>

namespace mqalab {
namespace {

constexpr int64_t kMostElements = int64_t{1} << 30; // 4 GiB, three times at once

// Suites launch over torch.zeros, or over torch.empty that is zero when it is fresh.
void prefill_with_zeros(std::vector<float>& logits) {
  for (float& cell : logits)
    if (std::bit_cast<uint32_t>(cell) == kRunPrefill) cell = 0;
}

std::vector<Says> measured(Oracle& oracle, const Case& c, const Fault* fault) {
  const Problem p = resolve(c);
  if (p.output_rows() > 0 && p.output_end(p.output_rows() - 1) > kMostElements) return {};
  const auto metrics = practice_metrics();
  mqa_choice launched{};
  std::string error;
  std::vector<float> logits = oracle.run(c, fault, &launched, &error), again;
  if (error.empty()) again = oracle.run(c, fault, nullptr, &error);
  if (oracle.device_lost())
    throw std::runtime_error("the device was lost to this process by " +
                             std::string(fault ? fault->name : "the production kernel") + ": " + error +
                             "; try: the simulator's build");
  // A launch that stops is seen by every suite.
  if (!error.empty()) return std::vector<Says>(metrics.size(), Says::fails);
  prefill_with_zeros(logits), prefill_with_zeros(again);
  const std::vector<RowReference> rows = reference(p, generate(p, c.data, Poison::nan_codes),
                                                   declared_policy(launched.config.variant, fault), false);
  std::vector<Says> says;
  for (const PracticeMetric& m : metrics) {
    const double value = m.measure({p, logits, rows, again});
    says.push_back(std::isnan(value) ? Says::silent : m.passes(value) ? Says::passes : Says::fails);
  }
  return says;
}

} // namespace

PracticeBench device_bench() {
  auto oracle = std::make_shared<Oracle>();
  return {[oracle](const Case& c, const Fault* fault) { return oracle->check(c, fault); },
          [oracle](const Case& c, const Fault* fault) { return measured(*oracle, c, fault); }};
}

} // namespace mqalab
