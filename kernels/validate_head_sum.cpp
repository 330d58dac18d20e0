// Checks of the arguments of a head sum.
#include "kernels/argument_rules.hpp"
#include "kernels/launch.hpp"

namespace mqa {
namespace {

// Of a tensor, in bytes; its end is at the end of memory where it would wrap.
struct Extent {
  uintptr_t begin, end;
  Extent(const float* first, int64_t elements) : begin(reinterpret_cast<uintptr_t>(first)), end(UINTPTR_MAX) {
    uintptr_t bytes;
    if (!__builtin_mul_overflow(static_cast<uintptr_t>(elements), sizeof(float), &bytes) &&
        __builtin_add_overflow(begin, bytes, &end))
      end = UINTPTR_MAX;
  }
  bool meets(const Extent& other) const { return begin < other.end && other.begin < end; }
};

std::string overlap_error(const mqa_head_sum_args& a) {
  const int64_t plane = plane_extent(a.rows, a.stride_row, a.columns);
  const Extent parts(a.per_head, plane_extent(a.heads, a.stride_head, plane));
  const Extent sums(a.sums, plane_extent(a.rows, a.sums_stride, a.columns));
  if (!parts.meets(sums)) return "";
  return words("sums is %p, inside per_head, which begins at %p; allowed: memory that does not overlap it",
               static_cast<const void*>(a.sums), static_cast<const void*>(a.per_head));
}

} // namespace

std::string why_invalid(const mqa_head_sum_args& a) {
  if (auto error = struct_size_error("mqa_head_sum_args", a.struct_size, sizeof a); !error.empty())
    return error;
  if (auto error = first_error({range_error("rows", a.rows, 0, INT32_MAX),
                                range_error("heads", a.heads, 1, kMostHeads),
                                range_error("columns", a.columns, 1, kMostColumns)});
      !error.empty())
    return error;
  const int64_t plane = plane_extent(a.rows, a.stride_row, a.columns);
  if (auto error = stride_error({{"stride_row", a.stride_row, a.columns, false, a.rows},
                                 {"stride_head", a.stride_head, plane, false, a.heads},
                                 {"sums_stride", a.sums_stride, a.columns, false, a.rows}});
      !error.empty())
    return error;
  if (a.rows == 0) return "";
  if (auto error = pointer_error({{"per_head", a.per_head, 4, true}, {"sums", a.sums, 4, true}});
      !error.empty())
    return error;
  return overlap_error(a);
}

} // namespace mqa
