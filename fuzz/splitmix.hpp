// SplitMix64 as a counter-based generator: the i-th number of a stream, without state.
#pragma once
#include <cstdint>

namespace mqalab {

constexpr uint64_t splitmix(uint64_t seed, uint64_t counter) {
  uint64_t z = seed * 0xd1342543de82ef95ull + (counter + 1) * 0x9e3779b97f4a7c15ull;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

} // namespace mqalab
