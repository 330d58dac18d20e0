// Two searches.  Addresses: bisect the stride at which the failure begins, for several indices, and see
// whether one constant bounds every product.  Shapes: sample each axis, and read a threshold or a residue
// from what fails.
#include "fuzz/law.hpp"
#include "fuzz/fields.hpp"
#include "fuzz/law_axes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

namespace mqalab {
namespace {

constexpr int64_t kFarStride = int64_t{1} << 33;

std::string as_power(int64_t value) {
  for (int power = 10; power < 63; ++power)
    if (value == int64_t{1} << power) return fmt::format("2^{}", power);
  return fmt::format("{}", value);
}

class Laboratory {
public:
  Laboratory(const Observe& observe, const MinimizeOptions& options) : observe_(observe), options_(options) {}

  Shows look(const Case& c) {
    const auto [entry, fresh] = memo_.try_emplace(encode(c), Shows::neither);
    if (!fresh) return entry->second;
    if (checks >= options_.most_checks || (options_.stop && options_.stop())) return Shows::neither;
    ++checks;
    return entry->second = observe_(c);
  }
  bool fails(const Case& c) { return look(c) == Shows::failure; }
  // Smallest failing value above a passing one, both ends known: a plain bisection.
  Boundary bisect(const Case& c, const LawAxis& axis, int64_t passing, int64_t failing, int64_t step) {
    while (failing - passing > step) {
      const int64_t middle = passing + (failing - passing) / step / 2 * step;
      const auto candidate = axis.with(c, middle);
      (candidate && fails(*candidate) ? failing : passing) = middle;
    }
    return {std::string(axis.name), passing, failing};
  }

