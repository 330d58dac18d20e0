// The reference: logits in double (the dot of e4m3 values is exact there) and, per element, a rigorous bound
// on what a correct kernel may differ by (oracle.md, sections 3 and 5).
#pragma once
#include "refimpl/generate.hpp"
#include "refimpl/problem.hpp"

#include <string_view>
#include <vector>

namespace mqalab {

// Accumulation class of the matrix unit (oracle.md, section 3).
enum class Accumulation : uint8_t { cdna3_fp8, hmma16, mma_fp8_sm90, wgmma_fp8, fp32_fma, loosest };
std::string_view name(Accumulation);

// What a kernel declares of its numbers (oracle.md, section 6).
struct Policy {
  bool nan_to_zero = true;     // relu turns a NaN dot into 0
  bool scale_after_sum = true; // false: before relu
  Accumulation accumulation = Accumulation::cdna3_fp8;
};

// The reference of one row of the output: of column first + i the value and its bound, for the columns
// [first(row), limit(row)) of the problem; first is 0 but for dense prefill rows.  A token of a bad block id
// has value NaN. A value beyond the fp32 range stays a number; a bound of kAnyResult says that fp32 does not
// settle the class. agrees() of compare.hpp reads both.
struct RowReference {
  std::vector<double> value, bound;
  int64_t first = 0;
  int64_t end() const { return first + int64_t(value.size()); }
};
// Without bounds (they are 0 then, except in cells with odd classes) it takes half the time: for the exact
// lane.
RowReference reference_row(const Problem&, const Tensors&, int64_t output_row, const Policy&,
                           bool with_bound = true);

// All rows of the output at once, faster: the dots of all rows of a sequence against each of its distinct
// blocks once.
std::vector<RowReference> reference(const Problem&, const Tensors&, const Policy&, bool with_bound = true);

// E_dot of oracle.md, section 5: bound on the error of one dot product of head_dim terms.
//   sum_abs: sum of max(|q_d k_d|, smallest-normal exponents product) (A' there);  largest: P, the largest
//   product power.
double dot_bound(Accumulation, int32_t head_dim, double sum_abs, double largest);

} // namespace mqalab
