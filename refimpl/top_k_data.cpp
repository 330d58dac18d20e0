#include "refimpl/top_k_data.hpp"
#include "refimpl/random.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

namespace mqalab {
namespace {

constexpr uint64_t kPurpose = 0x746f706b; // a stream of its own
constexpr int64_t kNeighbours = 64; // poisoned columns on either side of the candidates in a sparse buffer
constexpr float kNanPoison = std::numeric_limits<float>::quiet_NaN(), kHugePoison = 3.0e38f;

class Row {
public:
  Row(const Problem& p, const DataSpec& data, int64_t row)
      : data_(data), row_(row), stream_(Stream(data.seed, kPurpose).at(static_cast<uint64_t>(row))),
        outlier_(p.first(row) + static_cast<int64_t>(stream_.below(static_cast<uint64_t>(
                                    std::max<int64_t>(p.limit(row) - p.first(row), 1))))) {}

  float logit(int64_t column) const {
    const Stream at = stream_.at(static_cast<uint64_t>(column));
    if (data_.pattern == Pattern::raw_bytes) return std::bit_cast<float>(static_cast<uint32_t>(at.word(0)));
    if (data_.lane == Lane::numeric) return static_cast<float>(at.gaussian());
    return data_.lane == Lane::special ? special(at, column) : exact(at, column);
  }

private:
  float exact(const Stream& at, int64_t column) const {
    switch (data_.pattern) {
    case Pattern::positive:
      return at.below(2, 1) ? static_cast<float>(1 + at.below(64)) / 8 : at.below(2, 2) ? 0.0f : -0.0f;
    case Pattern::address: return static_cast<float>(row_ % 2 ? -column : column);
    case Pattern::one_token: return column == outlier_ ? 2.0f : 1.0f;
    case Pattern::one_head: return 1.0f;
    case Pattern::one_dim: return std::bit_cast<float>(0x40490000u + static_cast<uint32_t>(at.below(1024)));
    default: return (static_cast<float>(at.below(9)) - 4) / 2;
    }
  }
  float special(const Stream& at, int64_t column) const {
    using Limits = std::numeric_limits<float>;
    const bool lonely = data_.pattern == Pattern::one_token && column == outlier_;
    if (data_.pattern == Pattern::one_head || data_.pattern == Pattern::one_token)
      return lonely ? -Limits::infinity() : Limits::quiet_NaN();
    constexpr float kSpecials[] = {Limits::quiet_NaN(),
                                   -Limits::quiet_NaN(),
                                   Limits::infinity(),
                                   -Limits::infinity(),
                                   Limits::denorm_min(),
                                   -Limits::denorm_min(),
                                   -0.0f,
                                   0.0f,
                                   Limits::max(),
                                   Limits::lowest(),
                                   Limits::min()};
    return at.below(3, 2) ? static_cast<float>(at.gaussian()) : kSpecials[at.below(std::size(kSpecials), 3)];
  }

  const DataSpec& data_;
  int64_t row_;
  Stream stream_;
  int64_t outlier_; // column
};

void fill_with(SparseBuffer& buffer, int64_t begin, int64_t end, float value) {
  begin = std::max<int64_t>(begin, 0), end = std::min(end, buffer.size() / 4);
  if (begin >= end) return;
  auto* to = reinterpret_cast<float*>(buffer.fill(4 * begin, 4 * (end - begin)).data());
  std::fill(to, to + (end - begin), value);
}

} // namespace

std::vector<float> top_k_candidates(const Problem& p, const DataSpec& data, int64_t row) {
  const Row source(p, data, row);
  std::vector<float> logits;
  for (int64_t column = p.first(row); column < p.limit(row); ++column) logits.push_back(source.logit(column));
  return logits;
}

int64_t top_k_logits_bytes(const Problem& p) {
  return p.rows() ? 4 * ((p.rows() - 1) * p.logits_stride + p.max_model_len) : 0;
}

SparseBuffer top_k_logits(const Problem& p, const DataSpec& data, Poison poison, int64_t dense_bytes) {
  SparseBuffer buffer(top_k_logits_bytes(p));
  const float bad = poison == Poison::nan_codes ? kNanPoison : kHugePoison;
  const bool sparse = buffer.size() > dense_bytes;
  if (!sparse) fill_with(buffer, 0, buffer.size() / 4, bad);
  for (int64_t row = 0; sparse && row < p.rows(); ++row) {
    const int64_t start = row * p.logits_stride;
    fill_with(buffer, start + p.first(row) - kNeighbours,
              start + std::max(p.first(row), p.limit(row)) + kNeighbours, bad);
  }
  for (int64_t row = 0; row < p.rows(); ++row) {
    const std::vector<float> logits = top_k_candidates(p, data, row);
    if (logits.empty()) continue;
    const auto bytes = static_cast<int64_t>(4 * logits.size());
    std::memcpy(buffer.fill(4 * (row * p.logits_stride + p.first(row)), bytes).data(), logits.data(),
                logits.size() * 4);
  }
  return buffer;
}

} // namespace mqalab
