// The schedule of the scheduled variant, enumerated on the host: the same walk that a worker does, a sequence
// at a time.
#include "kernels/schedule.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace mqa {
namespace {

struct Piece {
  int64_t sequence;
  Range chunks;
};
// What one worker serves when a window holds `width` sequences.
std::vector<Piece> walk(const std::vector<int32_t>& counts, int width, int64_t workers, int64_t worker) {
  int64_t total = 0;
  for (const int32_t count : counts) total += count;
  ChunkShare share = Schedule::share(total, workers, worker);
  std::vector<Piece> pieces;
  for (size_t start = 0; start < counts.size() && share.end > 0; start += width) {
    const size_t end = std::min(counts.size(), start + width);
    int32_t count = 0, before = 0;
    for (size_t b = start; b < end; ++b) count += counts[b];
    const Range part = Schedule::part_of_window(share, count);
    for (size_t b = start; b < end; before += counts[b++]) {
      const Range mine = Schedule::part_of_sequence(part, before, before + counts[b]);
      if (mine.begin < mine.end) pieces.push_back({static_cast<int64_t>(b), mine});
    }
    share = Schedule::seen_from_next(share, count);
  }
  return pieces;
}

// Every list of up to four counts out of 0, 1, 2, 5; windows of one, two, three; one to six workers.
TEST(Schedule, EveryChunkHasExactlyOneWorkerAndSharesDifferByAtMostOne) {
  constexpr int kCounts[] = {0, 1, 2, 5};
  for (int length = 0; length <= 4; ++length)
    for (int code = 0; code < 1 << 2 * length; ++code) {
      std::vector<int32_t> counts;
      for (int i = 0; i < length; ++i) counts.push_back(kCounts[code >> 2 * i & 3]);
      for (int width = 1; width <= 3; ++width)
        for (int workers = 1; workers <= 6; ++workers) {
          std::vector<std::vector<int>> owners;
          for (const int32_t count : counts) owners.emplace_back(count, 0);
          int64_t least_share = INT64_MAX, most_share = 0;
          for (int worker = 0; worker < workers; ++worker) {
            int64_t share = 0;
            for (const Piece& piece : walk(counts, width, workers, worker))
              for (int c = piece.chunks.begin; c < piece.chunks.end; ++c, ++share)
                ++owners.at(static_cast<size_t>(piece.sequence)).at(static_cast<size_t>(c));
            least_share = least(least_share, share), most_share = most(most_share, share);
          }
          for (const auto& sequence : owners)
            for (const int times : sequence) ASSERT_EQ(times, 1);
          ASSERT_LE(most_share - least_share, 1);
        }
    }
}

TEST(Schedule, ExactlyOneSequenceOfAWindowHoldsTheBeginningOfAPart) {
  const std::vector<int32_t> before{0, 0, 3, 3, 4, 9, 9}; // counts 0, 3, 0, 1, 5, 0
  for (int begin = 0; begin < 9; ++begin) {
    int holders = 0;
    for (size_t i = 0; i + 1 < before.size(); ++i)
      holders += Schedule::begins_in({begin, 9}, before[i], before[i + 1]);
    EXPECT_EQ(holders, 1) << begin;
  }
}

TEST(Schedule, TotalsPastThirtyTwoBitsAreShared) {
  const int64_t total = (int64_t{1} << 49) + 5;
  int64_t begin = 0;
  for (int worker = 0; worker < 1216; ++worker) {
    const ChunkShare share = Schedule::share(total, 1216, worker);
    ASSERT_EQ(share.begin, begin);
    ASSERT_LE(share.end - share.begin - total / 1216, 1);
    begin = share.end;
  }
  EXPECT_EQ(begin, total);
  EXPECT_EQ(Schedule::part_of_window({int64_t{1} << 40, int64_t{1} << 41}, 1 << 26).end, 1 << 26);
}

} // namespace
} // namespace mqa
