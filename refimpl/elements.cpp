// The lanes of oracle.md, section 2.  Weights and scales do not depend on the number of heads or dims, so
// that shrinking these changes no surviving element.
#include "refimpl/elements.hpp"
#include "refimpl/fp8.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace mqalab {

namespace {

bool keeps_one(Pattern pattern) {
  return pattern == Pattern::one_token || pattern == Pattern::one_head || pattern == Pattern::one_dim;
}

// Integers up to `largest`.  Positive: one in eight keeps a minus.  With only one token, head or dim alive
// nothing may vanish by chance: no zero, no minus.
Quantiles integer_quantiles(mqa_fp8 flavour, Pattern pattern, int largest) {
  std::array<uint8_t, 33> byte_of{};
  for (int v = -largest; v <= largest; ++v) byte_of[v + 16] = encode_fp8(flavour, v);
  Quantiles bytes;
  for (int i = 0; i < 4096; ++i) {
    const int within = i / 8; // 0..511; the low three bits choose the sign where that is biased
    const int symmetric = i * (2 * largest + 1) / 4096 - largest;
    const int magnitude = within * (largest + 1) / 512, nonzero = 1 + within * largest / 512;
    const int value = keeps_one(pattern)             ? nonzero
                      : pattern != Pattern::positive ? symmetric
                      : i % 8 == 0                   ? -magnitude
                                                     : magnitude;
    bytes[i] = byte_of[value + 16];
  }
  return bytes;
}

// Inverse of the normal distribution by bisection: slow, used once per process.
double normal_quantile(double share) {
  double low = -6, high = 6;
  for (int step = 0; step < 50; ++step) {
    const double middle = (low + high) / 2;
    (std::erfc(-middle / std::numbers::sqrt2) / 2 < share ? low : high) = middle;
  }
  return low;
}

Quantiles gaussian_quantiles(mqa_fp8 flavour) {
  Quantiles bytes;
  for (int i = 0; i < 4096; ++i) bytes[i] = encode_fp8(flavour, 16 * normal_quantile((i + 0.5) / 4096));
  return bytes;
}

// Gaussian, with the odd codes strewn in: so rarely that most tokens stay finite and every class occurs.
Quantiles special_quantiles(mqa_fp8 flavour, int nan_codes) {
  Quantiles bytes = gaussian_quantiles(flavour);
  const uint8_t largest = flavour == MQA_E4M3FN ? 0x7E : 0x7F;
  const auto strew = [&bytes](int every, int offset, auto byte_of) {
    for (int i = offset; i < 4096; i += every) bytes[i] = byte_of(i / every);
  };
  strew(16, 1, [](int i) { return uint8_t((i % 7 + 1) | (i % 2 ? 0x80 : 0)); }); // subnormals
  strew(64, 2, [largest](int i) { return uint8_t(i % 2 ? largest | 0x80 : largest); });
  if (flavour == MQA_E4M3FN) strew(256, 3, [](int) { return uint8_t{0x80}; }); // -0
  const uint8_t nan[] = {flavour == MQA_E4M3FN ? uint8_t{0x7F} : uint8_t{0x80},
                         flavour == MQA_E4M3FN ? uint8_t{0xFF} : uint8_t{0x80}};
  for (int i = 0; i < nan_codes; ++i) bytes[1000 + 4 * i] = nan[i % 2];
  return bytes;
}

Quantiles raw_quantiles() {
  Quantiles bytes;
  for (int i = 0; i < 4096; ++i) bytes[i] = uint8_t(i / 16);
  return bytes;
}

const Quantiles& shared_gaussian(mqa_fp8 flavour) {
  static const Quantiles fn = gaussian_quantiles(MQA_E4M3FN), fnuz = gaussian_quantiles(MQA_E4M3FNUZ);
  return flavour == MQA_E4M3FN ? fn : fnuz;
}

// Per key 128 dims: 3 % of the tokens hold a NaN with one entry of 4096, 6 % with two.
const Quantiles& shared_special(mqa_fp8 flavour, bool key) {
  static const Quantiles tables[2][2] = {
      {special_quantiles(MQA_E4M3FN, 1), special_quantiles(MQA_E4M3FN, 2)},
      {special_quantiles(MQA_E4M3FNUZ, 1), special_quantiles(MQA_E4M3FNUZ, 2)}};
  return tables[flavour == MQA_E4M3FNUZ][key];
}

const Quantiles& shared_raw() {
  static const Quantiles raw = raw_quantiles();
  return raw;
}

// Four draws of 12 bits per word.
void draw_bytes(const Stream& stream, const Quantiles& bytes, std::span<uint8_t> out) {
  for (size_t i = 0; i + 4 <= out.size(); i += 4) {
    const uint64_t word = stream.word(i / 4);
    for (int j = 0; j < 4; ++j) out[i + j] = bytes[word >> (16 * j + 4) & 4095];
  }
}

// The candidate with the least random number: keeps winning when others are removed.
int64_t rendezvous(const Stream& stream, int64_t count) {
  int64_t winner = 0;
  for (int64_t i = 1; i < count; ++i)
    if (stream.word(i) < stream.word(winner)) winner = i;
  return winner;
}

} // namespace

