// The index maps of both arch layers, enumerated on the host in every build: who holds which token, head and
// dim, what meets in the matrix unit, and where a result comes out.  The matrix instructions are modelled
// from operation.md, section 11, apart from the code under test.  Also the FP8 bit tricks, for all 256 bytes.
#include "kernels/arch/nvidia.hpp"
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wattributes" // vector types of the AMD layer, of no use to the host
#endif
#include "kernels/arch/amd.hpp"
#include "kernels/fp8_test.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace mqa {
namespace {

using Cell = std::pair<int, int>;

// How often each (token or head, dim or head) was seen; a map is right when all of them were, once.
class Coverage {
public:
  Coverage(int first, int second) : want_{first, second} {}
  void see(Cell cell) { ++times_[cell]; }
  void see(int first, int second) { see(Cell{first, second}); }
  void expect_exactly_once() const {
    EXPECT_EQ(static_cast<int>(times_.size()), want_.first * want_.second);
    for (const auto& [cell, times] : times_) {
      EXPECT_EQ(times, 1) << "cell " << cell.first << ", " << cell.second;
      EXPECT_TRUE(cell.first >= 0 && cell.first < want_.first && cell.second >= 0 &&
                  cell.second < want_.second)
          << "cell " << cell.first << ", " << cell.second;
    }
  }

private:
  Cell want_;
  std::map<Cell, int> times_;
};

// Dim of byte n of a lane's quarter, as the kernel loads it.
template <class Arch, int D> int dim_of(int lane, int n) {
  constexpr int bytes = Arch::template kChunkBytes<D>;
  return 64 * (n / bytes) + bytes * Arch::quarter(lane) + n % bytes;
}

// What one matrix instruction multiplies: [row or column][k] -> (token or head, dim), and where its results
// come out.
struct Operand {
  std::map<Cell, Cell> at;
  void put(int line, int k, int owner, int dim) {
    EXPECT_TRUE(at.emplace(Cell{line, k}, Cell{owner, dim}).second) << "line " << line << ", k " << k;
  }
};
struct Result {
  int row, column, token, head;
};
struct Step {
  int rows, columns, depth;
  Operand a, b;
  std::vector<Result> results;
  bool rows_are_tokens;
};

// v_mfma_f32_16x16x32_fp8_fp8: 8 bytes of both operands per lane, four results.
template <int D> std::vector<Step> steps_of(Amd) {
  std::vector<Step> steps;
  for (int slot = 0; slot < Amd::kSlots; ++slot)
    for (int step = 0; step < D / 32; ++step) {
      Step s{16, 16, 32, {}, {}, {}, false};
      for (int lane = 0; lane < 64; ++lane) {
        for (int j = 0; j < 8; ++j) {
          const int line = lane % 16, k = 8 * (lane / 16) + j, dim = dim_of<Amd, D>(lane, 8 * step + j);
          s.a.put(line, k, Amd::fragment_head(lane, 0), dim);
          s.b.put(line, k, Amd::slot_token(slot, lane), dim);
        }
        for (int v = 0; v < 4; ++v)
          s.results.push_back({4 * (lane / 16) + v, lane % 16, Amd::slot_token(slot, lane),
                               Amd::head_in_tile(v, Amd::quarter(lane))});
      }
      steps.push_back(s);
    }
  return steps;
}

// mma.sync.m16n8k16: A four registers of two halves, B two, four results; slots i and i+1 against 8 heads.
template <int D> std::vector<Step> steps_of(Nvidia) {
  std::vector<Step> steps;
  for (int i = 0; i < Nvidia::kSlots; i += 2)
    for (int part = 0; part < Nvidia::kFragmentHeads; ++part)
      for (int step = 0; step < D / 16; ++step) {
        Step s{16, 8, 16, {}, {}, {}, true};
        for (int lane = 0; lane < 32; ++lane) {
          const int g = lane / 4, t = lane % 4;
          for (int r = 0; r < 4; ++r)
            for (int half = 0; half < 2; ++half)
              s.a.put(g + 8 * (r % 2), 2 * t + half + 8 * (r / 2),
                      Nvidia::slot_token(i + Nvidia::a_slot(r), lane),
                      dim_of<Nvidia, D>(lane, 2 * Nvidia::a_pair(step, r) + half));
          for (int r = 0; r < 2; ++r)
            for (int half = 0; half < 2; ++half)
              s.b.put(g, 2 * t + half + 8 * r, Nvidia::fragment_head(lane, part),
                      dim_of<Nvidia, D>(lane, 2 * Nvidia::b_pair(step, r) + half));
          for (int v = 0; v < 4; ++v) // as Nvidia::mma: results 0, 1 to the low slot, 2, 3 to the high one
            s.results.push_back({g + 8 * (v / 2), 2 * t + v % 2, Nvidia::slot_token(i + v / 2, lane),
                                 Nvidia::head_in_tile(2 * part + v % 2, Nvidia::quarter(lane))});
        }
        steps.push_back(s);
      }
  return steps;
}

// Every k of the step multiplies one dim of a token by the same dim of a head, and the result's register is
// the one in which the kernel looks for that token and head.
void expect_true_product(const Step& s, std::map<Cell, std::multiset<int>>& dims) {
  ASSERT_EQ(static_cast<int>(s.a.at.size()), s.rows * s.depth);
  ASSERT_EQ(static_cast<int>(s.b.at.size()), s.columns * s.depth);
  for (const Result& r : s.results)
    for (int k = 0; k < s.depth; ++k) {
      const Cell a = s.a.at.at({r.row, k}), b = s.b.at.at({r.column, k});
      ASSERT_EQ(a.second, b.second) << "row " << r.row << ", column " << r.column << ", k " << k;
      ASSERT_EQ(r.token, s.rows_are_tokens ? a.first : b.first);
      ASSERT_EQ(r.head, s.rows_are_tokens ? b.first : a.first);
      dims[{r.token, r.head}].insert(a.second);
    }
}

template <class Arch, int D> void expect_every_dot_complete() {
  std::multiset<int> all_dims;
  for (int dim = 0; dim < D; ++dim) all_dims.insert(dim);
  std::map<Cell, std::multiset<int>> dims;
  for (const Step& step : steps_of<D>(Arch{})) expect_true_product(step, dims);
  EXPECT_EQ(static_cast<int>(dims.size()), Arch::kLanes * kHeadTile);
  for (const auto& [cell, seen] : dims)
    EXPECT_EQ(seen, all_dims) << "D " << D << ", token " << cell.first << ", head " << cell.second;
}

template <class Arch, int D> void expect_every_byte_loaded_once() {
  Coverage keys(Arch::kLanes, D), queries(kHeadTile, D);
  for (int lane = 0; lane < Arch::kLanes; ++lane)
    for (int n = 0; n < D / 4; ++n) {
      const int dim = dim_of<Arch, D>(lane, n);
      for (int slot = 0; slot < Arch::kSlots; ++slot) keys.see(Arch::slot_token(slot, lane), dim);
      for (int j = 0; j < Arch::kFragmentHeads; ++j) queries.see(Arch::fragment_head(lane, j), dim);
    }
  keys.expect_exactly_once();
  queries.expect_exactly_once();
}

template <class Arch> class Fragments : public testing::Test {};
using Archs = testing::Types<Amd, Nvidia>;
TYPED_TEST_SUITE(Fragments, Archs);

TYPED_TEST(Fragments, EveryKeyAndQueryByteIsLoadedByOneLane) {
  expect_every_byte_loaded_once<TypeParam, 32>();
  expect_every_byte_loaded_once<TypeParam, 64>();
  expect_every_byte_loaded_once<TypeParam, 128>();
}
TYPED_TEST(Fragments, EveryTokenMeetsEveryHeadInEveryDimOnce) {
  expect_every_dot_complete<TypeParam, 32>();
  expect_every_dot_complete<TypeParam, 64>();
  expect_every_dot_complete<TypeParam, 128>();
}
TYPED_TEST(Fragments, EveryTokenAndHeadHasOneAccumulator) {
  Coverage accumulators(TypeParam::kLanes, kHeadTile);
  for (int lane = 0; lane < TypeParam::kLanes; ++lane)
    for (int slot = 0; slot < TypeParam::kSlots; ++slot)
      for (int v = 0; v < 4; ++v)
        accumulators.see(TypeParam::slot_token(slot, lane),
                         TypeParam::head_in_tile(v, TypeParam::quarter(lane)));
  accumulators.expect_exactly_once();
}
TYPED_TEST(Fragments, HeadsOfAPairAreAdjacentSoThatTheirWeightsAreOneLoad) {
  for (int quarter = 0; quarter < 4; ++quarter)
    for (int half = 0; half < 2; ++half) {
      EXPECT_EQ(TypeParam::head_in_tile(2 * half, quarter) + 1,
                TypeParam::head_in_tile(2 * half + 1, quarter));
      EXPECT_EQ(TypeParam::head_in_tile(2 * half, quarter) % 2, 0);
    }
}
TYPED_TEST(Fragments, ALaneOwnsTheTokenOfTheSlotThatReduceLeavesIt) {
  for (int lane = 0; lane < TypeParam::kLanes; ++lane) {
    // reduce() keeps the half of the slots that the quarter's high bit names, then the one that its low bit
    // names.
    EXPECT_EQ(TypeParam::lane_token(lane), TypeParam::slot_token(TypeParam::quarter(lane), lane));
    EXPECT_EQ(TypeParam::token_lane(TypeParam::lane_token(lane)), lane);
  }
}

// Equal, with NaN equal to NaN.
void expect_same(double got, double want, int byte) {
  if (std::isnan(want))
    EXPECT_TRUE(std::isnan(got)) << "byte " << byte << " gave " << got;
  else
    EXPECT_EQ(got, want) << "byte " << byte;
}
// A word with `byte` at `position` among neighbours that would show in it if a carry or a shift leaked.
std::array<uint32_t, 6> words_with(uint8_t byte, int position) {
  std::array<uint32_t, 6> words{0x00000000, 0xffffffff, 0x80808080, 0x7f7f7f7f, 0x01010101, 0xfefefefe};
  for (uint32_t& word : words) word = (word & ~(0xffu << 8 * position)) | uint32_t{byte} << 8 * position;
  return words;
}

TEST(FragmentDecode, NvidiaHalvesOfFnuzBytesAreTheirValuesOver128) {
  for (int byte = 0; byte < 256; ++byte)
    for (int position = 0; position < 4; ++position)
      for (const uint32_t word : words_with(byte, position)) {
        const uint32_t halves = Nvidia::halves_from_fnuz(word, position / 2);
        const auto half = static_cast<uint16_t>(halves >> 16 * (position % 2));
        expect_same(half_value(half) * 128, decoded(byte, true), byte);
      }
}
TEST(FragmentDecode, AmdFnuzBytesMadeOfFnBytesAreHalfTheirValues) {
  for (int byte = 0; byte < 256; ++byte)
    for (int position = 0; position < 4; ++position)
      for (const uint32_t word : words_with(byte, position)) {
        const auto converted = static_cast<uint8_t>(Amd::fnuz_from_fn(word) >> 8 * position);
        expect_same(decoded(converted, true) * Amd::value_factor(false), decoded(byte, false), byte);
      }
}

// What the general variant takes on a device whose matrix unit reads FN.
TEST(FragmentDecode, FnuzWithoutAUnitThatKnowsItHasEveryValue) {
  for (int byte = 0; byte < 256; ++byte)
    expect_same(Amd::value_of_fnuz(static_cast<uint32_t>(byte)), decoded(static_cast<uint8_t>(byte), true),
                byte);
}

} // namespace
} // namespace mqa
