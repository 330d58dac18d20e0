#include "fuzz/device_scan.hpp"

#include "fuzz/device.hpp"
#include "fuzz/device_scan_launch.hpp"

#include <algorithm>

namespace mqalab {
namespace {

void finish(hipError_t launched, const char* what) {
  require(launched, what);
  require(hipDeviceSynchronize(), what);
}

// Runs a pass that adds up.
template <class Start> ScanTotals totals_of(Start start, const char* what) {
  apply_stress({});
  ScanTotals totals;
  DeviceBuffer on_device;
  on_device.resize(sizeof totals);
  on_device.upload(0, &totals, sizeof totals);
  finish(start(reinterpret_cast<ScanTotals*>(on_device.data())), what);
  on_device.download(0, &totals, sizeof totals);
  return totals;
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
  const ScanTotals totals = totals_of([&](ScanTotals* out) { return launch_scan(all, pattern, equal, out); },
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

ScanResult compare_on_device(const float* ours, const float* theirs, std::span<const RowsToCompare> rows,
                             double factor) {
  int64_t most_columns = 0;
  for (const RowsToCompare& row : rows) most_columns = std::max(most_columns, row.columns);
  if (most_columns == 0) return {};
  DeviceBuffer list;
  list.resize(static_cast<int64_t>(rows.size_bytes()));
  list.upload(0, rows.data(), list.size());
  const ScanTotals totals = totals_of(
      [&](ScanTotals* out) {
        return launch_compare(ours, theirs, reinterpret_cast<const RowsToCompare*>(list.data()),
                              static_cast<int64_t>(rows.size()), most_columns, factor, out);
      },
      "a comparison of two outputs");
  if (totals.count == 0) return {};
  const auto first = static_cast<int64_t>(totals.first);
  // The row that holds it says where theirs is.
  const auto row = std::find_if(rows.begin(), rows.end(), [&](const RowsToCompare& r) {
    return r.ours <= first && first < r.ours + r.columns;
  });
  return {static_cast<int64_t>(totals.count), first, word_at(theirs, row->theirs + first - row->ours)};
}

} // namespace mqalab