ExactRange exact_range(int32_t heads, int32_t head_dim) {
  const int key = int(std::sqrt(8192.0 / head_dim));
  return {std::clamp(key, 1, 16), std::clamp(1024 / heads, 1, 8)};
}

Elements::Elements(const Problem& problem, const DataSpec& data)
    : problem_(problem), data_(data), range_(exact_range(problem.heads, problem.head_dim)),
      address_(data.seed, problem.head_dim), queries_(data.seed, 1), keys_(data.seed, 2),
      scales_(data.seed, 3), weights_(data.seed, 4), choice_(data.seed, 5) {
  if (data.pattern == Pattern::raw_bytes) {
    query_bytes_ = &shared_gaussian(problem.fp8), key_bytes_ = &shared_raw();
  } else if (data.lane == Lane::numeric) {
    query_bytes_ = key_bytes_ = &shared_gaussian(problem.fp8);
  } else if (data.lane == Lane::special) {
    query_bytes_ = &shared_special(problem.fp8, false), key_bytes_ = &shared_special(problem.fp8, true);
  } else {
    integers_ = integer_quantiles(problem.fp8, data.pattern,
                                  data.pattern == Pattern::address ? std::min(8, range_.key) : range_.key);
    query_bytes_ = key_bytes_ = &integers_;
    for (int digit = 0; digit < 8; ++digit) digit_bytes_[digit] = encode_fp8(problem.fp8, digit);
    choose_the_one();
  }
}

void Elements::choose_the_one() {
  if (data_.pattern == Pattern::one_dim) the_dim_ = int32_t(rendezvous(choice_.at(1), problem_.head_dim));
  if (data_.pattern != Pattern::one_token) return;
  if (problem_.op == Operation::prefill_logits) return choose_the_key();
  const std::vector<int64_t> starts = table_starts(problem_);
  for (int32_t sequence = 0; sequence < problem_.batch; ++sequence) {
    const int64_t tokens = problem_.needed_tokens(sequence);
    if (tokens == 0) continue;
    const int64_t position = rendezvous(choice_.at(2).at(sequence), tokens);
    the_slots_.push_back(slot(problem_.block_table[starts[sequence] + position / problem_.block_size],
                              int32_t(position % problem_.block_size)));
  }
  std::sort(the_slots_.begin(), the_slots_.end());
}

// Of a prefill: among the keys that some row sees.
void Elements::choose_the_key() {
  const std::vector<NeededBlock> keys = needed_pool(problem_);
  if (!keys.empty()) the_slots_ = {keys[size_t(rendezvous(choice_.at(2).at(0), int64_t(keys.size())))].block};
}

