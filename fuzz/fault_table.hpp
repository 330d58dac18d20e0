// What the files of planted faults share: how a struct that hides one rule becomes a row of the table.
#pragma once
#include "fuzz/fault_list.hpp"
#include "kernels/dispatch.hpp"

namespace mqalab {

// R: the rules with one function hidden; A: the arch layer likewise.  Built for head_dim 128, staged queries.
template <class R, class A = mqa::Arch>
inline constexpr mqa::LaunchFn kLaunch = &mqa::launch_with<R, mqa::FaultInstances, A>;

inline constexpr FaultKind kKill = FaultKind::must_kill, kSurvive = FaultKind::must_survive;

// Of both numbers of a pair.
template <class Pair, class F> __device__ Pair each(Pair p, F f) { return Pair{f(p.x), f(p.y)}; }

} // namespace mqalab
