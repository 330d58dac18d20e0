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
  static const uint32_t* base() { return reinterpret_cast<const uint32_t*>(buffer_->data()); }
  void zero() {
    const std::vector<uint32_t> zeros(kCount);
    buffer_->upload(4 * GetParam(), zeros.data(), 4 * kCount);
  }
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

// Rows of 50 words of which 40 are columns: values in 5 to 29 of each, shorter by one in every next row.
std::vector<RowToScan> rows_of_50(int64_t first_word, bool tails) {
  std::vector<RowToScan> rows;
  for (int64_t r = 0; r < 9; ++r) {
    const int64_t begin = first_word + 50 * r;
    rows.push_back({begin, begin + 50, begin + 5, begin + 30 - r, tails ? begin + 40 : begin});
  }
  return rows;
}

TEST_P(DeviceScan, WithoutTailsOnlyValuesAreWritten) {
  prefill_on_device(words(), kCount, kSalt, GetParam());
  const auto rows = rows_of_50(GetParam(), false);
  RowScan seen = scan_rows(base(), rows, kSalt);
  EXPECT_EQ(seen.untouched.count, 9 * 25 - 36);
  EXPECT_EQ(seen.untouched.first, GetParam() + 5);
  EXPECT_EQ(seen.touched.count, 0);
  for (int64_t r = 0; r < 9; ++r)
    for (int64_t i = 5; i < 30 - r; ++i) put(50 * r + i, 7);
  seen = scan_rows(base(), rows, kSalt);
  EXPECT_EQ(seen.untouched.count + seen.touched.count + seen.not_low.count, 0);
  put(50 * 3 + 30 - 3, 8), put(50 * 3 + 49, 9), put(50 * 8 + 4, 10),
      put(50 * 9, 11); // the last behind all rows
  seen = scan_rows(base(), rows, kSalt);
  EXPECT_EQ(seen.touched.count, 3);
  EXPECT_EQ(seen.touched.first, GetParam() + 50 * 3 + 27);
  EXPECT_EQ(seen.touched.got, 8u);
  EXPECT_EQ(seen.untouched.count + seen.not_low.count, 0);
}

TEST_P(DeviceScan, TailsAreNegativeInfinity) {
  prefill_on_device(words(), kCount, kSalt, GetParam());
  const auto rows = rows_of_50(GetParam(), true);
  EXPECT_EQ(scan_rows(base(), rows, kSalt).untouched.count, 9 * 40);
  const auto low = std::bit_cast<uint32_t>(-std::numeric_limits<float>::infinity());
  for (int64_t r = 0; r < 9; ++r)
    for (int64_t i = 0; i < 40; ++i) put(50 * r + i, i >= 5 && i < 30 - r ? 7 : low);
  RowScan seen = scan_rows(base(), rows, kSalt);
  EXPECT_EQ(seen.untouched.count + seen.touched.count + seen.not_low.count, 0);
  put(50 * 2 + 4, 1), put(50 * 2 + 28, 2), put(50 * 7 + 39, 3), put(50 * 7 + 40, 4);
  put(50 * 6 + 39, sentinel(kSalt, GetParam() + 50 * 6 + 39));
  seen = scan_rows(base(), rows, kSalt);
  EXPECT_EQ(seen.not_low.count, 3);
  EXPECT_EQ(seen.not_low.first, GetParam() + 50 * 2 + 4);
  EXPECT_EQ(seen.not_low.got, 1u);
  EXPECT_EQ(seen.touched.count, 1);
  EXPECT_EQ(seen.touched.first, GetParam() + 50 * 7 + 40);
  EXPECT_EQ(seen.untouched.count, 1); // never written is not written wrongly
  EXPECT_EQ(seen.untouched.first, GetParam() + 50 * 6 + 39);
}

// More of them than one launch has blocks, and than one list on the device holds.
TEST_P(DeviceScan, ManyRowsAreScannedInParts) {
  prefill_on_device(words(), kCount, kSalt, GetParam());
  std::vector<RowToScan> rows;
  for (int64_t r = 0; r < kCount; ++r) rows.push_back({GetParam() + r, GetParam() + r + 1, 0, 0, 0});
  EXPECT_EQ(scan_rows(base(), rows, kSalt).touched.count, 0);
  put(4500, 5), put(100, 6);
  const ScanResult touched = scan_rows(base(), rows, kSalt).touched;
  EXPECT_EQ(touched.count, 2);
  EXPECT_EQ(touched.first, GetParam() + 100);
  EXPECT_EQ(touched.got, 6u);
}

// Rows of two outputs with another row stride, the second twice the first.
TEST_P(DeviceScan, ComparesRowsAtTheirOwnOffsets) {
  constexpr int64_t kColumns = 37, kRows = 9;
  zero();
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
  zero();
  put(0, 0x7fc00001), put(10, 0xffc12345), put(1, 0x80000000), put(2, 0x7fc00000), put(13, 0x7f800000);
  const RowsToCompare row[] = {{GetParam(), GetParam() + 10, 4}};
  const auto* base = reinterpret_cast<const float*>(buffer_->data());
  const ScanResult off = compare_on_device(base, base, row, 1);
  EXPECT_EQ(off.count, 2);
  EXPECT_EQ(off.first, GetParam() + 2); // a NaN and a number
}

TEST_P(DeviceScan, NothingToLookAt) {
  EXPECT_EQ(scan_rows(nullptr, {}, kSalt).touched.first, -1);
  EXPECT_EQ(compare_on_device(nullptr, nullptr, {}, 1).first, -1);
}

INSTANTIATE_TEST_SUITE_P(Offsets, DeviceScan, testing::ValuesIn(kFirsts));

} // namespace
} // namespace mqalab
