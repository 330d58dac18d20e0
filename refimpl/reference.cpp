// The reference's main path: distinct blocks of a sequence -> tiles of keys -> dots -> logits and bounds ->
// the columns that name the block.
#include "refimpl/reference.hpp"
#include "refimpl/cells.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

namespace mqalab {

namespace {

// Rows [first, first + count) of the problem, all of one sequence.
struct RowGroup {
  int64_t first = 0;
  int32_t count = 0;
};

// The rows of a group share the dots of its keys.
class GroupReference {
public:
  GroupReference(const Problem& problem, const Tensors& tensors, const RowGroup& group, int64_t table_start,
                 const Policy& policy, bool with_bound)
      : p_(problem), tensors_(tensors), table_start_(table_start),
        planes_(is_per_head(problem.op) ? problem.heads : 1),
        cells_(problem, policy, with_bound, load_queries(problem, tensors, group.first, group.count)),
        keys_(problem.head_dim) {
    for (int64_t row = group.first; row < group.first + group.count; ++row) {
      const int64_t first = problem.first(row), count = problem.limit(row) - first;
      origins_.push_back(problem.position_of(row, first));
      if (count == 0) continue;
      begin_ = end_ ? std::min(begin_, origins_.back()) : origins_.back();
      end_ = std::max(end_, origins_.back() + count);
    }
    for (int32_t plane = 0; plane < planes_; ++plane)
      for (int64_t row = group.first; row < group.first + group.count; ++row) {
        const int64_t first = problem.first(row);
        const auto count = size_t(problem.limit(row) - first);
        result_.push_back({std::vector<double>(count, std::numeric_limits<double>::quiet_NaN()),
                           std::vector<double>(count, 0), first});
      }
  }

  // Plane after plane, each the group's rows.
  std::vector<RowReference> run() {
    const std::vector<int64_t> order = columns_by_block();
    for (size_t i = 0; i < order.size();) {
      size_t end = i + 1;
      while (end < order.size() && block(order[end]) == block(order[i])) ++end;
      if (block(order[i]) >= 0 && block(order[i]) < p_.num_blocks)
        add_block(block(order[i]), {order.data() + i, end - i});
      i = end;
    }
    flush();
    return std::move(result_);
  }

private:
  // A token of the tile and the columns of the block table that name its block.
  struct Slot {
    std::span<const int64_t> columns;
    int32_t token;
  };

  int32_t block(int64_t column) const {
    return p_.op == Operation::prefill_logits ? int32_t(column) : p_.block_table[table_start_ + column];
  }

  // Those that hold positions [begin_, end_).
  std::vector<int64_t> columns_by_block() const {
    const int64_t first = begin_ / p_.block_size;
    std::vector<int64_t> order(size_t((end_ + p_.block_size - 1) / p_.block_size - first));
    std::iota(order.begin(), order.end(), first);
    std::sort(order.begin(), order.end(),
              [this](int64_t a, int64_t b) { return block(a) != block(b) ? block(a) < block(b) : a < b; });
    return order;
  }

  void add_block(int32_t id, std::span<const int64_t> columns) {
    // The first column is the one that needs most tokens: only the sequence's last column is short.
    const int64_t needed = std::min<int64_t>(p_.block_size, end_ - columns.front() * p_.block_size);
    for (int32_t token = 0; token < needed; ++token) {
      keys_.add(p_, tensors_, id, token);
      slots_.push_back({columns, token});
      if (keys_.count == KeyTile::kTokens) flush();
    }
  }

  void flush() {
    if (keys_.count == 0) return;
    cells_.multiply(keys_);
    for (int32_t row = 0; row < cells_.rows(); ++row) row_of_tile(row);
    keys_.count = 0;
    slots_.clear();
  }

  void row_of_tile(int32_t row) {
    cells_.start_row(row);
    for (int token = 0; token < keys_.count; ++token) {
      if (!is_visible(row, slots_[token])) continue;
      if (!is_per_head(p_.op)) {
        scatter(row, row, slots_[token], cells_.sum(token));
        continue;
      }
      for (int32_t head = 0; head < planes_; ++head)
        scatter(head * cells_.rows() + row, row, slots_[token], cells_.of_head(head, token));
    }
  }

