// Checks the caller's arguments.  Every refusal names the argument, the value given and what is allowed.
#include "kernels/launch.hpp"

#include <cinttypes>
#include <cstdarg>
#include <cstdio>

namespace mqa {
namespace {

constexpr int64_t kMaxColumns = 1 << 24;
constexpr int64_t kMaxBlocks = INT32_MAX;

__attribute__((format(printf, 1, 2))) std::string words(const char* format, ...) {
  char line[400];
  va_list list;
  va_start(list, format);
  vsnprintf(line, sizeof line, format, list);
  va_end(list);
  return line;
}

std::string outside(const char* name, int64_t given, int64_t low, int64_t high) {
  return words("%s is %" PRId64 "; allowed: %" PRId64 " to %" PRId64, name, given, low, high);
}

std::string shape_error(const mqa_paged_logits_args& a) {
  if (a.batch < 0) return words("batch is %d; allowed: 0 and more", a.batch);
  if (a.next_n < 1) return words("next_n is %d; allowed: 1 and more", a.next_n);
  if (int64_t{a.batch} * a.next_n > INT32_MAX)
    return words("batch * next_n is %" PRId64 "; allowed: up to %d rows", int64_t{a.batch} * a.next_n,
                 INT32_MAX);
  if (a.heads < 8 || a.heads > 128 || a.heads % 8)
    return words("heads is %d; allowed: multiples of 8 from 8 to 128", a.heads);
  if (a.head_dim != 32 && a.head_dim != 64 && a.head_dim != 128)
    return words("head_dim is %d; allowed: 32, 64, 128", a.head_dim);
  const bool multiple = a.block_size >= 16 && a.block_size <= 1024 && a.block_size % 16 == 0;
  if (a.block_size != 1 && !multiple)
    return words("block_size is %d; allowed: 1, or a multiple of 16 up to 1024", a.block_size);
  if (a.layout != MQA_PLANAR && a.layout != MQA_SHUFFLED)
    return outside("layout", a.layout, MQA_PLANAR, MQA_SHUFFLED);
  if (a.layout == MQA_SHUFFLED && a.block_size == 1)
    return "block_size is 1 with layout shuffled; allowed: a multiple of 16 up to 1024, or layout planar";
  if (a.fp8 != MQA_E4M3FN && a.fp8 != MQA_E4M3FNUZ) return outside("fp8", a.fp8, MQA_E4M3FN, MQA_E4M3FNUZ);
  if (a.tail != MQA_TAIL_UNTOUCHED && a.tail != MQA_TAIL_NEG_INF)
    return outside("tail", a.tail, MQA_TAIL_UNTOUCHED, MQA_TAIL_NEG_INF);
  if (a.lens_per_row != 0 && a.lens_per_row != 1) return outside("lens_per_row", a.lens_per_row, 0, 1);
  if (a.max_model_len < 1 || a.max_model_len > kMaxColumns)
    return outside("max_model_len", a.max_model_len, 1, kMaxColumns);
  if (a.num_blocks < 0 || a.num_blocks > kMaxBlocks)
    return outside("num_blocks", a.num_blocks, 0, kMaxBlocks);
  return "";
}

// A stride of `name` must be at least `least`, or 0 where sharing is legal; it does not matter for a single
// item.
std::string stride_error(const char* name, int64_t given, int64_t least, bool may_share, int64_t items) {
  constexpr int64_t kMost = int64_t{1} << 40; // products with any index stay far inside 64 bits
  if (items <= 1 && given >= 0 && given <= kMost) return "";
  if (given >= least && given <= kMost) return "";
  if (may_share && given == 0) return "";
  return words("%s is %" PRId64 "; allowed: %" PRId64 " to 2^40%s", name, given, least,
               may_share ? ", or 0 (shared)" : "");
}

std::string strides_error(const mqa_paged_logits_args& a) {
  const int64_t rows = int64_t{a.batch} * a.next_n;
  const int64_t columns = (a.max_model_len + a.block_size - 1) / a.block_size;
  const int64_t block_bytes = int64_t{a.block_size} * (a.head_dim + 4);
  struct Rule {
    const char* name;
    int64_t given, least;
    bool may_share;
    int64_t items;
  };
  const Rule rules[] = {
      {"q_stride_head", a.q_stride_head, a.head_dim, true, a.heads},
      {"q_stride_next", a.q_stride_next, a.head_dim, true, a.next_n},
      {"q_stride_batch", a.q_stride_batch, a.head_dim, true, a.batch},
      {"kv_block_stride_bytes", a.kv_block_stride_bytes, block_bytes, false, a.num_blocks},
      {"weights_stride", a.weights_stride, a.heads, true, rows},
      {"context_lens_stride", a.context_lens_stride, a.lens_per_row ? a.next_n : 1, true, a.batch},
      {"block_table_stride", a.block_table_stride, columns, true, a.batch},
      {"logits_stride", a.logits_stride, a.max_model_len, false, rows},
  };
  for (const Rule& r : rules)
    if (auto error = stride_error(r.name, r.given, r.least, r.may_share, r.items); !error.empty())
      return error;
  if (a.kv_block_stride_bytes % 4)
    return words("kv_block_stride_bytes is %" PRId64 "; allowed: multiples of 4, because scales are fp32",
                 a.kv_block_stride_bytes);
  return "";
}

std::string pointer_error(const mqa_paged_logits_args& a) {
  struct Rule {
    const char* name;
    const void* given;
    uintptr_t alignment;
    bool needed;
  };
  const Rule rules[] = {
      {"q", a.q, 1, true},
      {"kv_cache", a.kv_cache, 4, a.num_blocks > 0},
      {"weights", a.weights, 4, true},
      {"context_lens", a.context_lens, 4, true},
      {"block_table", a.block_table, 4, true},
      {"logits", a.logits, 4, true},
  };
  for (const Rule& r : rules) {
    if (!r.given && r.needed) return words("%s is NULL; a device pointer is needed", r.name);
    if (reinterpret_cast<uintptr_t>(r.given) % r.alignment)
      return words("%s is %p; it must be aligned to %d bytes", r.name, r.given,
                   static_cast<int>(r.alignment));
  }
  return "";
}

} // namespace

std::string why_invalid(const mqa_paged_logits_args& a, bool shape_only) {
  if (a.struct_size != sizeof a)
    return words(
        "struct_size is %zu; this library's mqa_paged_logits_args has %zu bytes: set struct_size, and build "
        "against the header of the library in use",
        a.struct_size, sizeof a);
  if (auto error = shape_error(a); !error.empty()) return error;
  if (auto error = strides_error(a); !error.empty()) return error;
  if (shape_only || a.batch == 0) return "";
  return pointer_error(a);
}

} // namespace mqa
