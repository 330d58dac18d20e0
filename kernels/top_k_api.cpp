// mqa_top_k: the check of its arguments, and the launch.
#include "kernels/api_support.hpp"
#include "kernels/argument_rules.hpp"
#include "kernels/launch.hpp"

#include <cinttypes>

namespace mqa {
namespace {

constexpr int32_t kMostSelected = 4096;

std::string shape_error(const mqa_top_k_args& a) {
  const int64_t rows = int64_t{a.batch} * a.next_n;
  if (a.batch < 0) return words("batch is %d; allowed: 0 and more", a.batch);
  if (a.next_n < 1) return words("next_n is %d; allowed: 1 and more", a.next_n);
  if (rows > INT32_MAX)
    return words("batch * next_n is %" PRId64 "; allowed: up to %d rows", rows, INT32_MAX);
  if (a.starts && a.lens_per_row != 1)
    return words("lens_per_row is %d with starts; allowed: 1, because every row of a prefill has its own end",
                 a.lens_per_row);
  return first_error({range_error("k", a.k, 1, kMostSelected), range_error("stable", a.stable, 0, 1),
                      range_error("columns", a.columns, 1, kMostColumns),
                      range_error("lens_per_row", a.lens_per_row, 0, 1)});
}

std::string strides_error(const mqa_top_k_args& a) {
  const int64_t rows = int64_t{a.batch} * a.next_n;
  return stride_error(
      {{"logits_stride", a.logits_stride, a.columns, false, rows},
       {"context_lens_stride", a.context_lens_stride, a.lens_per_row ? a.next_n : 1, true, a.batch},
       {"indices_stride", a.indices_stride, a.k, false, rows}});
}

std::string pointers_error(const mqa_top_k_args& a) {
  return pointer_error({{"logits", a.logits, 4, true},
                        {"context_lens", a.context_lens, 4, true},
                        {"starts", a.starts, 4, false},
                        {"indices", a.indices, 4, true}});
}

} // namespace

std::string why_invalid(const mqa_top_k_args& a) {
  if (auto error = struct_size_error("mqa_top_k_args", a.struct_size, sizeof a); !error.empty()) return error;
  if (auto error = shape_error(a); !error.empty()) return error;
  if (auto error = strides_error(a); !error.empty()) return error;
  return a.batch == 0 ? "" : pointers_error(a);
}

} // namespace mqa

mqa_status mqa_top_k(const mqa_top_k_args* args, void* stream) {
  using namespace mqa;
  return guarded([&] {
    if (!args) return fail(MQA_INVALID_ARGUMENT, "args is NULL");
    if (const std::string why = why_invalid(*args); !why.empty()) return fail(MQA_INVALID_ARGUMENT, why);
    return launched(launch_top_k(*args, static_cast<hipStream_t>(stream)));
  });
}
