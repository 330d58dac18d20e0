// The fuzzer's random numbers: SplitMix64 from one printed seed.  Odd on purpose: no <random> distributions,
// because their output differs between standard libraries and a seed in a report must mean the same case
// everywhere.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <span>

namespace mqalab {

class Random {
public:
  explicit Random(uint64_t seed) : state_(seed) {}

  uint64_t next() {
    uint64_t z = (state_ += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }
  // Both ends included; an empty interval gives its lower end.
  int64_t between(int64_t low, int64_t high) {
    return high <= low ? low : low + static_cast<int64_t>(next() % static_cast<uint64_t>(high - low + 1));
  }
  bool chance(int percent) { return between(0, 99) < percent; }
  // Every power of two is as likely as the next: small values are not drowned by large ones.  low >= 1.
  int64_t log_uniform(int64_t low, int64_t high) {
    int bits = 0;
    for (int64_t ratio = high / low; ratio > 1; ratio /= 2) ++bits;
    const int64_t octave = low << between(0, bits);
    const int64_t value = between(octave, 2 * octave - 1);
    return value > high ? high : value;
  }
  template <class T> T pick(std::initializer_list<T> values) {
    return values.begin()[between(0, static_cast<int64_t>(values.size()) - 1)];
  }
  template <class T> const T& pick(std::span<const T> values) {
    return values[static_cast<size_t>(between(0, static_cast<int64_t>(values.size()) - 1))];
  }

private:
  uint64_t state_;
};

} // namespace mqalab
