#include "refimpl/keys_data.hpp"

#include "refimpl/cache_write.hpp"
#include "refimpl/fp8.hpp"
#include "refimpl/key_types.hpp"
#include "refimpl/random.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace mqalab {

namespace {

enum class Oddity : uint64_t {
  zeros,
  tiny,
  nan,
  all_nan,
  infinity,
  denormal,
  ties,
  edges,
  largest,
  raw,
  count
};

// The elements of one token.
class TokenElements {
public:
  TokenElements(const Problem& p, const DataSpec& data, int64_t token)
      : p_(p), data_(data), stream_(Stream(data.seed, kPurpose).at(uint64_t(token))),
        choice_(stream_.at(kChoice)) {}

  uint32_t bits(int32_t dim) const {
    const Stream draw = stream_.at(uint64_t(dim));
    if (data_.pattern == Pattern::raw_bytes) return raw(draw);
    switch (data_.lane) {
    case Lane::exact:
      return encode(double(int64_t(draw.below(31)) - 15) * std::ldexp(1.0, int(choice_.below(13)) - 6));
    case Lane::numeric: return encode(ordinary(draw));
    case Lane::special: break;
    }
    return odd(draw, dim);
  }

private:
  static constexpr uint64_t kPurpose = 0x6b657973;       // "keys"
  static constexpr uint64_t kChoice = uint64_t{1} << 40; // no dim

  uint32_t encode(double value) const { return encode_key(p_.key_type, value); }
  uint32_t raw(const Stream& draw) const {
    return p_.key_type == MQA_KEY_FP32 ? uint32_t(draw.word(0)) : uint32_t(draw.word(0) & 0xffff);
  }
  double ordinary(const Stream& draw) const {
    const bool even = data_.pattern == Pattern::positive;
    return draw.gaussian() * (even ? 1.0 : std::pow(10.0, choice_.uniform(1) * 10 - 7));
  }

  uint32_t odd(const Stream& draw, int32_t dim) const {
    const bool here = dim == int32_t(choice_.below(uint64_t(p_.head_dim), 2)),
               negative = draw.below(2, 5) != 0;
    const double sign = negative ? -1 : 1;
    switch (Oddity(choice_.below(uint64_t(Oddity::count), 3))) {
    case Oddity::zeros: return encode(sign * 0.0);
    case Oddity::tiny: return encode(draw.gaussian() * 2e-5);
    case Oddity::nan: return here ? encode(std::nan("")) : encode(ordinary(draw));
    case Oddity::all_nan: return encode(std::nan(""));
    case Oddity::infinity: return here ? encode(sign * INFINITY) : encode(ordinary(draw));
    case Oddity::denormal:
      return raw(draw) & (p_.key_type == MQA_KEY_FP16   ? 0x83ffu
                          : p_.key_type == MQA_KEY_BF16 ? 0x807fu
                                                        : 0x807fffffu);
    case Oddity::ties:
      return encode(sign * (dim == 0 ? largest_code() : halfway(draw)) * std::ldexp(1.0, exponent()));
    case Oddity::edges: return encode(sign * largest_code() * std::ldexp(1.0, exponent()) * edge(draw));
    case Oddity::largest:
      return here ? encode(sign * largest_key(p_.key_type))
                  : encode(sign * draw.uniform() * largest_key(p_.key_type));
    case Oddity::raw: break;
    case Oddity::count: break;
    }
    return raw(draw);
  }
  int exponent() const { return int(choice_.below(12, 4)) - 6; }
  double largest_code() const { return p_.fp8 == MQA_E4M3FN ? 448 : 240; }
  // With the largest code in dim 0 the scale is a power of two, and these meet the encoder exactly between
  // two codes.
  double halfway(const Stream& draw) const {
    const auto code = uint8_t(draw.below(0x7d, 6));
    return (decode_fp8(p_.fp8, code) + decode_fp8(p_.fp8, uint8_t(code + 1))) / 2;
  }
  static double edge(const Stream& draw) {
    constexpr double kFactors[] = {1,         1 - 0x1p-7, 1 - 0x1p-5, 1 - 0x1p-4,
                                   31 / 32.0, 0x1p-9,     0x1p-15,    0x1p-18};
    return kFactors[draw.below(std::size(kFactors), 7)];
  }

  const Problem& p_;
  const DataSpec& data_;
  Stream stream_, choice_;
};

constexpr int64_t kMargin_bytes = 256; // of poison on both sides of a token in a tensor too large to fill
constexpr int64_t kDense_bytes = 1 << 24;

class KeyTensor {
public:
  KeyTensor(const Problem& p, const DataSpec& data, Poison poison)
      : p_(p), data_(data), bytes_(key_bytes(p.key_type)), tokens_(writer_tokens(p)),
        out_(tokens_ ? ((tokens_ - 1) * p.keys_stride + p.head_dim) * bytes_ : 0),
        poison_(encode_key(p.key_type, poison == Poison::nan_codes ? std::nan("") : 0x1p15)) {}

  SparseBuffer run() {
    const std::vector<int64_t> slots = writer_slots(p_);
    if (out_.size() <= kDense_bytes) paint(0, out_.size());
    for (int64_t token = 0; token < tokens_; ++token) {
      const int64_t begin = offset(token, 0);
      if (out_.size() > kDense_bytes)
        paint(begin - kMargin_bytes, begin + int64_t{p_.head_dim} * bytes_ + kMargin_bytes);
    }
    for (int64_t token = 0; token < tokens_; ++token)
      if (is_written(p_, slots[size_t(token)])) fill(token);
    for (const Override& o : data_.overrides)
      if (o.tensor == Tensor::k && o.index >= 0 && o.index < tokens_ * p_.head_dim)
        put(o.index / p_.head_dim, int32_t(o.index % p_.head_dim), o.bits);
    return std::move(out_);
  }

private:
  int64_t offset(int64_t token, int32_t dim) const { return (token * p_.keys_stride + dim) * bytes_; }
  void put(int64_t token, int32_t dim, uint32_t bits) {
    store_key_bits(p_.key_type, bits, out_.data() + offset(token, dim));
  }
  void paint(int64_t begin, int64_t end) {
    begin = std::max<int64_t>(begin, 0), end = std::min(end, out_.size());
    const std::span<uint8_t> bytes = out_.fill(begin, end - begin);
    for (int64_t i = 0; i + bytes_ <= int64_t(bytes.size()); i += bytes_)
      store_key_bits(p_.key_type, poison_, bytes.data() + i);
  }
  void fill(int64_t token) {
    const TokenElements elements(p_, data_, token);
    for (int32_t d = 0; d < p_.head_dim; ++d) put(token, d, elements.bits(d));
  }

  const Problem& p_;
  const DataSpec& data_;
  int32_t bytes_;
  int64_t tokens_;
  SparseBuffer out_;
  uint32_t poison_;
};

} // namespace

SparseBuffer make_keys(const Problem& p, const DataSpec& data, Poison poison) {
  return KeyTensor(p, data, poison).run();
}

} // namespace mqalab
