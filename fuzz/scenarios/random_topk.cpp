// Story one.  The report's script filled the cache with uniform random bytes, scales included, compared the
// kernel with torch.relu (which keeps NaN), replaced what is not finite by -1e30, and compared two sorted
// selections position by position.  All four are done here as they were done there; only the kernel is ours.
#include "fuzz/scenarios/scenario.hpp"
#include "refimpl/topk.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace mqalab {
namespace {

constexpr int64_t kTopk = 2048,
                  kColumns = 12288; // the report had 202752 columns; those beyond the context all tie
constexpr float kNotFinite = -1e30f;

// What the script made of a row before it selected.
std::vector<float> as_the_script_saw_it(std::vector<float> row, int64_t context) {
  row.resize(kColumns, kNotFinite);
  for (int64_t column = 0; column < kColumns; ++column)
    if (column >= context || !std::isfinite(row[static_cast<size_t>(column)]))
      row[static_cast<size_t>(column)] = kNotFinite;
  return row;
}

std::vector<float> torch_row(const Case& c, const Policy& kernel) {
  Policy torch = kernel;
  torch.nan_to_zero = false;
  const Problem problem = resolve(c);
  const RowReference reference = reference_row(problem, generate(problem, c.data), 0, torch);
  return {reference.value.begin(), reference.value.end()};
}

double largest_difference(const std::vector<float>& a, const std::vector<float>& b) {
  double largest = 0;
  for (size_t i = 0; i < a.size(); ++i)
    largest = std::max(largest, std::abs(static_cast<double>(a[i]) - b[i]));
  return largest;
}

const Fault* fault_of(TopkSubject subject) {
  return subject == TopkSubject::split_fault_on_clean_data ? find_fault("split_drops_rest") : nullptr;
}

// Recall against the reference under the policy that the kernel declares: the question that a selection
// poses.
double set_recall(const Case& c, const std::vector<float>& logits, const Policy& policy) {
  const Problem problem = resolve(c);
  const RowReference due = reference_row(problem, generate(problem, c.data), 0, policy);
  const std::vector<float> visible(logits.begin(), logits.begin() + problem.limit(0));
  const auto wanted = topk(std::span<const double>(due.value), kTopk);
  return recall(topk(std::span<const float>(visible), kTopk), wanted);
}

} // namespace

Case random_topk_case(TopkSubject subject, int64_t context) {
  Case c;
  c.shape.heads = 32;
  c.shape.context_lens = {static_cast<int32_t>(context)};
  c.shape.max_model_len = kColumns;
  c.config.chunk_k = 64;
  c.config.split_kv = 5; // shares chunks unevenly, as the report's 160 splits did
  c.data.seed = 39303;
  c.data.lane = Lane::numeric;
  if (subject == TopkSubject::correct_on_random_bytes)
    c.data.lane = Lane::special, c.data.pattern = Pattern::raw_bytes;
  return c;
}

TopkRow random_topk_row(Oracle& oracle, TopkSubject subject, int64_t context) {
  const Case c = random_topk_case(subject, context);
  const Fault* fault = fault_of(subject);
  std::string error;
  const std::vector<float> logits = oracle.run(c, fault, nullptr, &error);
  if (logits.empty()) throw std::runtime_error("the scenario did not run: " + error);
  const auto kernel = as_the_script_saw_it(logits, context);
  const auto torch = as_the_script_saw_it(torch_row(c, declared_policy()), context);
  const int64_t k = std::min(kTopk, context);
  TopkRow row;
  row.context = context;
  row.position_match =
      match_by_position(topk(std::span<const float>(kernel), k), topk(std::span<const float>(torch), k));
  row.largest_difference = largest_difference(kernel, torch);
  const Verdict verdict = oracle.check(c, fault);
  row.verdict = name(verdict.verdict);
  row.set_recall = set_recall(c, logits, declared_policy());
  return row;
}

} // namespace mqalab
