// Story two: 256 requests of 4 rows at a row stride of max_model_len.  The context is scaled down from 112592
// to what a simulator checks in a second; the rows, their stride and therefore every address are the
// report's.
#include "fuzz/law.hpp"
#include "fuzz/minimize.hpp"
#include "fuzz/scenarios/scenario.hpp"

#include <fmt/format.h>

namespace mqalab {
namespace {

constexpr int32_t kRequests = 256, kNextN = 4, kContext = 68;

} // namespace

Case lost_rows_case(int64_t logits_stride) {
  Case c;
  c.shape.batch = kRequests;
  c.shape.next_n = kNextN;
  c.shape.heads = 64;
  c.shape.block_size = 64;
  c.shape.context_lens.assign(kRequests, kContext);
  c.shape.max_model_len = kContext;
  c.strides.logits = logits_stride;
  c.block_table.mode = TableMode::alias; // all requests share two blocks: the story is about what is written
  c.block_table.period = 2;
  c.data.pattern = Pattern::positive;
  return c;
}

LostRows lost_rows(Oracle& oracle, int64_t logits_stride, bool minimise,
                   const std::function<void(const std::string&)>& progress) {
  const Fault* fault = find_fault("out_offset_32");
  const Case start = lost_rows_case(logits_stride);
  const Verdict first = oracle.check(start, fault);
  LostRows result;
  result.stride = logits_stride, result.rows = int64_t{kRequests} * kNextN;
  result.verdict = name(first.verdict);
  result.minimal = start;
  if (first.first_bad.empty()) return result;
  result.first_untouched_row = first.first_bad.front().row;
  if (!minimise) return result;
  const SameBug same = [&](const Case& c) {
    return same_bug(oracle.check(c, fault).signature, first.signature);
  };
  MinimizeOptions options;
  options.progress = [&](const Case& best, int64_t checks) {
    progress(
        fmt::format("minimising: {} checks, {} rows left", checks, best.shape.batch * best.shape.next_n));
  };
  const Minimized minimal = minimize(start, same, options);
  const Law law =
      find_law(minimal.smallest,
               observing([&](const Case& c) { return oracle.check(c, fault); }, first.signature), options);
  result.minimal = minimal.smallest;
  result.law = law.text;
  result.checks = minimal.checks + law.checks;
  return result;
}

} // namespace mqalab
