// The boundary of a failure, stated as a law (fuzzing.md, section 9): per axis the last passing and the first
// failing value, then the simplest of product, residue and threshold that explains every observation, such as
// "row * logits_stride * 4 >= 2^31".  That line is what a kernel engineer needs.
#pragma once
#include "fuzz/minimize.hpp"
#include "fuzz/verdict.hpp"

#include <functional>
#include <string>
#include <vector>

namespace mqalab {

struct Boundary {
  std::string axis;
  int64_t last_passing = 0, first_failing = 0;
  bool operator==(const Boundary&) const = default;
};
struct Law {
  std::string text; // "" when nothing simple explains the observations
  std::vector<Boundary> boundaries;
  int64_t checks = 0;
};

// What a case shows: the failure, its absence, or neither (another failure, or a refusal): such a case says
// nothing about where this failure begins.
enum class Shows : uint8_t { failure, nothing_wrong, neither };
using Observe = std::function<Shows(const Case&)>;
// The failure with this signature, as an oracle sees it.
Observe observing(std::function<Verdict(const Case&)> check, Signature failure);

// `observe` must show the failure for `failing`; best given a minimal case.  It should ask for the same
// verdict and pattern, not for the same region: the region moves along the axes.
Law find_law(const Case& failing, const Observe& observe, const MinimizeOptions& = {});

} // namespace mqalab
