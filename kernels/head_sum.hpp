// The sum over heads of unreduced logits: one thread a column, heads in ascending order, so that the result
// is exact to the bit.  SumRules are the small functions that a planted fault hides.
#pragma once
#include "kernels/mqa.h"
#include "kernels/rules.hpp"

#include <hip/hip_runtime.h>

namespace mqa {

// Strides in elements, all 64-bit.
struct HeadSumArgs {
  const float* per_head;
  float* sums;
  int64_t rows, stride_head, stride_row, sums_stride;
  int64_t row_step; // rows that the grid serves at once
  int32_t heads, columns;
};

struct SumRules {
  MQA_HD static constexpr int heads_of(const HeadSumArgs& a) { return a.heads; }
  MQA_HD static constexpr int64_t part_offset(const HeadSumArgs& a, int head, int64_t row, int32_t column) {
    return head * a.stride_head + row * a.stride_row + column;
  }
  MQA_HD static constexpr int64_t sum_offset(const HeadSumArgs& a, int64_t row, int32_t column) {
    return row * a.sums_stride + column;
  }
  MQA_HD static float add(float sum, float part) { return sum + part; }
};

inline constexpr int kSumThreads = 256;

template <class R> __global__ __launch_bounds__(kSumThreads) void head_sum_kernel(const HeadSumArgs a) {
  const auto column = static_cast<int32_t>(blockIdx.x * kSumThreads + threadIdx.x);
  if (column >= a.columns) return;
  for (int64_t row = blockIdx.y; row < a.rows; row += a.row_step) {
    float sum = a.per_head[R::part_offset(a, 0, row, column)];
    for (int head = 1; head < R::heads_of(a); ++head)
      sum = R::add(sum, a.per_head[R::part_offset(a, head, row, column)]);
    a.sums[R::sum_offset(a, row, column)] = sum;
  }
}

template <class R> hipError_t launch_head_sum_with(const mqa_head_sum_args& a, hipStream_t stream) {
  if (a.rows == 0) return hipSuccess;
  constexpr int64_t kMostGridRows = 65535;
  const HeadSumArgs args{a.per_head,
                         a.sums,
                         a.rows,
                         a.stride_head,
                         a.stride_row,
                         a.sums_stride,
                         least(a.rows, kMostGridRows),
                         a.heads,
                         static_cast<int32_t>(a.columns)};
  const dim3 grid(static_cast<uint32_t>(ceil_div<int64_t>(a.columns, kSumThreads)),
                  static_cast<uint32_t>(args.row_step));
  head_sum_kernel<R><<<grid, dim3(kSumThreads), 0, stream>>>(args);
  return hipGetLastError();
}

} // namespace mqa
