// Makes a case legal by the smallest change, and affordable by shrinking its longest axis.  Mutants are wild;
// what reaches the oracle is not, unless the mutator wants to see a clean refusal.
#pragma once
#include "fuzz/case.hpp"

namespace mqalab {

// Relative cost of one check, near the multiply-adds of the kernel: a few milliseconds at kUsualWork in the
// simulator.
int64_t work(const Case&);
inline constexpr int64_t kUsualWork = 2'000'000;
// What a case may cost: a crowd of sequences more, it would be none if it had to cost what others do; most
// where workers are to be kept busy.
int64_t usual_work(const Case&);

// Everything at its default, and what the operation wants in its place where that is illegal.
Case smallest_case(Operation);

// Does what a staged or scheduled block keeps of a sequence's rows fit into its LDS?
bool rows_fit(const Case&);

// Lengths and starts fit batch and next_n, sizes are multiples of what they must be, too small strides become
// dense.
void fit_lengths(Case&);
void repair(Case&);
// Halves the dearest axis until work(c) <= limit.
void bound_work(Case&, int64_t limit);
// The same for usual_work(c), which falls when a crowd shrinks to none.
void bound_work(Case&);

} // namespace mqalab
