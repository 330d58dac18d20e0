#include "fuzz/error_ratios.hpp"

#include "fuzz/case_names.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace mqalab {

void ErrorRatios::add(double ratio, int64_t index) {
  ++cases;
  if (!(ratio > 0)) {
    ++exact;
    return;
  }
  const int halvings = static_cast<int>(std::floor(-std::log2(ratio)));
  ++power[static_cast<size_t>(std::clamp(halvings, 0, kRatioPowers - 1))];
  // Of equal ones the lowest index: the same with every number of jobs.
  if (ratio > worst || (ratio == worst && index < worst_index)) worst = ratio, worst_index = index;
}

std::string ratio_key(const Verdict& v, Lane lane) {
  if (v.verdict != VerdictClass::ok || v.accumulation.empty()) return "";
  return fmt::format("{}, {}, {}", mqa_variant_name(v.launched.config.variant), name_of(lane),
                     v.accumulation);
}

std::vector<std::string> drifts(const ErrorRatioTable& table) {
  std::vector<std::string> lines;
  for (const auto& [key, ratios] : table)
    if (ratios.worst > kDrift)
      lines.push_back(fmt::format("drift: an error of {:.2g} of its bound in case {} of {} of {}; allowed "
                                  "without a question: {}",
                                  ratios.worst, ratios.worst_index, ratios.cases, key, kDrift));
  return lines;
}

} // namespace mqalab
