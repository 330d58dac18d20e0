#include "fuzz/device_scan.hpp"

#include "fuzz/device.hpp"
#include "fuzz/device_scan_launch.hpp"

#include <algorithm>
#include <array>
#include <vector>

namespace mqalab {
namespace {

constexpr int64_t kMostRowsAtOnce = 4096;

// What passes need stays allocated, and is never freed: at the process's end the runtime may be gone first.
struct Scratch {
  DeviceBuffer of_blocks, rows;
  Scratch() {
    of_blocks.resize(kScanKinds * kMostScanBlocks * static_cast<int64_t>(sizeof(ScanTotals)));
    rows.resize(kMostRowsAtOnce * static_cast<int64_t>(std::max(sizeof(RowsToCompare), sizeof(RowToScan))));
  }
};
Scratch& scratch() {
  static Scratch& kept = *new Scratch;
  return kept;
}

// The list of rows of one pass, on the device.
template <class Row> const Row* uploaded(std::span<const Row> rows) {
  scratch().rows.upload(0, rows.data(), static_cast<int64_t>(rows.size_bytes()));
  return reinterpret_cast<const Row*>(scratch().rows.data());
}

// Runs a pass that adds up `Kinds` kinds of words, a total of each from every block.
template <int Kinds, class Start> std::array<ScanTotals, Kinds> totals_of(Start start, const char* what) {
  apply_stress({});
  int64_t blocks = 0;
  const DeviceBuffer& on_device = scratch().of_blocks;
  require(start(reinterpret_cast<ScanTotals*>(on_device.data()), &blocks), what);
  require(hipDeviceSynchronize(), what);
  std::vector<std::array<ScanTotals, Kinds>> of_blocks(static_cast<size_t>(blocks));
  on_device.download(0, of_blocks.data(), blocks * Kinds * static_cast<int64_t>(sizeof(ScanTotals)));
  std::array<ScanTotals, Kinds> all;
  for (const auto& block : of_blocks)
    for (size_t kind = 0; kind < Kinds; ++kind) {
      all[kind].count += block[kind].count;
      all[kind].first = std::min(all[kind].first, block[kind].first);
    }
  return all;
}

uint32_t word_at(const void* words, int64_t index) {
  uint32_t word = 0;
  require(hipMemcpy(&word, static_cast<const uint32_t*>(words) + index, sizeof word, hipMemcpyDeviceToHost),
          "hipMemcpy");
  return word;
}

void add(ScanResult& all, const ScanResult& some) {
  if (some.count > 0 && (all.first < 0 || some.first < all.first)) all.first = some.first, all.got = some.got;
  all.count += some.count;
}

// As many rows at a time as the list on the device holds.
template <class Row, class Pass> void in_parts(std::span<const Row> rows, Pass pass) {
  for (; !rows.empty(); rows = rows.subspan(std::min<size_t>(rows.size(), kMostRowsAtOnce)))
    pass(rows.first(std::min<size_t>(rows.size(), kMostRowsAtOnce)));
}

void scan_some(RowScan& all, const uint32_t* words, std::span<const RowToScan> rows, uint64_t salt) {
  int64_t most_columns = 0;
  for (const RowToScan& row : rows) most_columns = std::max(most_columns, row.end - row.begin);
  if (most_columns == 0) return;
  const auto totals = totals_of<kScanKinds>(
      [&](ScanTotals* of_blocks, int64_t* blocks) {
        return launch_scan_rows(words, uploaded(rows), static_cast<int64_t>(rows.size()), most_columns, salt,
                                of_blocks, blocks);
      },
      "a scan of an output");
  ScanResult* const kinds[kScanKinds] = {&all.untouched, &all.touched, &all.not_low};
  for (size_t kind = 0; kind < kScanKinds; ++kind) {
    if (totals[kind].count == 0) continue;
    const auto first = static_cast<int64_t>(totals[kind].first);
    add(*kinds[kind], {static_cast<int64_t>(totals[kind].count), first, word_at(words, first)});
  }
}

void compare_some(ScanResult& all, const float* ours, const float* theirs,
                  std::span<const RowsToCompare> rows, double factor) {
  int64_t most_columns = 0;
  for (const RowsToCompare& row : rows) most_columns = std::max(most_columns, row.columns);
  if (most_columns == 0) return;
  const auto [totals] = totals_of<1>(
      [&](ScanTotals* of_blocks, int64_t* blocks) {
        return launch_compare(ours, theirs, uploaded(rows), static_cast<int64_t>(rows.size()), most_columns,
                              factor, of_blocks, blocks);
      },
      "a comparison of two outputs");
  if (totals.count == 0) return;
  const auto first = static_cast<int64_t>(totals.first);
  // The row that holds it says where theirs is.
  const auto row = std::ranges::find_if(
      rows, [&](const RowsToCompare& r) { return r.ours <= first && first < r.ours + r.columns; });
  add(all, {static_cast<int64_t>(totals.count), first, word_at(theirs, row->theirs + first - row->ours)});
}

} // namespace

void prefill_on_device(uint32_t* words, int64_t count, uint64_t salt, int64_t first_element) {
  if (count <= 0) return;
  apply_stress({});
  require(launch_prefill(words, count, salt, first_element), "a prefill of an output");
  require(hipDeviceSynchronize(), "a prefill of an output");
}

RowScan scan_rows(const uint32_t* words, std::span<const RowToScan> rows, uint64_t salt) {
  RowScan all;
  in_parts(rows, [&](std::span<const RowToScan> some) { scan_some(all, words, some, salt); });
  return all;
}

ScanResult compare_on_device(const float* ours, const float* theirs, std::span<const RowsToCompare> rows,
                             double factor) {
  ScanResult all;
  in_parts(rows, [&](std::span<const RowsToCompare> some) { compare_some(all, ours, theirs, some, factor); });
  return all;
}

} // namespace mqalab
