// Random cases from a seed: every operation in its share, boundary-biased fields, data lanes by the shares of
// oracle.md, work bounded so that the median check stays at a few milliseconds in the simulator.
#pragma once
#include "fuzz/case.hpp"
#include "fuzz/dictionary.hpp"
#include "fuzz/random.hpp"

namespace mqalab {

// In percent of all cases.  oracle.md gives 3 more to the re-test of flaky cases, which has no meaning here:
// a generator knows of none; they go to the large offsets, which are cheap and meet the rarest faults.
inline constexpr int kLargeOffsetPercent = 5, kContractPercent = 5;

// Legal.
Case generate_case(Random&);
Case generate_case(Random&, Operation, const Words& = {});
inline Case generate_case(uint64_t seed) {
  Random random(seed);
  return generate_case(random);
}
// What a campaign checks: a legal case, or in its share one that the library must refuse.
Case generate_any_case(Random&);
// Outside the contract in one argument; rarely legal, where the draws meet none that the call has.
Case generate_illegal_case(Random&, Operation);
void make_illegal(Case&, Random&);
// Two or a few rows, blocks or planes whose addresses lie at 2^31 or 2^32 bytes, in one buffer (60 %), two
// (25 %) or all of them; sparse and cheap.
Case generate_large_offset_case(Random&, Operation);
// All lengths anew: equal, one outlier, independent, ascending; also the counts of lens_per_row.
void draw_lengths(Case&, Random&, int64_t most);

} // namespace mqalab
