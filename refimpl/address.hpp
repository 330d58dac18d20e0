// The address code (oracle.md, 2.1): key data whose logit spells out the physical slot it was read from, in
// octal digits, so that a wrong address does not only differ but says where it led.
#pragma once
#include "refimpl/problem.hpp"

#include <array>
#include <cstdint>
#include <span>

namespace mqalab {

// code(slot) = (slot + shift) mod 2^24.  Its digit i lies at dim(i) of the key; head h < 8 of a row picks
// digit (h + query_turn) mod 8 with a one-hot query and gives it the weight 8^((h + weight_turn) mod 8).  So
// logit/scale is the code with its digits turned by weight_turn - query_turn.  Both turns depend on sequence
// and n and on the seed, because any fixed choice is blind to some row distance: 8 rows, a prefill's tile
// among them, take a step of their own.
class AddressCode {
public:
  static constexpr int kDigits = 8;

  AddressCode(uint64_t seed, int32_t head_dim);

  int32_t dim(int digit) const { return dims_[digit]; }
  uint32_t code(int64_t slot) const { return uint32_t(slot + shift_) & kMask; }
  static int digit(uint32_t code, int index) { return code >> 3 * index & 7; }
  static double scale(int64_t slot) { return scales_[slot % 5]; }

  int picked_digit(int32_t sequence, int32_t n, int32_t head) const {
    return (head + query_turn(sequence, n)) & 7;
  }
  double weight(int32_t sequence, int32_t n, int32_t head) const;
  // The slot modulo 2^24 that a logit divided by its scale stands for; -1 when it is no code at all.
  int64_t slot(int32_t sequence, int32_t n, double logit_over_scale) const;

private:
  static constexpr uint32_t kMask = (1u << 24) - 1;
  static constexpr std::array<double, 5> scales_{0.25, 0.5, 1, 2, 4};

  int turn(int32_t sequence, int32_t n) const {
    return sequence * sequence_step_ + n + sequence / 8 + n / 8 * tile_step_;
  }
  int query_turn(int32_t sequence, int32_t n) const { return query_speed_ * turn(sequence, n) & 7; }
  int weight_turn(int32_t sequence, int32_t n) const { return weight_speed_ * turn(sequence, n) & 7; }

  std::array<int32_t, kDigits> dims_{};
  uint32_t shift_ = 0;
  int sequence_step_ = 1, tile_step_ = 1, query_speed_ = 1, weight_speed_ = 2;
};

} // namespace mqalab
