// The questions.  All of them set a pair of products 2^base and -2^base that cancel, or an accumulator and a
// product, beside one small term, and look at what is left of it.
#include "fuzz/probe.hpp"

#include "refimpl/fp8.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>

namespace mqalab {
namespace {

// Bytes whose products tell the flavours apart, and the flavours' disagreement about -0.
constexpr uint8_t kOneOrHalf = 0x38, kNegativeZero = 0x80;
constexpr int kPairGap = 4;                  // both of one parity, and in one half of k % 4
constexpr int kSameHalf = 8, kOtherHalf = 5; // distances from the pair: even, odd
constexpr double kMostOfUnit = 1.75;         // its part below the unit is 3/4: tells nearest from a cut

uint16_t half_of(double value) { // exact: powers of two and 1.75 times one, subnormals too
  if (value == 0) return 0;
  const auto sign = static_cast<uint16_t>(value < 0 ? 0x8000 : 0);
  const double magnitude = std::abs(value);
  const int exponent = std::max(std::ilogb(magnitude), -14);
  const auto mantissa = static_cast<int>(std::ldexp(magnitude, 10 - exponent)); // 1024 is the leading bit
  return static_cast<uint16_t>(sign |
                               (mantissa >= 1024 ? ((exponent + 15) << 10) + mantissa - 1024 : mantissa));
}

class Questions {
public:
  Questions(const UnitShape& shape, const FusedUnit& unit) : shape_(shape), unit_(unit) {}

  UnitAnswers run() {
    if (shape_.operands == Operands::fp8) ask_flavour();
    // 2^8 * 2^8, or of FNUZ, whose largest is 240, 2^7 * 2^7.
    base_ = fnuz() ? 14 : 16;
    ask_bits();
    ask_cuts();
    ask_order();
    ask_subnormals();
    return a_;
  }

private:
  bool fnuz() const { return a_.flavour == MQA_E4M3FNUZ; }

  void put(FusedDot& dot, int k, double a, double b) const { put(dot.a, k, a), put(dot.b, k, b); }
  void put(uint32_t (&words)[8], int k, double value) const {
    if (shape_.operands == Operands::half)
      words[k / 2] |= uint32_t{half_of(value)} << 16 * (k % 2);
    else
      words[k / 4] |= uint32_t{encode_fp8(*a_.flavour, value)} << 8 * (k % 4);
  }
  // The product factor * 2^exponent at k.
  void put_product(FusedDot& dot, int k, int exponent, double factor = 1) const {
    const int half = exponent >= 0 ? (exponent + 1) / 2 : exponent / 2; // the larger of two near halves
    put(dot, k, std::ldexp(factor, half), std::ldexp(1.0, exponent - half));
  }
  FusedDot pair_at(int k) const {
    FusedDot dot;
    put_product(dot, k, base_), put_product(dot, k + kPairGap, base_, -1);
    return dot;
  }
  float one(const FusedDot& dot) const { return unit_(std::span(&dot, 1)).at(0); }

  void ask_flavour() {
    FusedDot plain, negative_zero;
    plain.a[0] = plain.b[0] = negative_zero.b[0] = kOneOrHalf;
    negative_zero.a[0] = kNegativeZero;
    const float square = one(plain);
    if (square == 1.0f)
      a_.flavour = MQA_E4M3FN;
    else if (square == 0.25f)
      a_.flavour = MQA_E4M3FNUZ;
    else
      throw std::runtime_error(
          fmt::format("the byte 0x38 times itself gives {}; known: 1 (e4m3fn), 0.25 (e4m3fnuz)", square));
    a_.negative_zero_is_nan = std::isnan(one(negative_zero));
  }

  // The largest number of bits for which the sum of `dot(bits)` is not zero.
  template <class Make> int most_bits(Make dot) const {
    std::vector<FusedDot> dots;
    for (int bits = 1; bits <= kMostBits; ++bits) dots.push_back(dot(bits));
    const std::vector<float> sums = unit_(dots);
    int most = 0;
    for (int bits = 1; bits <= kMostBits; ++bits)
      if (sums.at(static_cast<size_t>(bits - 1)) != 0) most = bits;
    return most;
  }
  void ask_bits() {
    a_.product_bits = most_bits([&](int bits) {
      FusedDot dot = pair_at(0);
      put_product(dot, kSameHalf, base_ - bits);
      return dot;
    });
    a_.beside_accumulator_bits = most_bits([&](int bits) {
      FusedDot dot;
      dot.c = std::ldexp(1.0f, base_);
      put_product(dot, 0, base_, -1), put_product(dot, kSameHalf, base_ - bits);
      return dot;
    });
    a_.accumulator_bits = most_bits([&](int bits) {
      FusedDot dot = pair_at(0);
      dot.c = std::ldexp(1.0f, base_ - bits);
      return dot;
    });
  }

