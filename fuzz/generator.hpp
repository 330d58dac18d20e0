// Random legal cases from a seed: every operation in its share, boundary-biased fields, data lanes by the
// shares of oracle.md, work bounded so that the median check stays at a few milliseconds in the simulator.
#pragma once
#include "fuzz/case.hpp"
#include "fuzz/random.hpp"

namespace mqalab {

Case generate_case(Random&);
Case generate_case(Random&, Operation);
inline Case generate_case(uint64_t seed) {
  Random random(seed);
  return generate_case(random);
}
// Two or a few rows, blocks or planes whose addresses lie around 2^31 or 2^32 bytes, in one buffer of
// several; sparse and cheap.
Case generate_large_offset_case(Random&, Operation);
// All lengths anew: equal, one outlier, independent, ascending; also the counts of lens_per_row.
void draw_lengths(Case&, Random&, int64_t most);

} // namespace mqalab
