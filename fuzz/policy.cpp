#include "fuzz/policy.hpp"

namespace mqalab {

Policy declared_policy(int32_t variant) {
  Policy policy;
#ifdef MQA_PLATFORM_NVIDIA
  policy.accumulation = variant == MQA_VARIANT_WGMMA ? Accumulation::wgmma_fp8 : Accumulation::hmma16;
#endif
  if (variant == MQA_VARIANT_GENERAL) policy.accumulation = Accumulation::fp32_fma;
  return policy;
}

} // namespace mqalab
