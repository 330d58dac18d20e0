// Passes on the device against loops on the host, in allocations whose offsets pass 2^31 and 2^32 bytes.
#include "fuzz/device.hpp"
#include "fuzz/device_scan.hpp"
#include "fuzz/sentinel.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <vector>

namespace mqalab {
namespace {

constexpr uint64_t kSalt = 99;
constexpr int64_t kBytes = 5 * (int64_t{1} << 30);
// First words of the windows: the start, and across 2^31 and 2^32 bytes.
constexpr int64_t kCount = 5003, kFirsts[] = {0, (int64_t{1} << 29) - 2000, (int64_t{1} << 30) - 2000};

class DeviceScan : public testing::TestWithParam<int64_t> {
protected:
  static void SetUpTestSuite() { (buffer_ = new DeviceBuffer)->resize(kBytes); }
  static void TearDownTestSuite() { delete buffer_; }
  uint32_t* words() const { return reinterpret_cast<uint32_t*>(buffer_->data()) + GetParam(); }
  void put(int64_t index, uint32_t word) { buffer_->upload(4 * (GetParam() + index), &word, 4); }
  std::vector<uint32_t> host() const {
    std::vector<uint32_t> all(kCount);
    buffer_->download(4 * GetParam(), all.data(), 4 * kCount);
    return all;
  }
  static DeviceBuffer* buffer_;
};
DeviceBuffer* DeviceScan::buffer_ = nullptr;

TEST_P(DeviceScan, PrefillsWithTheSentinelOfEveryElement) {
  prefill_on_device(words(), kCount, kSalt, GetParam());
  const std::vector<uint32_t> all = host();
  for (int64_t i = 0; i < kCount; ++i)
    ASSERT_EQ(all[static_cast<size_t>(i)], sentinel(kSalt, GetParam() + i)) << i;
}

TEST_P(DeviceScan, CountsAndPlacesWrittenWords) {
  prefill_on_device(words(), kCount, kSalt, GetParam());
  EXPECT_EQ(scan_written(words(), kCount, kSalt, GetParam()).count, 0);
  EXPECT_EQ(scan_untouched(words(), kCount, kSalt, GetParam()).count, kCount);
  for (const int64_t i : {int64_t{2000}, int64_t{1999}, kCount - 1}) put(i, 7 + static_cast<uint32_t>(i));
  const ScanResult written = scan_written(words(), kCount, kSalt, GetParam());
  EXPECT_EQ(written.count, 3);
  EXPECT_EQ(written.first, GetParam() + 1999);
  EXPECT_EQ(written.got, 7u + 1999);
  EXPECT_EQ(scan_untouched(words(), kCount, kSalt, GetParam()).count, kCount - 3);
  EXPECT_EQ(scan_written(words(), 1999, kSalt, GetParam()).count, 0); // ends where it is told to
}

TEST_P(DeviceScan, FindsTheWordThatIsNotTheConstant) {
  const auto low = std::bit_cast<uint32_t>(-std::numeric_limits<float>::infinity());
  fill_on_device(words(), kCount, low);
  EXPECT_EQ(scan_other_than(words(), kCount, low).count, 0);
  put(kCount - 1, 0);
  const ScanResult other = scan_other_than(words(), kCount, low);
  EXPECT_EQ(other.count, 1);
  EXPECT_EQ(other.first, kCount - 1);
  EXPECT_EQ(other.got, 0u);
}

// Rows of two outputs with another row stride, the second twice the first.
TEST_P(DeviceScan, ComparesRowsAtTheirOwnOffsets) {
  constexpr int64_t kColumns = 37, kRows = 9;
  fill_on_device(words(), kCount, 0);
  std::vector<RowsToCompare> rows;
  const auto value = [](int64_t r, int64_t c) { return static_cast<float>(r * 100 + c) - 50.5f; };
  std::vector<float> ours(kColumns), theirs(kColumns);
  for (int64_t r = 0; r < kRows; ++r) {
    rows.push_back({GetParam() + r * 50, GetParam() + 1000 + r * 61, kColumns - r});
    for (int64_t c = 0; c < kColumns; ++c) {
      ours[static_cast<size_t>(c)] = value(r, c), theirs[static_cast<size_t>(c)] = 2 * value(r, c);
    }
    buffer_->upload(4 * rows.back().ours, ours.data(), 4 * (kColumns - r));
    buffer_->upload(4 * rows.back().theirs, theirs.data(), 4 * (kColumns - r));
  }
  const auto* base = reinterpret_cast<const float*>(buffer_->data());
  EXPECT_EQ(compare_on_device(base, base, rows, 2).count, 0);
  EXPECT_EQ(compare_on_device(base, base, rows, 1).count, 9 * 37 - 36); // no value is 0
  put(1000 + 5 * 61 + 3,
      std::bit_cast<uint32_t>(std::bit_cast<float>(std::bit_cast<uint32_t>(2 * value(5, 3)) ^ 1)));
  const ScanResult off = compare_on_device(base, base, rows, 2);
  EXPECT_EQ(off.count, 1);
  EXPECT_EQ(off.first, GetParam() + 5 * 50 + 3);
  EXPECT_EQ(off.got, std::bit_cast<uint32_t>(2 * value(5, 3)) ^ 1);
}

TEST_P(DeviceScan, NanAgreesWithNanOnlyAndMinusZeroWithZero) {
  fill_on_device(words(), kCount, 0);
  put(0, 0x7fc00001), put(10, 0xffc12345), put(1, 0x80000000), put(2, 0x7fc00000), put(13, 0x7f800000);
  const RowsToCompare row[] = {{GetParam(), GetParam() + 10, 4}};
  const auto* base = reinterpret_cast<const float*>(buffer_->data());
  const ScanResult off = compare_on_device(base, base, row, 1);
  EXPECT_EQ(off.count, 2);
  EXPECT_EQ(off.first, GetParam() + 2); // a NaN and a number
}

TEST_P(DeviceScan, NothingToLookAt) {
  EXPECT_EQ(scan_written(words(), 0, kSalt, 0).count, 0);
  EXPECT_EQ(compare_on_device(nullptr, nullptr, {}, 1).first, -1);
}

INSTANTIATE_TEST_SUITE_P(Offsets, DeviceScan, testing::ValuesIn(kFirsts));

} // namespace
} // namespace mqalab