  // What is left of +-1.75 units, counted in units.
  template <class Make> Cut cut(int unit_exponent, Make dot) const {
    const double up = std::ldexp(one(dot(kMostOfUnit)), -unit_exponent),
                 down = std::ldexp(one(dot(-kMostOfUnit)), -unit_exponent);
    const auto left = [&](double plus, double minus) { return up == plus && down == minus; };
    return left(kMostOfUnit, -kMostOfUnit) ? Cut::nothing_lost
           : left(1, -1)                   ? Cut::truncated
           : left(1, -2)                   ? Cut::floored
           : left(2, -2)                   ? Cut::nearest
                                           : Cut::other;
  }
  void ask_cuts() {
    // Where nothing is ever lost the 25th bit is asked for: 1.75 of the smallest product has no FP8.
    const int product = base_ - std::min(a_.product_bits, 25);
    const int accumulator = base_ - std::min(a_.accumulator_bits, 25);
    const auto beside_pair = [&](int k) {
      return [this, k, product](double units) {
        FusedDot dot = pair_at(0);
        put_product(dot, k, product, units);
        return dot;
      };
    };
    a_.product = cut(product, beside_pair(kSameHalf));
    a_.other_half = cut(product, beside_pair(kOtherHalf));
    a_.accumulator = cut(accumulator, [&](double units) {
      FusedDot dot = pair_at(0);
      dot.c = static_cast<float>(std::ldexp(units, accumulator));
      return dot;
    });
    a_.sum = cut_of_sum();
  }
  // 2^base and 7/8 of its last bit, either side of zero.
  Cut cut_of_sum() const {
    const auto last_bits = [&](double sign) {
      FusedDot dot;
      dot.c = static_cast<float>(std::ldexp(sign, base_));
      put_product(dot, 0, base_ - 24, sign * kMostOfUnit);
      return std::ldexp(static_cast<double>(one(dot)) - dot.c, 23 - base_);
    };
    const double up = last_bits(1), down = last_bits(-1);
    return up == 0 && down == 0    ? Cut::truncated
           : up == 0 && down == -1 ? Cut::floored
           : up == 1 && down == -1 ? Cut::nearest
                                   : Cut::other;
  }

  // Where a product with one bit too few is lost.
  uint32_t lost_beside(int pair) const {
    std::vector<FusedDot> dots;
    for (int k = 0; k < shape_.terms; ++k) {
      dots.push_back(pair_at(pair));
      if (k != pair && k != pair + kPairGap)
        put_product(dots.back(), k, base_ - std::min(a_.product_bits + 1, kMostBits));
    }
    const std::vector<float> sums = unit_(dots);
    uint32_t lost = 0;
    for (int k = 0; k < shape_.terms; ++k)
      if (k != pair && k != pair + kPairGap && sums.at(static_cast<size_t>(k)) == 0) lost |= 1u << k;
    return lost;
  }
  void ask_order() {
    a_.fused_with_first = lost_beside(0);
    a_.fused_with_last = lost_beside(shape_.terms - 1 - kPairGap);
  }

  void ask_subnormals() {
    FusedDot dot;
    const double smallest = shape_.operands == Operands::half ? 0x1p-24 : fnuz() ? 0x1p-10 : 0x1p-9;
    put(dot, 0, smallest, smallest);
    a_.subnormals_kept = one(dot) == static_cast<float>(smallest * smallest);
  }

