// What dirties the compute units reaches all of their LDS and most of a lane's registers.
#include "fuzz/device.hpp"
#include "fuzz/dirty.hpp"

#include <gtest/gtest.h>

#ifdef MQALAB_SIM
#include <amdsim/control.h>
#endif

namespace mqalab {
namespace {

TEST(Dirty, FillsTheLdsOfEveryComputeUnitAndMostRegisters) {
  std::string error;
  const mqa::DeviceFacts* facts = mqa::device_facts(&error);
  ASSERT_TRUE(facts) << error;
  EXPECT_GE(dirty_blocks(*facts), facts->compute_units);
#ifdef MQALAB_SIM
  const int collected = amdsim_collect_counts(1);
#endif
  ASSERT_EQ(dirty_compute_units(0x7fc0dead, *facts, nullptr), hipSuccess);
  ASSERT_EQ(hipDeviceSynchronize(), hipSuccess);
#ifdef MQALAB_SIM
  amdsim_counts counts{};
  counts.struct_size = sizeof counts;
  ASSERT_EQ(amdsim_counts_last(&counts), 0);
  (void)amdsim_collect_counts(collected);
  EXPECT_EQ(counts.blocks, static_cast<uint64_t>(facts->compute_units));
  EXPECT_GE(counts.lds_bytes, counts.blocks * static_cast<uint64_t>(facts->lds_bytes));
  EXPECT_EQ(counts.lds_per_block, static_cast<uint32_t>(facts->lds_bytes)) << "one block a compute unit";
  EXPECT_GE(counts.vgprs, 112U);
#endif
}

} // namespace
} // namespace mqalab
