// The trial of logits that are too many for the host (docs/large.md).  The whole output is prefilled, scanned
// and compared with a partner launch's on the device; the reference in double is asked in windows of sampled
// rows only.
#pragma once
#include "fuzz/trials.hpp"

namespace mqalab {

Verdict try_large(TrialMemory&, const Case&, const Fault*, const OracleOptions&);

} // namespace mqalab
