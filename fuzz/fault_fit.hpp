// A planted fault is one operation's, and a kernel compiled in few instances: cases of other operations, and
// of shapes without an instance, would be refused and prove nothing.
#pragma once
#include "fuzz/case.hpp"
#include "fuzz/fault.hpp"

namespace mqalab {

// Brings a case to the operation and the instances that the fault is built for, near where it was.
void fit_instances(Case&, const Fault&);
// The same, and to a generated case's usual work.
void fit_fault(Case&, const Fault&);
// The fault's witness, read once.  Not for several threads.
const Case& witness_of(const Fault&);
// The operation that a fault is planted in: its witness's.
Operation operation_of(const Fault&);

} // namespace mqalab
