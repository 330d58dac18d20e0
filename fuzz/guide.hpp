// What libFuzzer is guided by, beside the host's compares: pairs of feature classes, edges of the simulated
// machine code; and, unless it is to be guided by none, the numbers of that code's compares (dictionary.hpp).
// Workers of one campaign differ in it: a corpus of pairs is large and dilutes the few inputs that are about
// to get deeper into the kernel, so every other worker sees the edges only.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace mqalab {

enum class Guide : uint8_t { both, edges, pairs, none };
inline constexpr std::array<std::string_view, 4> kGuideNames{"both", "edges", "pairs", "none"};

constexpr std::string_view name(Guide guide) { return kGuideNames[static_cast<size_t>(guide)]; }
constexpr std::optional<Guide> guide_named(std::string_view name) {
  for (size_t i = 0; i < kGuideNames.size(); ++i)
    if (kGuideNames[i] == name) return static_cast<Guide>(i);
  return std::nullopt;
}
constexpr bool by_edges(Guide guide) { return guide == Guide::both || guide == Guide::edges; }
constexpr bool by_pairs(Guide guide) { return guide == Guide::both || guide == Guide::pairs; }

} // namespace mqalab
