// Puts elements where the problem's layout wants them, poison everywhere else, overrides on top.
#include "refimpl/generate.hpp"
#include "refimpl/elements.hpp"
#include "refimpl/fp8.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace mqalab {

namespace {

// Poison of each kind of element.  Large finite stays finite when it is multiplied through, so that it is no
// class change that gives it away.
struct PoisonBits {
  uint8_t fp8 = 0;
  float fp32 = 0;
};

PoisonBits poison_bits(mqa_fp8 flavour, Poison poison) {
  if (poison == Poison::large_finite)
    return {flavour == MQA_E4M3FN ? uint8_t{0x7E} : uint8_t{0x7F}, 0x1p100f};
  return {flavour == MQA_E4M3FN ? uint8_t{0x7F} : uint8_t{0x80}, std::numeric_limits<float>::quiet_NaN()};
}

void store(std::span<uint8_t> bytes, float value) { std::memcpy(bytes.data(), &value, sizeof value); }

class Generator {
public:
  Generator(const Problem& problem, const DataSpec& data, Poison poison, int64_t dense_bytes)
      : p_(problem), elements_(problem, data), poison_(poison_bits(problem.fp8, poison)),
        dense_bytes_(dense_bytes),
        out_{SparseBuffer(query_bytes(problem)), SparseBuffer(kv_cache_bytes(problem)),
             SparseBuffer(weights_bytes(problem)), SparseBuffer(key_scales_bytes(problem))} {}

  Tensors run(const std::vector<Override>& overrides) {
    poison_pool();
    poison_scales();
    poison_queries();
    poison_weights();
    for (const NeededBlock& needed : needed_) fill_block(needed);
    // Rows may share bytes (stride 0): downwards, so that the lowest row is the one that stays, however many
    // there are.
    for (int64_t row = p_.rows(); row-- > 0;) fill_row(row);
    for (const Override& o : overrides) apply(o);
    return std::move(out_);
  }

private:
  static constexpr int64_t kMargin =
      256; // bytes of poison on both sides of a row in a buffer too large to fill

  // One block of nothing but poison: values, scales, and its padding, of which a huge pool gets the beginning
  // only: a block stride of 2^31 would be 2 GiB a block.
  std::vector<uint8_t> poisoned_block() const {
    const int64_t used = is_prefill() ? p_.head_dim : int64_t{p_.block_size} * (p_.head_dim + 4);
    const int64_t all = kv_cache_bytes(p_);
    const int64_t bytes = std::min(p_.kv_block_stride_bytes, all <= dense_bytes_ ? all : used + kMargin);
    std::vector<uint8_t> block(bytes, poison_.fp8);
    for (int32_t t = 0; t < p_.block_size && !is_prefill(); ++t)
      store({block.data() + scale_offset_bytes(p_, 0, t), 4}, poison_.fp32);
    return block;
  }

  std::vector<int64_t> blocks_to_poison() const {
    std::vector<int64_t> ids;
    if (kv_cache_bytes(p_) <= dense_bytes_) {
      for (int64_t id = 0; id < p_.num_blocks; ++id) ids.push_back(id);
      return ids;
    }
    for (const NeededBlock& needed : needed_)
      for (int64_t id = needed.block - 1; id <= needed.block + 1; ++id)
        if (id >= 0 && id < p_.num_blocks && (ids.empty() || id > ids.back())) ids.push_back(id);
    return ids;
  }

  void poison_pool() {
    const std::vector<uint8_t> block = poisoned_block();
    for (int64_t id : blocks_to_poison()) {
      // The last key of a prefill ends the tensor.
      const int64_t begin = id * p_.kv_block_stride_bytes,
                    count = std::min(int64_t(block.size()), out_.kv_cache.size() - begin);
      std::memcpy(out_.kv_cache.fill(begin, count).data(), block.data(), size_t(count));
    }
  }

  void poison_scales() {
    if (out_.key_scales.size() <= dense_bytes_)
      return poison_floats(out_.key_scales.fill(0, out_.key_scales.size()));
    for (const NeededBlock& needed : needed_)
      poison_around(out_.key_scales, scale_offset_bytes(p_, needed.block, 0), 4,
                    [this](std::span<uint8_t> bytes) { poison_floats(bytes); });
  }

  template <class Paint>
  void poison_around(SparseBuffer& buffer, int64_t offset, int64_t count, Paint paint) {
    const int64_t begin = std::max<int64_t>(0, offset - kMargin);
    const int64_t end = std::min(buffer.size(), offset + count + kMargin);
    paint(buffer.fill(begin, end - begin));
  }

  void poison_queries() {
    const auto paint = [this](std::span<uint8_t> bytes) {
      std::fill(bytes.begin(), bytes.end(), poison_.fp8);
    };
    if (out_.q.size() <= dense_bytes_) return paint(out_.q.fill(0, out_.q.size()));
    for (int64_t row = 0; row < p_.rows(); ++row)
      for (int32_t h = 0; h < p_.heads; ++h)
        poison_around(out_.q, query_offset_bytes(p_, row, h, 0), p_.head_dim, paint);
  }

