// What the kernels of this build declare of their numbers, with the accumulation class of the matrix unit as
// a probe found it on the device (probe.hpp).
#pragma once
#include "kernels/mqa.h"
#include "refimpl/reference.hpp"

namespace mqalab {

// NaN rule, scale order, and the accumulation class of the unit that the variant uses.
Policy declared_policy(int32_t variant = MQA_VARIANT_AUTO);

} // namespace mqalab
