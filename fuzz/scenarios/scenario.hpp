// The two historical reports, replayed: what their own metric said, and what the lab says.
#pragma once
#include "fuzz/oracle.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace mqalab {

// ---- (a) vllm-project/vllm#39303: random top-k beyond 2048, or so it seemed ----

enum class TopkSubject : uint8_t {
  correct_on_random_bytes,
  correct_on_clean_data,
  split_fault_on_clean_data
};

struct TopkRow {
  int64_t context = 0;
  // The report's metric: both sorted selections compared position by position, and the largest difference.
  double position_match = 0, largest_difference = 0;
  // Ours: the oracle's verdict, and the share of the reference's selection that is there.
  std::string verdict;
  double set_recall = 0;
};
Case random_topk_case(TopkSubject, int64_t context);
TopkRow random_topk_row(Oracle&, TopkSubject, int64_t context);

// ---- (b) ROCm/aiter#4244: the rows that were never stored ----

struct LostRows {
  int64_t stride = 0, first_untouched_row = -1, rows = 0;
  std::string verdict;
  Case minimal;
  std::string law;
  int64_t checks = 0;
};
Case lost_rows_case(int64_t logits_stride);
// The fault's verdict and, with `minimise`, its minimal case and law.
LostRows lost_rows(Oracle&, int64_t logits_stride, bool minimise,
                   const std::function<void(const std::string&)>& progress);

// ---- (c) what a fault does to a model's selection ----

struct IndexerLoss {
  std::string fault, breaks, verdict, message;
  std::vector<std::vector<double>> recalls; // [sequence][row of the speculative step]; empty when nothing ran
};
Case indexer_case();
// The chain writer -> logits -> top-k with one fault in it; nullptr: with none.
IndexerLoss indexer_loss(const Fault*);
// Those that the table shows, the production kernels first, as nullptr.
std::vector<const Fault*> indexer_faults();

} // namespace mqalab