  void poison_weights() {
    const auto paint = [this](std::span<uint8_t> bytes) { poison_floats(bytes); };
    if (out_.weights.size() <= dense_bytes_) return paint(out_.weights.fill(0, out_.weights.size()));
    for (int64_t row = 0; row < p_.rows(); ++row)
      poison_around(out_.weights, 4 * row * p_.weights_stride, 4 * int64_t{p_.heads}, paint);
  }

  void poison_floats(std::span<uint8_t> bytes) const {
    for (size_t i = 0; i + 4 <= bytes.size(); i += 4) store(bytes.subspan(i, 4), poison_.fp32);
  }

  bool is_prefill() const { return p_.op == Operation::prefill_logits; }

  void fill_block(const NeededBlock& needed) {
    std::vector<uint8_t> dims(p_.head_dim);
    const int32_t run = p_.layout == MQA_PLANAR ? p_.head_dim : 16; // dims that lie side by side
    for (int32_t t = 0; t < needed.tokens; ++t) {
      elements_.key(needed.block, t, dims);
      for (int32_t d = 0; d < p_.head_dim; d += run)
        std::memcpy(out_.kv_cache.data() + value_offset_bytes(p_, needed.block, t, d), dims.data() + d, run);
      store({out_.scales(p_).data() + scale_offset_bytes(p_, needed.block, t), 4},
            elements_.scale(needed.block, t));
    }
  }

  void fill_row(int64_t row) {
    const int32_t sequence = int32_t(row / p_.next_n), n = int32_t(row % p_.next_n);
    for (int32_t h = p_.heads; h-- > 0;) {
      elements_.query(sequence, n, h, out_.q.fill(query_offset_bytes(p_, row, h, 0), p_.head_dim));
      store(out_.weights.fill(4 * (row * p_.weights_stride + h), 4), elements_.weight(sequence, n, h));
    }
  }

  void apply(const Override& o) {
    const int64_t slots = p_.num_blocks * p_.block_size, heads = p_.rows() * p_.heads, d = p_.head_dim;
    const int64_t count[] = {heads * d, slots * d, slots, heads};
    if (o.index < 0 || o.index >= count[int(o.tensor)]) return;
    const int64_t vector = o.index / d, row = vector / p_.heads, slot = vector;
    const float value = std::bit_cast<float>(o.bits);
    switch (o.tensor) {
    case Tensor::q:
      out_.q.fill(query_offset_bytes(p_, row, int32_t(vector % p_.heads), int32_t(o.index % d)), 1)[0] =
          uint8_t(o.bits);
      break;
    case Tensor::k:
      out_.kv_cache.fill(
          value_offset_bytes(p_, slot / p_.block_size, int32_t(slot % p_.block_size), int32_t(o.index % d)),
          1)[0] = uint8_t(o.bits);
      break;
    case Tensor::scale:
      store(out_.scales(p_).fill(
                scale_offset_bytes(p_, o.index / p_.block_size, int32_t(o.index % p_.block_size)), 4),
            value);
      break;
    case Tensor::weights:
      store(out_.weights.fill(4 * (o.index / p_.heads * p_.weights_stride + o.index % p_.heads), 4), value);
      break;
    }
  }

  const Problem& p_;
  Elements elements_;
  PoisonBits poison_;
  int64_t dense_bytes_;
  Tensors out_;
  std::vector<NeededBlock> needed_ = needed_pool(p_);
};

bool is_integer_up_to(double value, double largest) {
  return std::fabs(value) <= largest && value == std::trunc(value);
}

bool keeps_exact(const Problem& p, const Override& o) {
  const ExactRange range = exact_range(p.heads, p.head_dim);
  const float value = std::bit_cast<float>(o.bits);
  int exponent = 0;
  switch (o.tensor) {
  case Tensor::q:
  case Tensor::k: return is_integer_up_to(decode_fp8(p.fp8, uint8_t(o.bits)), range.key);
  case Tensor::scale: return std::frexp(value, &exponent) == 0.5f && exponent >= -5 && exponent <= 7;
  case Tensor::weights: return is_integer_up_to(value, range.weight);
  }
  return false;
}

} // namespace

SparseBuffer& Tensors::scales(const Problem& p) {
  return p.op == Operation::prefill_logits ? key_scales : kv_cache;
}
const SparseBuffer& Tensors::scales(const Problem& p) const {
  return p.op == Operation::prefill_logits ? key_scales : kv_cache;
}

bool is_exact(const Problem& p, const DataSpec& data) {
  if (data.lane != Lane::exact || data.pattern == Pattern::raw_bytes) return false;
  if (data.pattern == Pattern::address) return data.overrides.empty();
  return std::all_of(data.overrides.begin(), data.overrides.end(),
                     [&p](const Override& o) { return keeps_exact(p, o); });
}

Tensors generate(const Problem& problem, const DataSpec& data, Poison poison, int64_t dense_pool_bytes) {
  return Generator(problem, data, poison, dense_pool_bytes).run(data.overrides);
}

} // namespace mqalab
