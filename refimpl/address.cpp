// The draws of a case's address code, and the way back from a logit to a slot.
#include "refimpl/address.hpp"
#include "refimpl/generate.hpp"
#include "refimpl/random.hpp"

#include <cmath>

namespace mqalab {

AddressCode::AddressCode(uint64_t seed, int32_t head_dim) {
  const Stream draw(seed, 101);
  const int32_t share = head_dim / kDigits;
  for (int i = 0; i < kDigits; ++i) dims_[i] = i * share + int32_t(draw.at(1).below(share, i));
  shift_ = 1 + uint32_t(draw.at(2).below(kMask));
  sequence_step_ = 1 + 2 * int(draw.at(3).below(4));
  tile_step_ = 1 + 2 * int(draw.at(5).below(4));
  // Two different speeds: then query, weights and their difference each turn from row to row.
  static constexpr int speeds[][2] = {{1, 2}, {2, 1}, {1, 3}, {3, 1}, {2, 3}, {3, 2}};
  const auto& pair = speeds[draw.at(4).below(6)];
  query_speed_ = pair[0], weight_speed_ = pair[1];
}

double AddressCode::weight(int32_t sequence, int32_t n, int32_t head) const {
  return head < kDigits ? double(int64_t{1} << 3 * ((head + weight_turn(sequence, n)) & 7)) : 0;
}

int64_t AddressCode::slot(int32_t sequence, int32_t n, double logit_over_scale) const {
  if (!(logit_over_scale >= 0 && logit_over_scale <= kMask)) return -1;
  const uint32_t turned = uint32_t(logit_over_scale);
  if (turned != logit_over_scale) return -1;
  uint32_t code = 0;
  for (int head = 0; head < kDigits; ++head) {
    const int place = (head + weight_turn(sequence, n)) & 7;
    code |= uint32_t(digit(turned, place)) << 3 * picked_digit(sequence, n, head);
  }
  return (code - shift_) & kMask;
}

int64_t decode_address(const Problem& p, const DataSpec& data, int64_t row, float logit, float scale) {
  if (data.pattern != Pattern::address || p.heads < AddressCode::kDigits) return -1;
  const AddressCode address(data.seed, p.head_dim);
  const int64_t slot =
      address.slot(int32_t(row / p.next_n), int32_t(row % p.next_n), double(logit) / double(scale));
  return slot < p.num_blocks * p.block_size ? slot : -1;
}

} // namespace mqalab
