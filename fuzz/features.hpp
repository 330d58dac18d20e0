// What libFuzzer is told beside host edges.  Thirteen axes of up to ten classes describe a check, the
// operation among them; every *pair* of classes is one counter, so that libFuzzer becomes a builder of
// covering arrays.  Then log2(error/bound) per lane, the climb towards numeric trouble.  Never timing, never
// anything that changes from run to run.
#pragma once
#include "fuzz/case.hpp"
#include "fuzz/oracle.hpp"

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mqalab {

inline constexpr int kAxes = 13, kClasses = 10;
inline constexpr uint8_t kNoClass = 255; // of an axis that the operation does not know
inline constexpr int kPairs = kAxes * (kAxes - 1) / 2 * kClasses * kClasses; // 7800
inline constexpr int kErrorBuckets = 16;
inline constexpr int kFeatureBytes = kPairs + 3 * kErrorBuckets;

struct Axis {
  std::string_view name, field;                   // the field of the case that it is about
  std::array<std::string_view, kClasses> classes; // empty: not used
};
std::span<const Axis, kAxes> axes();

// The class of the case on every axis, or kNoClass.
std::array<uint8_t, kAxes> classify(const Problem&, const Case&, const mqa_config& launched);
// One-hot into `counters` (kFeatureBytes of them).
void count_features(std::span<uint8_t> counters, const std::array<uint8_t, kAxes>& classes, const Case&,
                    const Verdict&);

int pair_index(int axis_a, int class_a, int axis_b, int class_b); // axis_a < axis_b
int possible_pairs();
// "next_n 4 x block_size 256", for pairs that `seen` (kPairs of them) lacks; the first `most`.
std::vector<std::string> never_seen(std::span<const uint8_t> seen, size_t most);

} // namespace mqalab
