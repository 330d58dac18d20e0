#include "fuzz/displaced.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

namespace mqalab {
namespace {

constexpr double kMostlyOnce = 0.5, kChance = 0.01;

bool is_evidence(float v) { return std::isfinite(v) && v != 0; }

float scale_at(const Expected& due, int64_t row, int64_t column) {
  const Problem& p = due.problem;
  if (column < p.first(row) || column >= p.limit(row)) return 0; // no token is due there
  const int32_t block = p.block_at(row, column);
  if (block < 0 || block >= p.num_blocks) return 0;
  float scale;
  const auto token = static_cast<int32_t>(column % p.block_size); // prefill: 0, its block size is 1
  std::memcpy(&scale, due.tensors.scales(p).data() + scale_offset_bytes(p, block, token), sizeof scale);
  return scale;
}

} // namespace

ValueIndex::ValueIndex(const Expected& due, const Output& out) {
  const Problem& p = due.problem;
  for (int64_t row = 0; row < p.output_rows(); ++row)
    for (size_t i = 0; i < due.rows[row].value.size(); ++i) {
      const int64_t column = due.rows[row].first + static_cast<int64_t>(i);
      const int64_t cell = out.watch.cell_of(p.output_offset(row) + column);
      const float value =
          due.exact ? static_cast<float>(due.rows[row].value[i]) : std::bit_cast<float>(out.cells[cell]);
      if (is_evidence(value)) entries_.push_back({std::bit_cast<uint32_t>(value), row, column});
    }
  std::sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) { return a.bits < b.bits; });
  const size_t count = entries_.size();
  size_t twice = 0;
  for (size_t i = 0; i < count; ++i)
    twice += (i > 0 && entries_[i - 1].bits == entries_[i].bits) ||
             (i + 1 < count && entries_[i + 1].bits == entries_[i].bits);
  if (count > 0) twice_ = static_cast<double>(twice) / static_cast<double>(count);
}

bool ValueIndex::is_more_than_chance(size_t found) const {
  return twice_ <= kMostlyOnce && std::pow(twice_, static_cast<double>(found)) <= kChance;
}

std::optional<CellPlace> ValueIndex::find(const Deviation& d) const {
  if (!is_evidence(std::bit_cast<float>(d.got))) return {};
  const auto by_bits = [](const Entry& a, const Entry& b) { return a.bits < b.bits; };
  const auto [begin, end] = std::equal_range(entries_.begin(), entries_.end(), Entry{d.got, 0, 0}, by_bits);
  const Entry* best = nullptr;
  int best_rank = 3;
  for (auto it = begin; it != end; ++it) {
    if (it->row == d.row && it->column == d.column) continue;
    const int rank = it->row == d.row ? 0 : it->column == d.column ? 1 : 2;
    if (rank < best_rank) best = &*it, best_rank = rank;
  }
  if (!best) return {};
  return CellPlace{best->row, best->column};
}

int64_t slot_read(const Expected& due, const Deviation& d) {
  const float logit = std::bit_cast<float>(d.got);
  if (due.data.pattern != Pattern::address || due.data.lane != Lane::exact || !is_evidence(logit)) return -1;
  if (is_per_head(due.problem.op)) return -1; // one head has one digit of eight
  const float own = scale_at(due, d.row, d.column);
  if (is_evidence(own))
    if (const int64_t slot = decode_address(due.problem, due.data, d.row, logit, own); slot >= 0) return slot;
  // The scale came from elsewhere, too: the right guess is the one whose slot really has that scale.
  for (const float scale : {0.25f, 0.5f, 1.0f, 2.0f, 4.0f}) {
    const int64_t slot = decode_address(due.problem, due.data, d.row, logit, scale);
    if (slot >= 0 && std::ldexp(1.0f, static_cast<int>(slot % 5) - 2) == scale) return slot;
  }
  return -1;
}

} // namespace mqalab
