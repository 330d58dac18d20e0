// The axes along which a law is sought: how to read one from a case, and the case with another value on it.
#pragma once
#include "fuzz/case.hpp"

#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace mqalab {

struct LawAxis {
  std::string_view name;
  int64_t (*get)(const Case&);
  std::optional<Case> (*with)(const Case&, int64_t value); // nothing when no legal case has that value
  std::vector<int64_t> (*samples)(const Case&); // ascending; what a residue or threshold is read from
};
std::span<const LawAxis> sampled_axes();

// Two axes whose product, times unit_bytes, is an address: (index, stride).
struct ProductAxes {
  LawAxis index, stride;
  int64_t unit_bytes;
};
std::span<const ProductAxes> product_axes();

} // namespace mqalab
