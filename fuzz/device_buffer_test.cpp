// Buffers with zones, as real hardware has them; the simulator runs them as well.
#include "fuzz/device_buffer.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace mqalab {
namespace {

constexpr int64_t kZone = DeviceBuffer::kZone_bytes;

void poke(const DeviceBuffer& b, int64_t offset, uint8_t byte) {
  ASSERT_EQ(hipMemcpy(b.data() + offset, &byte, 1, hipMemcpyHostToDevice), hipSuccess);
}

std::optional<StrayWrite> stray_write() {
  look_for_stray_writes();
  return take_stray_write();
}

class Zoned : public testing::TestWithParam<int64_t> {
protected:
  DeviceBuffer before{"before", Bounds::zones}, buffer{"q", Bounds::zones}, behind{"behind", Bounds::zones};
  void SetUp() override {
    for (DeviceBuffer* b : {&before, &buffer, &behind}) b->resize(GetParam());
    const std::vector<uint8_t> bytes(static_cast<size_t>(GetParam()), 7);
    buffer.upload(0, bytes.data(), GetParam());
    ASSERT_FALSE(stray_write()) << "the tensor itself is no zone";
  }
};

TEST_P(Zoned, AByteWrittenBesideTheTensorIsFoundOnceAndMended) {
  const int64_t size = GetParam();
  for (const int64_t offset : {int64_t{-1}, -kZone, size, size + 1, size + 16, size + kZone - 1}) {
    poke(buffer, offset, 3);
    const auto stray = stray_write();
    ASSERT_TRUE(stray) << offset;
    EXPECT_STREQ(stray->buffer, "q");
    EXPECT_EQ(stray->offset_bytes, offset);
    EXPECT_EQ(stray->size_bytes, size);
    EXPECT_EQ(stray->got, 3);
    EXPECT_FALSE(stray_write()) << "mended";
  }
}

TEST_P(Zoned, OfSeveralTheNearestIsNamed) {
  for (const int64_t distance : {100, 5, 3000}) poke(buffer, GetParam() + distance, 1);
  EXPECT_EQ(stray_write()->offset_bytes, GetParam() + 5);
  for (const int64_t distance : {100, 5, 3000}) poke(buffer, -distance, 1);
  EXPECT_EQ(stray_write()->offset_bytes, -5);
}

TEST_P(Zoned, TheZoneFollowsTheSize) {
  const int64_t size = GetParam();
  EXPECT_FALSE(buffer.resize(size));
  EXPECT_TRUE(buffer.resize(size + 3));
  poke(buffer, size + 2, 9);
  EXPECT_FALSE(stray_write());
  EXPECT_TRUE(buffer.resize(size));
  EXPECT_FALSE(stray_write());
  poke(buffer, size + 2, 9);
  EXPECT_EQ(stray_write()->offset_bytes, size + 2);
}

INSTANTIATE_TEST_SUITE_P(Sizes, Zoned, testing::Values(0, 1, 13, 4096, 100001));

TEST(DeviceBuffer, KeepsWhatIsSmallAndGivesBackWhatIsLarge) {
  DeviceBuffer small("small", Bounds::zones), large("large", Bounds::zones);
  small.resize(1000), large.resize(DeviceBuffer::kKept_bytes + 1);
  const uint8_t* where = small.data();
  release_large_buffers();
  EXPECT_EQ(small.data(), where);
  EXPECT_EQ(large.data(), nullptr);
  EXPECT_FALSE(stray_write());
  EXPECT_TRUE(small.resize(3000));
  EXPECT_EQ(small.data(), where) << "room enough for 4096";
  EXPECT_TRUE(large.resize(DeviceBuffer::kKept_bytes + 1));
  poke(large, -1, 0);
  EXPECT_STREQ(stray_write()->buffer, "large");
}

TEST(DeviceBuffer, TheFirstStrayWriteIsKeptUntilItIsAskedFor) {
  DeviceBuffer buffer("keys", Bounds::zones);
  buffer.resize(64);
  poke(buffer, 64, 1);
  look_for_stray_writes();
  poke(buffer, 70, 1);
  look_for_stray_writes();
  EXPECT_EQ(take_stray_write()->offset_bytes, 64);
  EXPECT_FALSE(take_stray_write());
}

TEST(DeviceBuffer, ABufferThatIsGoneIsNotLookedAt) {
  auto gone = std::make_unique<DeviceBuffer>("gone", Bounds::zones);
  gone->resize(10);
  EXPECT_FALSE(stray_write());
  gone.reset();
  EXPECT_FALSE(stray_write());
}

} // namespace
} // namespace mqalab
