// Structure-aware mutation of a case (fuzzing.md, section 3): fields to boundary values, relations between
// fields, resets to the default, crossover by field group.  Every mutant is legal, but for a few that are
// illegal on purpose and must be refused with a reason.
#pragma once
#include "fuzz/case.hpp"
#include "fuzz/dictionary.hpp"
#include "fuzz/random.hpp"

#include <functional>

namespace mqalab {

// libFuzzer's own byte mutation on one 8-byte number: this is how the operands of recent comparisons in
// thresholds.cpp reach a field.  Empty in tests.
using WordMutation = std::function<uint64_t(uint64_t)>;

Case mutate(const Case&, Random&, const WordMutation& word = {}, const Words& words = {});
// Field groups from either parent, lengths with the shape they belong to.
Case cross(const Case& mother, const Case& father, Random&);

} // namespace mqalab
