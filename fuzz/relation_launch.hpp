// How the partner of a relation is launched: by itself, beside launches on another stream, or from a graph
// that was captured while its tensors held something else.
#pragma once
#include "fuzz/logits_output.hpp"
#include "fuzz/relation.hpp"

namespace mqalab {

// The partner's tensors are memory.partner_inputs afterwards, its result is in `output`, prefilled with
// `salt` before the launch that counts.  Other launches overwrite memory.inputs and memory.outputs, the first
// launch's.  Precondition: the result of that one was read.
LaunchResult launch_partner(TrialMemory&, const Partner&, const Fault*, LogitsOutput& output, uint64_t& salt);

} // namespace mqalab
