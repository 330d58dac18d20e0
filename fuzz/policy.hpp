// What the kernels of this build declare of their numbers, with the accumulation class of the matrix unit as
// a probe found it on the device (probe.hpp).
#pragma once
#include "kernels/mqa.h"
#include "refimpl/reference.hpp"

namespace mqalab {

struct Fault;

// NaN rule, scale order, and the accumulation class of the unit that the variant uses.  A planted kernel
// brings its own rule and order when it claims another (fault.hpp).
Policy declared_policy(int32_t variant = MQA_VARIANT_AUTO, const Fault* planted = nullptr);

} // namespace mqalab
