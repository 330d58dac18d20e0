#include "fuzz/device_scan.hpp"

#include "fuzz/device.hpp"
#include "fuzz/device_scan_launch.hpp"

#include <algorithm>
#include <vector>

namespace mqalab {
namespace {

constexpr int64_t kMostRowsAtOnce = 4096; // of a comparison

void finish(hipError_t launched, const char* what) {
  require(launched, what);
  require(hipDeviceSynchronize(), what);
}

// What passes need stays allocated, and is never freed: at the process's end the runtime may be gone first.
struct Scratch {
  DeviceBuffer of_blocks, rows;
  Scratch() {
    of_blocks.resize(kMostScanBlocks * static_cast<int64_t>(sizeof(ScanTotals)));
    rows.resize(kMostRowsAtOnce * static_cast<int64_t>(sizeof(RowsToCompare)));
  }
};
Scratch& scratch() {
  static Scratch& kept = *new Scratch;
  return kept;
}

// Runs a pass that adds up.
template <class Start> ScanTotals totals_of(Start start, const char* what) {
  apply_stress({});
  int64_t blocks = 0;
  const DeviceBuffer& on_device = scratch().of_blocks;
  finish(start(reinterpret_cast<ScanTotals*>(on_device.data()), &blocks), what);
  std::vector<ScanTotals> of_blocks(static_cast<size_t>(blocks));
  on_device.download(0, of_blocks.data(), blocks * static_cast<int64_t>(sizeof(ScanTotals)));
  ScanTotals all;
  for (const ScanTotals& block : of_blocks) {
    all.count += block.count;
    all.first = std::min(all.first, block.first);
  }
  return all;
}

uint32_t word_at(const void* words, int64_t index) {
  uint32_t word = 0;
  require(hipMemcpy(&word, static_cast<const uint32_t*>(words) + index, sizeof word, hipMemcpyDeviceToHost),
          "hipMemcpy");
  return word;
}

template <class Pattern>
ScanResult scan(const uint32_t* words, int64_t count, Pattern pattern, bool equal, int64_t first_element) {
  if (count <= 0) return {};
  const Words all{const_cast<uint32_t*>(words), count};
  const ScanTotals totals =
      totals_of([&](ScanTotals* of_blocks,
                    int64_t* blocks) { return launch_scan(all, pattern, equal, of_blocks, blocks); },
                "a scan of an output");
  if (totals.count == 0) return {};
  const auto index = static_cast<int64_t>(totals.first);
  return {static_cast<int64_t>(totals.count), first_element + index, word_at(words, index)};
}

template <class Pattern> void fill(uint32_t* words, int64_t count, Pattern pattern) {
  if (count <= 0) return;
  apply_stress({});
  finish(launch_prefill({words, count}, pattern), "a prefill of an output");
}

} // namespace

void prefill_on_device(uint32_t* words, int64_t count, uint64_t salt, int64_t first_element) {
  fill(words, count, SentinelPattern{salt, first_element});
}
void fill_on_device(uint32_t* words, int64_t count, uint32_t word) {
  fill(words, count, ConstantPattern{word});
}

ScanResult scan_written(const uint32_t* words, int64_t count, uint64_t salt, int64_t first_element) {
  return scan(words, count, SentinelPattern{salt, first_element}, false, first_element);
}
ScanResult scan_untouched(const uint32_t* words, int64_t count, uint64_t salt, int64_t first_element) {
  return scan(words, count, SentinelPattern{salt, first_element}, true, first_element);
}
ScanResult scan_other_than(const uint32_t* words, int64_t count, uint32_t word) {
  return scan(words, count, ConstantPattern{word}, false, 0);
}

namespace {

ScanResult compare_some(const float* ours, const float* theirs, std::span<const RowsToCompare> rows,
                        double factor) {
  int64_t most_columns = 0;
  for (const RowsToCompare& row : rows) most_columns = std::max(most_columns, row.columns);
  if (most_columns == 0) return {};
  DeviceBuffer& list = scratch().rows;
  list.upload(0, rows.data(), static_cast<int64_t>(rows.size_bytes()));
  const ScanTotals totals = totals_of(
      [&](ScanTotals* of_blocks, int64_t* blocks) {
        return launch_compare(ours, theirs, reinterpret_cast<const RowsToCompare*>(list.data()),
                              static_cast<int64_t>(rows.size()), most_columns, factor, of_blocks, blocks);
      },
      "a comparison of two outputs");
  if (totals.count == 0) return {};
  const auto first = static_cast<int64_t>(totals.first);
  // The row that holds it says where theirs is.
  const auto row = std::ranges::find_if(
      rows, [&](const RowsToCompare& r) { return r.ours <= first && first < r.ours + r.columns; });
  return {static_cast<int64_t>(totals.count), first, word_at(theirs, row->theirs + first - row->ours)};
}

} // namespace

ScanResult compare_on_device(const float* ours, const float* theirs, std::span<const RowsToCompare> rows,
                             double factor) {
  ScanResult all;
  while (!rows.empty()) {
    const size_t now = std::min(rows.size(), static_cast<size_t>(kMostRowsAtOnce));
    const ScanResult some = compare_some(ours, theirs, rows.first(now), factor);
    if (some.count > 0 && (all.first < 0 || some.first < all.first))
      all.first = some.first, all.got = some.got;
    all.count += some.count;
    rows = rows.subspan(now);
  }
  return all;
}

} // namespace mqalab
