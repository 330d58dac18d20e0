// The kernel's own thresholds, computed again on the host with plain compares.  Compiled with
// -fsanitize=fuzzer-no-link into mqalab-fuzzer: libFuzzer keeps the operands of recent compares and offers
// them to the mutator, which so finds "context 2049" or "row 512" without any instrumentation of GPU code.
#pragma once
#include "fuzz/case.hpp"

namespace mqalab {

// How many thresholds the resolved case lies beyond, for one to look at; the compares are what matters.
int thresholds_crossed(const Problem&, const mqa_config& launched);

} // namespace mqalab
