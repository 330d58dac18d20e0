// When a logit agrees with its reference.  Classes first: NaN only with NaN, an infinity only with the same
// infinity; numbers within the bound; -0 equals +0.
#pragma once
#include <limits>

namespace mqalab {

// A reference whose class fp32 does not settle (an intermediate that may or may not overflow, Inf * something
// that may round to 0) has this bound: any result is right.
inline constexpr double kAnyResult = std::numeric_limits<double>::infinity();

// A finite reference may lie above the fp32 range: then Inf is right, and so is a finite result within the
// bound.
bool agrees(double value, double bound, float got);

// Bitwise apart from the sign of zero and NaN payloads.
bool agrees_exactly(double value, float got);

} // namespace mqalab
