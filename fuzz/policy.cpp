#include "fuzz/policy.hpp"

#include "fuzz/fault.hpp"
#include "fuzz/probe.hpp"

namespace mqalab {

Policy declared_policy(int32_t variant, const Fault* planted) {
  Policy policy;
  policy.accumulation = probed(unit_of(variant)).found.accumulation;
  if (planted)
    policy.nan_to_zero = planted->claim.nan_to_zero, policy.scale_after_sum = planted->claim.scale_after_sum;
  return policy;
}

} // namespace mqalab
