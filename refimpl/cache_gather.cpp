#include "refimpl/cache_gather.hpp"

#include <cstring>

namespace mqalab {

namespace {

constexpr uint32_t kMissingScale = 0x7fc00000u; // a quiet NaN

} // namespace

std::vector<int32_t> gather_prefix(const Problem& p) {
  std::vector<int32_t> prefix{0};
  for (int32_t b = 0; b < p.batch; ++b) prefix.push_back(prefix.back() + int32_t(p.needed_tokens(b)));
  return prefix;
}

GatheredKey gathered(const Problem& p, const SparseBuffer& cache, int32_t sequence, int64_t token) {
  GatheredKey out{std::vector<uint8_t>(size_t(p.head_dim), 0), kMissingScale};
  const int32_t block = p.block_of(sequence, token);
  if (block < 0 || block >= p.num_blocks) return out;
  const auto in_block = int32_t(token % p.block_size);
  for (int32_t d = 0; d < p.head_dim; ++d)
    out.values[size_t(d)] = cache.data()[value_offset_bytes(p, block, in_block, d)];
  std::memcpy(&out.scale_bits, cache.data() + scale_offset_bytes(p, block, in_block), 4);
  return out;
}

int64_t gathered_keys_bytes(const Problem& p) { return gather_prefix(p).back() * p.keys_stride; }
int64_t gathered_scales_bytes(const Problem& p) { return 4 * gather_prefix(p).back() * p.key_scales_stride; }

} // namespace mqalab
