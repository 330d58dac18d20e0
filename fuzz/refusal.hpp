// The contract lane: an illegal case is handed to the library, which must refuse it in words and launch
// nothing.
#pragma once
#include "fuzz/case.hpp"
#include "fuzz/verdict.hpp"

namespace mqalab {

// rejected: refused cleanly.  fault: accepted, or refused without a message.  `why` is what is illegal.
Verdict check_refusal(const Case&, const std::string& why);

} // namespace mqalab
