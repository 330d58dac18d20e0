// Ranges are remembered whatever their order; untouched address space costs nothing.
#include "refimpl/sparse_buffer.hpp"

#include <gtest/gtest.h>

#include <new>
#include <stdexcept>

namespace mqalab {
namespace {

using Ranges = std::vector<ByteRange>;

TEST(SparseBuffer, JoinsRangesThatOverlapOrTouch) {
  EXPECT_EQ(joined({{10, 20}, {0, 5}, {5, 7}, {15, 30}, {40, 40}, {12, 13}}), (Ranges{{0, 7}, {10, 30}}));
  EXPECT_EQ(joined({}), Ranges{});
}

TEST(SparseBuffer, RemembersWhatWasFilledInWhateverOrder) {
  SparseBuffer buffer(1000);
  buffer.fill(500, 10)[9] = 7;
  buffer.fill(100, 50);
  buffer.fill(150, 10);
  buffer.fill(505, 20);
  EXPECT_EQ(buffer.filled(), (Ranges{{100, 160}, {500, 525}}));
  buffer.fill(0, 100);
  EXPECT_EQ(buffer.filled(), (Ranges{{0, 160}, {500, 525}}));
  EXPECT_EQ(buffer.data()[509], 7);
  EXPECT_EQ(buffer.data()[510], 0);
}

TEST(SparseBuffer, HoldsFortyGibibytesForThePriceOfAPage) {
  SparseBuffer buffer(int64_t{40} << 30);
  buffer.fill((int64_t{40} << 30) - 1, 1)[0] = 1;
  EXPECT_EQ(buffer.data()[buffer.size() - 1], 1);
  EXPECT_EQ(buffer.filled().size(), 1u);
}

TEST(SparseBuffer, RefusesBytesOutsideIt) {
  SparseBuffer buffer(10);
  EXPECT_THROW(buffer.fill(5, 6), std::out_of_range);
  EXPECT_THROW(buffer.fill(-1, 1), std::out_of_range);
  EXPECT_THROW(buffer.fill(INT64_MAX, INT64_MAX), std::out_of_range);
  EXPECT_NO_THROW(buffer.fill(10, 0));
}

TEST(SparseBuffer, ReportsAnAddressSpaceThatIsRefused) {
  EXPECT_THROW(SparseBuffer(int64_t{1} << 60), std::bad_alloc);
  EXPECT_THROW(SparseBuffer(-1), std::bad_alloc);
}

TEST(SparseBuffer, MovesWithItsMemory) {
  SparseBuffer from(10);
  from.fill(3, 1)[0] = 9;
  SparseBuffer to(std::move(from));
  EXPECT_EQ(to.data()[3], 9);
  EXPECT_EQ(from.size(), 0);
  SparseBuffer other;
  other = std::move(to);
  EXPECT_EQ(other.filled(), (Ranges{{3, 4}}));
}

} // namespace
} // namespace mqalab