void Elements::query(int32_t sequence, int32_t n, int32_t head, std::span<uint8_t> dims) const {
  const Stream row = queries_.at(sequence).at(n);
  const bool exact = data_.lane == Lane::exact;
  if (exact && data_.pattern == Pattern::address && head < AddressCode::kDigits) {
    std::fill(dims.begin(), dims.end(), digit_bytes_[0]);
    dims[address_.dim(address_.picked_digit(sequence, n, head))] = digit_bytes_[1];
    return;
  }
  draw_bytes(row.at(head), *query_bytes_, dims);
  if (exact && data_.pattern == Pattern::one_head) {
    const int64_t alive = rendezvous(choice_.at(3).at(sequence).at(n), problem_.heads);
    if (head != alive) std::fill(dims.begin(), dims.end(), digit_bytes_[0]);
  }
  if (exact && data_.pattern == Pattern::one_dim)
    for (int32_t d = 0; d < problem_.head_dim; ++d)
      if (d != the_dim_) dims[d] = digit_bytes_[0];
}

void Elements::key(int64_t block, int32_t token, std::span<uint8_t> dims) const {
  draw_bytes(keys_.at(block).at(token), *key_bytes_, dims);
  if (data_.lane != Lane::exact) return;
  if (data_.pattern == Pattern::address)
    for (int i = 0; i < AddressCode::kDigits; ++i)
      dims[address_.dim(i)] = digit_bytes_[AddressCode::digit(address_.code(slot(block, token)), i)];
  if (data_.pattern == Pattern::one_token &&
      !std::binary_search(the_slots_.begin(), the_slots_.end(), slot(block, token)))
    std::fill(dims.begin(), dims.end(), digit_bytes_[0]);
  if (data_.pattern == Pattern::one_dim)
    for (int32_t d = 0; d < problem_.head_dim; ++d)
      if (d != the_dim_) dims[d] = digit_bytes_[0];
}

float Elements::special_scale(const Stream& stream) const {
  static constexpr float special[] = {0.0f,
                                      -0.0f,
                                      0x1p-140f,
                                      -0.0625f,
                                      0x1p127f,
                                      std::numeric_limits<float>::infinity(),
                                      std::numeric_limits<float>::quiet_NaN()};
  return special[stream.below(std::size(special), 2)];
}

float Elements::scale(int64_t block, int32_t token) const {
  const Stream stream = scales_.at(block).at(token);
  if (data_.pattern == Pattern::raw_bytes) return std::bit_cast<float>(uint32_t(stream.word(0)));
  if (data_.lane == Lane::exact)
    return data_.pattern == Pattern::address ? float(AddressCode::scale(slot(block, token)))
                                             : std::ldexp(1.0f, int(stream.below(13)) - 6);
  if (data_.lane == Lane::special && stream.below(8, 1) == 0) return special_scale(stream);
  return float(4.0 / 448 * std::exp2(4 * stream.uniform() - 2));
}

// One row in four has special weights, one head in sixteen of it: else every logit of every row would be NaN.
float Elements::special_weight(int32_t sequence, int32_t n, int32_t head, float ordinary) const {
  static constexpr float special[] = {0.0f, -0.0f, std::numeric_limits<float>::infinity(),
                                      std::numeric_limits<float>::quiet_NaN()};
  const Stream row = choice_.at(4).at(sequence).at(n);
  if (row.below(4) != 0 || row.at(head).below(16) != 0) return ordinary;
  return special[row.at(head).below(std::size(special), 1)];
}

float Elements::weight(int32_t sequence, int32_t n, int32_t head) const {
  const Stream stream = weights_.at(sequence).at(n).at(head);
  if (data_.lane != Lane::exact || data_.pattern == Pattern::raw_bytes) {
    const float ordinary = float(stream.gaussian() / 64); // 1/sqrt(heads * head_dim) of the usual 32 and 128
    return data_.lane == Lane::special && data_.pattern != Pattern::raw_bytes
               ? special_weight(sequence, n, head, ordinary)
               : ordinary;
  }
  if (data_.pattern == Pattern::address) return float(address_.weight(sequence, n, head));
  const float magnitude = float(1 + stream.below(8) % range_.weight); // never 0: such a head would be blind
  return stream.below(2, 1) && !keeps_one(data_.pattern) ? -magnitude : magnitude;
}

} // namespace mqalab
