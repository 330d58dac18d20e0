// See db_report.hpp.
#include "tune/db_report.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace mqalab {
namespace {

std::string device_text(const DeviceId& d) { return d.key + (d.simulated ? " (simulated)" : ""); }

std::map<std::string, int64_t> by_status(const Content& c) {
  std::map<std::string, int64_t> counts;
  for (const auto& [uuid, trial] : c.trials) ++counts[trial.status];
  return counts;
}

bool apart(const Best& a, const Best& b) { return a.ratio_low > b.ratio_high || b.ratio_low > a.ratio_high; }

// The words of nvbench for a comparison.
const char* compared(const Best& a, const Best& b) {
  if (a.config == b.config) return "SAME";
  if (!apart(a, b)) return "AMBIGUOUS";
  return b.ratio < a.ratio ? "FAST" : "SLOW";
}

} // namespace

std::string info_text(const Content& c, const std::string& path) {
  std::string out = fmt::format(
      "{}: generation {}, {} problems, {} trials, {} certificates, {} quarantines\n", path, c.generation,
      c.problems.size(), c.trials.size(), c.certificates.size(), c.quarantines.size());
  for (const auto& [status, count] : by_status(c)) out += fmt::format("  {:<6} trials {}\n", count, status);
  for (const auto& [id, device] : c.devices)
    out += fmt::format("  device  {}, {} CUs\n", device_text(id), device.compute_units);
  for (const auto& [hash, build] : c.builds)
    out += fmt::format("  kernels {}, library {}, {}\n", hash, build.library, build.compiler);
  for (const auto& [key, best] : c.best)
    out +=
        fmt::format("{}\n  on {} with kernels {}\n  {}  {:.2f} us, {:.2f} of the default's {:.2f} us ({})\n",
                    key.problem, device_text(key.device), key.kernel_hash, best.config, best.microseconds,
                    best.ratio, best.default_microseconds, best.origin);
  return out;
}

std::string info_json(const Content& c, const std::string& path) {
  nlohmann::json j = {{"path", path},
                      {"generation", c.generation},
                      {"problems", c.problems.size()},
                      {"trials", by_status(c)},
                      {"certificates", c.certificates.size()},
                      {"quarantines", c.quarantines.size()},
                      {"best", nlohmann::json::array()}};
  for (const auto& [key, best] : c.best)
    j["best"].push_back({{"problem", key.problem},
                         {"device", key.device.key},
                         {"simulated", key.device.simulated},
                         {"kernels", key.kernel_hash},
                         {"policy", key.policy},
                         {"config", best.config},
                         {"ratio", best.ratio},
                         {"microseconds", best.microseconds},
                         {"origin", best.origin}});
  return j.dump(2) + "\n";
}

std::string quarantine_text(const Content& c) {
  std::string out;
  const auto any = [](const std::string& text) { return text.empty() ? std::string("any") : text; };
  for (const auto& [key, q] : c.quarantines)
    out += fmt::format("{}\n  problem {}, device {}, kernels {}\n  {}: {}\n", key.config, any(key.problem),
                       any(key.device), any(key.kernel_hash), key.kind, q.evidence);
  return out.empty() ? "nothing is quarantined\n" : out;
}

std::string diff_text(const Content& a, const Content& b) {
  std::string out;
  for (const auto& [key, best] : a.best)
    if (!b.best.contains(key)) out += fmt::format("{}: only in the first: {}\n", key.problem, best.config);
  for (const auto& [key, best] : b.best) {
    const auto held = a.best.find(key);
    if (held == a.best.end())
      out += fmt::format("{}: only in the second: {}\n", key.problem, best.config);
    else if (held->second.config != best.config)
      out += fmt::format("{}: {}: {} ({:.2f} of the default) -> {} ({:.2f})\n", key.problem,
                         compared(held->second, best), held->second.config, held->second.ratio, best.config,
                         best.ratio);
  }
  for (const auto& [key, q] : b.quarantines)
    if (!a.quarantines.contains(key))
      out += fmt::format("quarantined in the second only: {} ({})\n", key.config, q.evidence);
  for (const auto& [key, q] : a.quarantines)
    if (!b.quarantines.contains(key))
      out += fmt::format("quarantined in the first only: {} ({})\n", key.config, q.evidence);
  return out;
}

std::vector<std::string> conflicts(const Content& a, const Content& b) {
  std::vector<std::string> lines;
  for (const auto& [key, best] : b.best) {
    const auto held = a.best.find(key);
    if (held != a.best.end() && held->second.config != best.config && apart(held->second, best))
      lines.push_back(
          fmt::format("{}: the files disagree: {} ({:.2f}) and {} ({:.2f}); decided from all samples",
                      key.problem, held->second.config, held->second.ratio, best.config, best.ratio));
  }
  return lines;
}

} // namespace mqalab