  int64_t index_of(int32_t row, const Slot& slot, int64_t column) const {
    return column * p_.block_size + slot.token - origins_[row];
  }

  // By any of the slot's columns: if not by the first, then by none.
  bool is_visible(int32_t row, const Slot& slot) const {
    const int64_t index = index_of(row, slot, slot.columns.front());
    return index >= 0 && index < int64_t(result_[row].value.size());
  }

  void scatter(int32_t output_row, int32_t row, const Slot& slot, const Cell& cell) {
    RowReference& out = result_[output_row];
    for (int64_t column : slot.columns) {
      const int64_t index = index_of(row, slot, column);
      if (index >= int64_t(out.value.size())) break;
      out.value[index] = cell.value;
      out.bound[index] = cell.bound;
    }
  }

  const Problem& p_;
  const Tensors& tensors_;
  int64_t table_start_;
  int32_t planes_;
  TileCells cells_;
  KeyTile keys_;
  int64_t begin_ = 0, end_ = 0;  // positions that some row sees lie between
  std::vector<int64_t> origins_; // per row: position of its first column with a value
  std::vector<Slot> slots_;
  std::vector<RowReference> result_;
};

// Rows of a prefill whose keys overlap share the dots; a group computes at most twice the dots that are asked
// for, and holds no more queries than stay in cache.
class PrefillGroups {
public:
  explicit PrefillGroups(const Problem& p) : p_(p) {
    for (int64_t row = 0; row < p.rows(); ++row) add(row);
  }
  std::vector<RowGroup> groups;

private:
  static constexpr int64_t kMostColumns = 4096;

  void add(int64_t row) {
    const int64_t count = p_.limit(row) - p_.first(row),
                  first = count ? p_.position_of(row, p_.first(row)) : begin_;
    const int64_t begin = wanted_ ? std::min(begin_, first) : first, end = std::max(end_, first + count);
    const int64_t rows = groups.empty() ? 0 : groups.back().count + 1;
    if (rows && rows * p_.heads <= kMostColumns && rows * (end - begin) <= 2 * (wanted_ + count)) {
      ++groups.back().count;
      begin_ = begin, end_ = end, wanted_ += count;
    } else {
      groups.push_back({row, 1});
      begin_ = first, end_ = first + count, wanted_ = count;
    }
  }

  const Problem& p_;
  int64_t begin_ = 0, end_ = 0,
          wanted_ = 0; // of the last group: the keys between its first and last, the dots asked for
};

std::vector<RowGroup> groups_of(const Problem& p) {
  if (p.op == Operation::prefill_logits) return PrefillGroups(p).groups;
  std::vector<RowGroup> groups;
  for (int64_t first = 0; first < p.rows(); first += p.next_n) groups.push_back({first, p.next_n});
  return groups;
}

} // namespace

RowReference reference_row(const Problem& p, const Tensors& tensors, int64_t output_row, const Policy& policy,
                           bool with_bound) {
  const int64_t row = output_row % p.rows(), plane = output_row / p.rows();
  const int64_t start = table_starts(p)[size_t(row / p.next_n)];
  GroupReference alone(p, tensors, {row, 1}, start, policy, with_bound);
  return std::move(alone.run()[size_t(plane)]);
}

std::vector<RowReference> reference(const Problem& p, const Tensors& tensors, const Policy& policy,
                                    bool with_bound) {
  std::vector<RowReference> rows(static_cast<size_t>(p.output_rows()));
  const std::vector<int64_t> starts = table_starts(p);
  for (const RowGroup& group : groups_of(p)) {
    GroupReference together(p, tensors, group, starts[size_t(group.first / p.next_n)], policy, with_bound);
    std::vector<RowReference> some = together.run();
    for (size_t i = 0; i < some.size(); ++i) {
      const auto plane = int64_t(i) / group.count, row = int64_t(i) % group.count;
      rows[size_t(plane * p.rows() + group.first + row)] = std::move(some[i]);
    }
  }
  return rows;
}

} // namespace mqalab
