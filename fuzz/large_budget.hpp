// How much of a campaign may go to cases of gigabytes.  Guidance keeps what is new, and mutants
// of a case with a long stride have it too: a share of the draws does not bound theirs.
#pragma once
#include "fuzz/case.hpp"

namespace mqalab {

inline constexpr int kMostLargePercent = 25;

// Is a buffer of the case 1 GiB or longer?  Those whose offsets pass 2^31 bytes, and those that just do not.
// Precondition: why_illegal(c).empty().
bool is_large(const Case&);

// Counts estimated work (repair.hpp), not time, so that a seed stands for the same cases on every machine and
// under any load.
class LargeBudget {
public:
  // Charges the case.  A large one for which nothing is left comes back near: dense, its blocks at the pool's
  // start.  Cases to be refused cost nothing.
  void spend(Case&);

private:
  double all_ = 0, large_ = 0;
};

} // namespace mqalab
