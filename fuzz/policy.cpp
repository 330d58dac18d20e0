#include "fuzz/policy.hpp"

#include "fuzz/probe.hpp"

namespace mqalab {

Policy declared_policy(int32_t variant) {
  Policy policy;
  policy.accumulation = probed(unit_of(variant)).found.accumulation;
  return policy;
}

} // namespace mqalab
