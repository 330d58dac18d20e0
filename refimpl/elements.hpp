// What every element of the tensors is, in one lane and pattern.  Knows coordinates only, never where bytes
// lie.
#pragma once
#include "refimpl/address.hpp"
#include "refimpl/generate.hpp"
#include "refimpl/random.hpp"

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace mqalab {

// A distribution over FP8 bytes as 4096 equally likely entries: a draw is one look-up, whatever the lane.
using Quantiles = std::array<uint8_t, 4096>;

// Largest magnitudes for which every partial sum is exact in the narrowest accumulator in use (13 fractional
// bits) and every head sum in fp32: head_dim * key^2 <= 2^13 and heads * weight * 2^13 <= 2^23.
struct ExactRange {
  int key = 0, weight = 0;
};
ExactRange exact_range(int32_t heads, int32_t head_dim);

class Elements {
public:
  Elements(const Problem&, const DataSpec&);

  // head_dim bytes each.
  void query(int32_t sequence, int32_t n, int32_t head, std::span<uint8_t> dims) const;
  void key(int64_t block, int32_t token, std::span<uint8_t> dims) const;
  float scale(int64_t block, int32_t token) const;
  float weight(int32_t sequence, int32_t n, int32_t head) const;

private:
  void choose_the_one();
  void choose_the_key();
  float special_scale(const Stream&) const;
  float special_weight(int32_t sequence, int32_t n, int32_t head, float ordinary) const;
  int64_t slot(int64_t block, int32_t token) const { return block * problem_.block_size + token; }

  const Problem& problem_;
  const DataSpec& data_;
  ExactRange range_;
  const Quantiles *query_bytes_ = nullptr, *key_bytes_ = nullptr;
  Quantiles integers_{};                 // of the exact lane, made for this head_dim
  std::array<uint8_t, 8> digit_bytes_{}; // FP8 bytes of 0..7
  AddressCode address_;
  int32_t the_dim_ = -1;           // one_dim
  std::vector<int64_t> the_slots_; // one_token: one slot per sequence, sorted
  Stream queries_, keys_, scales_, weights_, choice_;
};

} // namespace mqalab
