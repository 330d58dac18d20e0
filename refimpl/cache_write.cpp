#include "refimpl/cache_write.hpp"

#include "refimpl/fp8.hpp"
#include "refimpl/key_types.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace mqalab {

namespace {

constexpr float kLeastMagnitude = 1e-4f;

float largest_magnitude(std::span<const float> key) {
  float amax = 0;
  for (const float x : key)
    if (!std::isnan(x)) amax = std::max(amax, std::fabs(x));
  return amax;
}

float next_power_of_two(float scale) {
  int exponent;
  const float mantissa = std::frexp(scale, &exponent); // in [0.5, 1), and the scale itself if it is infinite
  return std::isinf(scale) || mantissa == 0.5f ? scale : std::ldexp(1.0f, exponent);
}

} // namespace

QuantisedKey quantise(std::span<const float> key, mqa_fp8 flavour, mqa_scale_format format) {
  const float largest = flavour == MQA_E4M3FN ? 448.0f : 240.0f;
  const float exact = std::max(largest_magnitude(key), kLeastMagnitude) / largest;
  QuantisedKey out;
  out.scale = format == MQA_SCALE_POWER_OF_TWO ? next_power_of_two(exact) : exact;
  const float inverse = 1.0f / out.scale;
  for (const float x : key) out.values.push_back(encode_fp8(flavour, x * inverse));
  return out;
}

int64_t writer_tokens(const Problem& p) {
  int64_t tokens = 0;
  for (int32_t b = 0; b < p.batch; ++b) tokens += p.needed_tokens(b);
  return tokens;
}

std::vector<int64_t> writer_slots(const Problem& p) {
  std::vector<int64_t> slots;
  for (int32_t b = 0; b < p.batch; ++b)
    for (int64_t i = 0, n = p.needed_tokens(b); i < n; ++i) {
      const bool skipped = p.skip_every > 0 && (int64_t(slots.size()) + 1) % p.skip_every == 0;
      slots.push_back(skipped ? -1 : int64_t{p.block_of(b, i)} * p.block_size + i % p.block_size);
    }
  return slots;
}

bool is_written(const Problem& p, int64_t slot) { return slot >= 0 && slot < p.num_blocks * p.block_size; }

std::vector<float> key_of_token(const Problem& p, const SparseBuffer& keys, int64_t token) {
  const int32_t bytes = key_bytes(p.key_type);
  const uint8_t* from = keys.data() + token * p.keys_stride * bytes;
  std::vector<float> key;
  for (int32_t d = 0; d < p.head_dim; ++d)
    key.push_back(decode_key(p.key_type, load_key_bits(p.key_type, from + int64_t{d} * bytes)));
  return key;
}

void put_token(const Problem& p, SparseBuffer& cache, int64_t slot, const QuantisedKey& key) {
  const int64_t block = slot / p.block_size;
  const auto token = int32_t(slot % p.block_size);
  for (int32_t d = 0; d < p.head_dim; ++d)
    cache.fill(value_offset_bytes(p, block, token, d), 1)[0] = key.values[size_t(d)];
  std::memcpy(cache.fill(scale_offset_bytes(p, block, token), 4).data(), &key.scale, 4);
}

} // namespace mqalab
