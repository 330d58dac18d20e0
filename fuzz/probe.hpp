// The device probe (oracle.md, section 4): how a unit that our kernels multiply with really adds up is
// measured on the device by one instruction and exact inputs, not taken from the device's name.  The answers
// select the class whose error bound judges the unit's results.
#pragma once
#include "refimpl/reference.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mqalab {

// One sum of products as a unit takes it: c + sum of a[k] * b[k].  Operands are FP8 bytes or halves, k
// ascending.
struct FusedDot {
  uint32_t a[8] = {}, b[8] = {};
  float c = 0;
};
enum class Operands : uint8_t { fp8, half };
struct UnitShape {
  Operands operands = Operands::fp8;
  int terms = 32; // products of one instruction
};
// The sums of many, each by one instruction.
using FusedUnit = std::function<std::vector<float>(std::span<const FusedDot>)>;

// What becomes of the part of a term below the last bit that is kept.
enum class Cut : uint8_t { nothing_lost, truncated, floored, nearest, other };
std::string_view name(Cut);

// Bits are fractional ones relative to the largest term of the sum, at most kMostBits.
inline constexpr int kMostBits = 34; // down to the product of two smallest subnormals
struct UnitAnswers {
  // 1: of a product beside two that cancel.  2: of a product beside an accumulator that one of them cancels,
  // and of the accumulator beside two products that cancel.
  int product_bits = 0, beside_accumulator_bits = 0, accumulator_bits = 0;
  // 3: of a product an even and an odd distance from the two; of the accumulator; of the sum.
  Cut product = Cut::other, other_half = Cut::other, accumulator = Cut::other, sum = Cut::other;
  // 4: bit k: a product at k that has one bit too few is lost beside the pair at 0 and 4, and beside a pair
  // at the end.
  uint32_t fused_with_first = 0, fused_with_last = 0;
  bool subnormals_kept = false;      // 5: the product of two smallest subnormals
  std::optional<mqa_fp8> flavour;    // 6: of FP8 operands
  bool negative_zero_is_nan = false; // the byte 0x80
  bool operator==(const UnitAnswers&) const = default;
};
std::string text(const UnitAnswers&);

// Throws std::runtime_error when the unit answers nothing that makes sense: its flavour is neither of the
// two.
UnitAnswers ask(const UnitShape&, const FusedUnit&);

struct UnitClass {
  Accumulation accumulation = Accumulation::loosest;
  std::string reason; // why the loosest; empty: the answers are those of a known class
};
UnitClass classify(const UnitShape&, const UnitAnswers&);

// ---- on the device
enum class Unit : uint8_t { vector_fma, mfma_fp8, mma_fp16, wgmma_fp8 };
std::string_view name(Unit);
UnitShape shape_of(Unit);
// Those of this build's kernels, and the one that a variant's dots go through.
std::span<const Unit> units();
Unit unit_of(int32_t variant);

struct UnitReport {
  Unit unit = Unit::vector_fma;
  std::optional<UnitAnswers> answers; // nothing: the probe did not run
  UnitClass found;
};
// Measured on the current device now; never throws.
UnitReport probe(Unit);
// The same, measured once per process and device.
const UnitReport& probed(Unit);

} // namespace mqalab
