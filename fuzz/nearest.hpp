// "Did you mean": the known word nearest to one that is not known.
#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace mqalab {

// Insertions, deletions and substitutions between two words.
size_t edit_distance(std::string_view a, std::string_view b);
// The nearest of `known`; empty when none is nearer than half of the word.
std::string_view nearest(std::string_view word, std::span<const std::string_view> known);
// "a, b or c"
std::string listed(std::span<const std::string_view> words);

} // namespace mqalab
