// Counter-based random numbers: a value is a pure function of a seed and of coordinates, so nothing depends
// on the order or the number of draws.  SplitMix64's finaliser, chained once per coordinate.
#pragma once
#include <cmath>
#include <cstdint>
#include <numbers>

namespace mqalab {

constexpr uint64_t mixed(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

class Stream {
public:
  constexpr Stream(uint64_t seed, uint64_t purpose)
      : key_(mixed(mixed(seed + kStep) ^ (purpose + 1) * kStep)) {}

  // The stream of one coordinate below this one.
  constexpr Stream at(uint64_t coordinate) const { return Stream(word(coordinate)); }
  constexpr uint64_t word(uint64_t index) const { return mixed(key_ + (index + 1) * kStep); }
  constexpr uint64_t below(uint64_t count, uint64_t index = 0) const { return word(index) % count; }
  // In (0, 1): never an end, so that its logarithm is finite.
  constexpr double uniform(uint64_t index = 0) const { return (double(word(index) >> 12) + 0.5) * 0x1p-52; }
  double gaussian() const {
    return std::sqrt(-2 * std::log(uniform(0))) * std::cos(2 * std::numbers::pi * uniform(1));
  }

private:
  static constexpr uint64_t kStep = 0x9e3779b97f4a7c15; // 2^64 / golden ratio, odd
  explicit constexpr Stream(uint64_t key) : key_(key) {}
  uint64_t key_;
};

} // namespace mqalab