  const UnitShape& shape_;
  const FusedUnit& unit_;
  int base_ = 0;
  UnitAnswers a_;
};

// What a class answers; the flavour is asked for the record only.
struct Known {
  Accumulation accumulation;
  int terms;
  UnitAnswers answers;
};
constexpr uint32_t kAll = ~0u, kPairFirst = 1u | 1u << kPairGap;
constexpr uint32_t last_pair(int terms) { return 1u << (terms - 1) | 1u << (terms - 1 - kPairGap); }

constexpr UnitAnswers answers(int product_bits, int beside_accumulator, int accumulator_bits, Cut product,
                              Cut other_half, Cut accumulator, Cut sum, uint32_t fused_with_first,
                              uint32_t fused_with_last) {
  UnitAnswers a;
  a.product_bits = product_bits, a.beside_accumulator_bits = beside_accumulator;
  a.accumulator_bits = accumulator_bits;
  a.product = product, a.other_half = other_half, a.accumulator = accumulator, a.sum = sum;
  a.fused_with_first = fused_with_first, a.fused_with_last = fused_with_last;
  a.subnormals_kept = true;
  return a;
}

using enum Cut;
// Consecutive 16 in two halves, even and odd; the halves and the accumulator floored.
constexpr UnitAnswers kCdna3 =
    answers(24, 24, 24, truncated, floored, floored, nearest, 0xffffu & ~kPairFirst, kAll & ~last_pair(32));
constexpr UnitAnswers kWgmma = answers(13, 13, 13, truncated, truncated, truncated, truncated,
                                       kAll & ~kPairFirst, kAll & ~last_pair(32));
constexpr UnitAnswers kHmma16 = answers(25, 25, 25, truncated, truncated, truncated, truncated,
                                        0xffffu & ~kPairFirst, 0xffffu & ~last_pair(16));
// One after the other in fp32: a term is lost between the two of a pair, or before them.
constexpr UnitAnswers kFma = answers(kMostBits, kMostBits, 23, nothing_lost, nothing_lost, nearest, nearest,
                                     0xeu, kAll & ~last_pair(32));
// One sum without loss, rounded once: no more roundings than fp32_fma has.
constexpr UnitAnswers kExactSum =
    answers(kMostBits, kMostBits, kMostBits, nothing_lost, nothing_lost, nothing_lost, nearest, 0, 0);
// Two sums of 16, k % 4 in {0, 1} first, and then the accumulator in fp32.
constexpr UnitAnswers kMmaFp8Sm90 = answers(25, 25, kMostBits, truncated, truncated, nothing_lost, nearest,
                                            0x33333333u & ~kPairFirst, kAll & ~last_pair(32));
constexpr Known kKnown[] = {
    {Accumulation::cdna3_fp8, 32, kCdna3}, {Accumulation::wgmma_fp8, 32, kWgmma},
    {Accumulation::hmma16, 16, kHmma16},   {Accumulation::mma_fp8_sm90, 32, kMmaFp8Sm90},
    {Accumulation::fp32_fma, 32, kFma},    {Accumulation::fp32_fma, 32, kExactSum}};

} // namespace

std::string_view name(Cut cut) {
  constexpr std::array<std::string_view, 5> kNames{"nothing lost", "truncated", "floored", "nearest",
                                                   "other"};
  return kNames[static_cast<size_t>(cut)];
}

std::string text(const UnitAnswers& a) {
  return fmt::format(
      "bits kept of a product {}, beside the accumulator {}, of the accumulator {}; product {}, "
      "in the other half {}, accumulator {}, sum {}; fused with the first {:08x}, with the last "
      "{:08x}; subnormals {}; operands {}{}",
      a.product_bits, a.beside_accumulator_bits, a.accumulator_bits, name(a.product), name(a.other_half),
      name(a.accumulator), name(a.sum), a.fused_with_first, a.fused_with_last,
      a.subnormals_kept ? "kept" : "flushed",
      !a.flavour                ? "fp16"
      : a.flavour == MQA_E4M3FN ? "e4m3fn"
                                : "e4m3fnuz",
      !a.flavour               ? ""
      : a.negative_zero_is_nan ? ", 0x80 is NaN"
                               : ", 0x80 is 0");
}

UnitAnswers ask(const UnitShape& shape, const FusedUnit& unit) { return Questions(shape, unit).run(); }

UnitClass classify(const UnitShape& shape, const UnitAnswers& asked) {
  UnitAnswers bare = asked;
  bare.flavour.reset(), bare.negative_zero_is_nan = false;
  for (const Known& known : kKnown)
    if (shape.terms == known.terms && bare == known.answers) return {known.accumulation, ""};
  return {Accumulation::loosest, "no known class answers so"};
}

} // namespace mqalab
