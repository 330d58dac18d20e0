#include "kernels/argument_rules.hpp"

#include "kernels/mqa.h"

#include <cinttypes>
#include <cstdarg>
#include <cstdio>

namespace mqa {

std::string words(const char* format, ...) {
  char line[400];
  va_list list;
  va_start(list, format);
  vsnprintf(line, sizeof line, format, list);
  va_end(list);
  return line;
}

std::string range_error(const char* name, int64_t given, int64_t low, int64_t high) {
  if (given >= low && given <= high) return "";
  return words("%s is %" PRId64 "; allowed: %" PRId64 " to %" PRId64, name, given, low, high);
}

std::string block_size_error(int32_t block_size, int32_t layout) {
  const bool multiple = block_size >= 16 && block_size <= 1024 && block_size % 16 == 0;
  if (block_size != 1 && !multiple)
    return words("block_size is %d; allowed: 1, or a multiple of 16 up to 1024", block_size);
  if (auto error = range_error("layout", layout, MQA_PLANAR, MQA_SHUFFLED); !error.empty()) return error;
  if (layout == MQA_SHUFFLED && block_size == 1)
    return "block_size is 1 with layout shuffled; allowed: a multiple of 16 up to 1024, or layout planar";
  return "";
}

std::string head_dim_error(int32_t head_dim) {
  if (head_dim >= 16 && head_dim <= 256 && head_dim % 16 == 0) return "";
  return words("head_dim is %d; allowed: multiples of 16 from 16 to 256", head_dim);
}

std::string stride_error(std::initializer_list<StrideRule> rules) {
  constexpr int64_t kMost = int64_t{1} << 40, kMostSpan = int64_t{1} << 60; // offsets stay inside 64 bits
  for (const StrideRule& r : rules) {
    const bool alone = r.items <= 1 && r.given >= 0, shared = r.may_share && r.given == 0;
    if (r.given <= kMost && (alone || shared || r.given >= r.least)) {
      if (r.items <= 1 || r.given <= kMostSpan / r.items) continue;
      return words("%s is %" PRId64 " for %" PRId64 " items; allowed: a span of up to 2^60", r.name, r.given,
                   r.items);
    }
    return words("%s is %" PRId64 "; allowed: %" PRId64 " to 2^40%s", r.name, r.given, r.least,
                 r.may_share ? ", or 0 (shared)" : "");
  }
  return "";
}

int64_t plane_extent(int64_t rows, int64_t stride, int64_t columns) {
  if (rows < 1) return 1;
  int64_t extent;
  const bool wraps =
      __builtin_mul_overflow(rows - 1, stride, &extent) || __builtin_add_overflow(extent, columns, &extent);
  return wraps ? INT64_MAX : extent;
}

std::string pointer_error(std::initializer_list<PointerRule> rules) {
  for (const PointerRule& r : rules) {
    if (!r.given && r.needed) return words("%s is NULL; a device pointer is needed", r.name);
    if (reinterpret_cast<uintptr_t>(r.given) % r.alignment)
      return words("%s is %p; it must be aligned to %d bytes", r.name, r.given,
                   static_cast<int>(r.alignment));
  }
  return "";
}

std::string struct_size_error(const char* type, size_t given, size_t wanted) {
  if (given == wanted) return "";
  return words(
      "struct_size is %zu; this library's %s has %zu bytes: set struct_size, and build against the header of "
      "the library in use",
      given, type, wanted);
}

} // namespace mqa
