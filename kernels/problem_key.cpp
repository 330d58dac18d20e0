// Bucketing and the canonical text of a problem.  Odd: parsing tries what it read by writing it again, so a
// text has exactly one key and a key exactly one text.
#include "kernels/problem_key.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdio>
#include <cstdlib>

namespace mqa {
namespace {

using Words = std::array<const char*, 3>;
constexpr Words kLayouts{"planar", "shuffled", ""};
constexpr Words kFlavours{"e4m3fn", "e4m3fnuz", ""};
constexpr Words kTails{"untouched", "neg_inf", ""};
constexpr Words kStrides{"dense", "padded", "far"};

constexpr std::array<const char*, 5> kOperations{"paged_mqa_logits", "ragged_mqa_logits",
                                                 "per_head_mqa_logits", "per_head_ragged_mqa_logits",
                                                 "prefill_mqa_logits"};

uint32_t bucket(int64_t value) noexcept {
  return std::bit_ceil(static_cast<uint32_t>(std::clamp<int64_t>(value, 1, 1 << 29)));
}
uint16_t narrow(int32_t value) noexcept { return static_cast<uint16_t>(std::clamp(value, 0, 65535)); }

StrideClass stride_class(double rows, int64_t stride, int64_t columns) noexcept {
  if (4.0 * rows * static_cast<double>(stride) > 2147483648.0) return StrideClass::far;
  return stride == columns ? StrideClass::dense : StrideClass::padded;
}

KeyOperation operation_of(const mqa_paged_logits_args& a) noexcept {
  if (a.logits_stride_head) return a.slot_prefix ? KeyOperation::per_head_ragged : KeyOperation::per_head;
  return a.slot_prefix ? KeyOperation::ragged : KeyOperation::paged;
}

const char* word(const Words& words, uint8_t index) { return index < words.size() ? words[index] : ""; }

// The index of `text` among `words`, or 255.
template <size_t N> uint8_t index_of(const std::array<const char*, N>& words, std::string_view text) {
  for (size_t i = 0; i < N; ++i)
    if (!text.empty() && text == words[i]) return static_cast<uint8_t>(i);
  return 255;
}

} // namespace

ProblemKey problem_key(const mqa_paged_logits_args& a) noexcept {
  return {
      bucket(a.batch),
      bucket(a.max_model_len),
      narrow(a.next_n),
      narrow(a.heads),
      narrow(a.head_dim),
      narrow(a.block_size),
      static_cast<uint8_t>(a.layout),
      static_cast<uint8_t>(a.fp8),
      static_cast<uint8_t>(a.tail),
      static_cast<uint8_t>(stride_class(double{1} * a.batch * a.next_n, a.logits_stride, a.max_model_len)),
      operation_of(a)};
}
ProblemKey problem_key(const mqa_prefill_logits_args& a) noexcept {
  return {bucket(a.rows),
          bucket(a.columns),
          1,
          narrow(a.heads),
          narrow(a.head_dim),
          1,
          MQA_PLANAR,
          static_cast<uint8_t>(a.fp8),
          static_cast<uint8_t>(a.tail),
          static_cast<uint8_t>(stride_class(a.rows, a.logits_stride, a.columns)),
          KeyOperation::prefill};
}

std::string to_string(const ProblemKey& k) {
  char text[192];
  std::snprintf(text, sizeof text, "%s/v%d/b%u/mml%u/n%u/h%u/d%u/bs%u/%s/%s/%s/%s",
                kOperations[static_cast<size_t>(k.operation)], kProblemKeyVersion, k.batch_bucket,
                k.max_model_len_bucket, k.next_n, k.heads, k.head_dim, k.block_size, word(kLayouts, k.layout),
                word(kFlavours, k.fp8), word(kTails, k.tail), word(kStrides, k.stride_class));
  return text;
}

std::optional<ProblemKey> parse_problem_key(std::string_view text) {
  const std::string copy(text);
  unsigned version, batch, columns, next_n, heads, head_dim, block_size;
  char operation[32], layout[16], flavour[16], tail[16], stride[16];
  const int fields = std::sscanf(
      copy.c_str(), "%31[^/]/v%9u/b%9u/mml%9u/n%5u/h%5u/d%5u/bs%5u/%15[^/]/%15[^/]/%15[^/]/%15s", operation,
      &version, &batch, &columns, &next_n, &heads, &head_dim, &block_size, layout, flavour, tail, stride);
  if (fields != 12) return std::nullopt;
  const uint8_t named = index_of(kOperations, operation);
  if (named >= kOperations.size()) return std::nullopt;
  const ProblemKey key{batch,
                       columns,
                       static_cast<uint16_t>(next_n),
                       static_cast<uint16_t>(heads),
                       static_cast<uint16_t>(head_dim),
                       static_cast<uint16_t>(block_size),
                       index_of(kLayouts, layout),
                       index_of(kFlavours, flavour),
                       index_of(kTails, tail),
                       index_of(kStrides, stride),
                       static_cast<KeyOperation>(named)};
  const bool bucketed = std::has_single_bit(batch) && std::has_single_bit(columns);
  if (!bucketed || to_string(key) != text) return std::nullopt;
  return key;
}

} // namespace mqa