  int64_t checks = 0;

private:
  const Observe& observe_;
  const MinimizeOptions& options_;
  std::map<std::vector<uint8_t>, Shows> memo_;
};

// ---- products ----

// Where the failure begins along the stride, with everything else as in `c`.
std::optional<Boundary> stride_boundary(Laboratory& lab, const Case& c, const ProductAxes& axes) {
  const int64_t step = axes.stride.name == "kv_block_stride_bytes" ? 4 : 1;
  const auto dense = axes.stride.with(c, 0);
  if (!dense || lab.look(*dense) != Shows::nothing_wrong) return std::nullopt;
  const int64_t passing = axes.stride.get(*dense);
  for (int64_t failing = std::max(axes.stride.get(c) / step * step, passing + step); failing <= kFarStride;
       failing *= 2) {
    const auto candidate = axes.stride.with(c, failing);
    if (candidate && lab.fails(*candidate)) return lab.bisect(c, axes.stride, passing, failing, step);
  }
  return std::nullopt;
}

// The roundest number in (low, high]: the one with most trailing zero bits.
int64_t roundest(int64_t low, int64_t high) {
  for (int power = 62; power >= 0; --power) {
    const int64_t unit = int64_t{1} << power;
    if (high / unit * unit > low) return high / unit * unit;
  }
  return high;
}

std::string product_law(Laboratory& lab, const Case& c, const ProductAxes& axes,
                        std::vector<Boundary>& boundaries) {
  int64_t above = 0, up_to = INT64_MAX; // the constant lies in (above, up_to]
  int agreeing = 0;
  std::optional<Boundary> first;
  std::set<int64_t> indices{axes.index.get(c), 1, 2, 3, 5};
  indices.erase(0);
  for (const int64_t index : indices) {
    const auto other = axes.index.with(c, index);
    const auto boundary = other ? stride_boundary(lab, *other, axes) : std::nullopt;
    if (!boundary) continue;
    if (!first) first = boundary;
    above = std::max(above, index * boundary->last_passing * axes.unit_bytes);
    up_to = std::min(up_to, index * boundary->first_failing * axes.unit_bytes);
    ++agreeing;
  }
  if (agreeing < 2 || above >= up_to || !first) return "";
  boundaries.push_back(*first);
  const std::string unit = axes.unit_bytes == 1 ? "" : fmt::format(" * {}", axes.unit_bytes);
  return fmt::format("{} * {}{} >= {}", axes.index.name, axes.stride.name, unit,
                     as_power(roundest(above, up_to)));
}

// ---- shapes ----

struct Sample {
  int64_t value;
  bool fails;
};

std::vector<Sample> sample(Laboratory& lab, const Case& c, const LawAxis& axis) {
  std::vector<Sample> result;
  for (const int64_t value : axis.samples(c))
    if (const auto candidate = axis.with(c, value))
      if (const Shows shows = lab.look(*candidate); shows != Shows::neither)
        result.push_back({value, shows == Shows::failure});
  return result;
}

std::optional<Boundary> first_boundary(const LawAxis& axis, const std::vector<Sample>& samples) {
  for (size_t i = 1; i < samples.size(); ++i)
    if (!samples[i - 1].fails && samples[i].fails)
      return Boundary{std::string(axis.name), samples[i - 1].value, samples[i].value};
  return std::nullopt;
}

std::string threshold_law(const LawAxis& axis, const std::vector<Sample>& samples) {
  const auto first = std::find_if(samples.begin(), samples.end(), [](const Sample& s) { return s.fails; });
  const auto pass = std::find_if(samples.begin(), samples.end(), [](const Sample& s) { return !s.fails; });
  const bool rises = std::all_of(first, samples.end(), [](const Sample& s) { return s.fails; });
  if (rises && axis.name == "context" && first->value == 1)
    return ""; // without a token there is nothing to be wrong
  if (rises) return fmt::format("{} >= {}", axis.name, first->value);
  const bool falls = std::none_of(pass, samples.end(), [](const Sample& s) { return s.fails; });
  if (falls) return fmt::format("{} <= {}", axis.name, std::prev(pass)->value);
  return "";
}

// Does value mod m alone decide?  The smallest values may be exempt (a context below one chunk has no rest).
std::string residue_law(const LawAxis& axis, const std::vector<Sample>& samples, int64_t modulus,
                        std::string_view modulus_name) {
  const auto first = std::find_if(samples.begin(), samples.end(), [](const Sample& s) { return s.fails; });
  std::map<int64_t, bool> by_residue;
  int repeats = 0;
  for (auto s = first; s != samples.end(); ++s) {
    const auto [entry, fresh] = by_residue.try_emplace(s->value % modulus, s->fails);
    if (entry->second != s->fails) return "";
    repeats += !fresh;
  }
  std::vector<int64_t> failing, passing;
  for (const auto& [residue, fails] : by_residue) (fails ? failing : passing).push_back(residue);
  if (repeats < 2 || failing.empty() || passing.empty()) return "";
  const std::string from =
      first == samples.begin() || first->value < modulus ? "" : fmt::format(" from {} on", first->value);
  if (failing.size() <= 2)
    return fmt::format("{} mod {} in {{{}}}{}", axis.name, modulus_name, fmt::join(failing, ", "), from);
  if (passing.size() <= 2)
    return fmt::format("{} mod {} not in {{{}}}{}", axis.name, modulus_name, fmt::join(passing, ", "), from);
  return "";
}

std::string exact_law(const LawAxis& axis, const std::vector<Sample>& samples) {
  std::vector<int64_t> failing;
  for (const Sample& s : samples)
    if (s.fails) failing.push_back(s.value);
  return failing.size() <= 3 ? fmt::format("{} in {{{}}}", axis.name, fmt::join(failing, ", ")) : "";
}

std::string shape_law(const Case& c, const LawAxis& axis, const std::vector<Sample>& samples) {
  const bool any_pass = std::any_of(samples.begin(), samples.end(), [](const Sample& s) { return !s.fails; });
  const bool any_fail = std::any_of(samples.begin(), samples.end(), [](const Sample& s) { return s.fails; });
  if (!any_pass || !any_fail) return ""; // the axis does not matter, or cannot be moved
  if (std::string law = threshold_law(axis, samples); !law.empty()) return law;
  for (const int64_t modulus : {2, 3, 4, 8, 16, 32, 64})
    if (std::string law = residue_law(axis, samples, modulus, std::to_string(modulus)); !law.empty())
      return law;
  if (axis.name == "context") {
    const std::string chunk = fmt::format("chunk_k ({})", chunk_tokens(c)),
                      block = fmt::format("block_size ({})", c.shape.block_size);
    if (std::string law = residue_law(axis, samples, chunk_tokens(c), chunk); !law.empty()) return law;
    if (std::string law = residue_law(axis, samples, c.shape.block_size, block); !law.empty()) return law;
  }
  return exact_law(axis, samples);
}

} // namespace

Observe observing(std::function<Verdict(const Case&)> check, Signature failure) {
  return [check = std::move(check), failure = std::move(failure)](const Case& c) {
    const Verdict verdict = check(c);
    if (verdict.verdict == VerdictClass::ok) return Shows::nothing_wrong;
    return same_bug(verdict.signature, failure) ? Shows::failure : Shows::neither;
  };
}

Law find_law(const Case& failing, const Observe& observe, const MinimizeOptions& options) {
  Laboratory lab(observe, options);
  Law law;
  for (const ProductAxes& axes : product_axes())
    if (law.text.empty()) law.text = product_law(lab, failing, axes, law.boundaries);
  std::vector<std::string> parts;
  if (law.text.empty())
    for (const LawAxis& axis : sampled_axes()) {
      const auto samples = sample(lab, failing, axis);
      if (const auto boundary = first_boundary(axis, samples)) law.boundaries.push_back(*boundary);
      if (std::string part = shape_law(failing, axis, samples); !part.empty()) parts.push_back(part);
    }
  if (!parts.empty()) law.text = fmt::format("{}", fmt::join(parts, " and "));
  law.checks = lab.checks;
  return law;
}

} // namespace mqalab
