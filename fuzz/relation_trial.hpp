// Metamorphic relations on the device: the partner's launch, and its comparison with the first one.
#pragma once
#include "fuzz/judge.hpp"
#include "fuzz/trials.hpp"

namespace mqalab {

// A first launch that was judged right.
struct FirstLaunch {
  const Case& c;
  const Fault* fault;
  const Problem& problem;
  const Tensors& tensors;
  const Output& output;
  int64_t most_instructions; // of a wave
};

// What the options ask for, of this case.
std::vector<Relation> relations_to_try(const Case&, const OracleOptions&);
// Turns an ok verdict into a deviation when a partner's result does not follow from the first launch's.
void try_relation(TrialMemory&, Relation, const FirstLaunch&, Verdict&);

} // namespace mqalab
