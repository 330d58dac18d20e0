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

uint32_t bucket(int64_t value) noexcept {
  return std::bit_ceil(static_cast<uint32_t>(std::clamp<int64_t>(value, 1, 1 << 29)));
}
uint16_t narrow(int32_t value) noexcept { return static_cast<uint16_t>(std::clamp(value, 0, 65535)); }

StrideClass stride_class(const mqa_paged_logits_args& a) noexcept {
  const double span_bytes = 4.0 * a.batch * a.next_n * static_cast<double>(a.logits_stride);
  if (span_bytes > 2147483648.0) return StrideClass::far;
  return a.logits_stride == a.max_model_len ? StrideClass::dense : StrideClass::padded;
}

const char* word(const Words& words, uint8_t index) { return index < words.size() ? words[index] : ""; }

// The index of `text` among `words`, or 255.
uint8_t index_of(const Words& words, std::string_view text) {
  for (size_t i = 0; i < words.size(); ++i)
    if (!text.empty() && text == words[i]) return static_cast<uint8_t>(i);
  return 255;
}

} // namespace

ProblemKey problem_key(const mqa_paged_logits_args& a) noexcept {
  return {bucket(a.batch),
          bucket(a.max_model_len),
          narrow(a.next_n),
          narrow(a.heads),
          narrow(a.head_dim),
          narrow(a.block_size),
          static_cast<uint8_t>(a.layout),
          static_cast<uint8_t>(a.fp8),
          static_cast<uint8_t>(a.tail),
          static_cast<uint8_t>(stride_class(a))};
}

std::string to_string(const ProblemKey& k) {
  char text[192];
  std::snprintf(text, sizeof text, "paged_mqa_logits/v%d/b%u/mml%u/n%u/h%u/d%u/bs%u/%s/%s/%s/%s",
                kProblemKeyVersion, k.batch_bucket, k.max_model_len_bucket, k.next_n, k.heads, k.head_dim,
                k.block_size, word(kLayouts, k.layout), word(kFlavours, k.fp8), word(kTails, k.tail),
                word(kStrides, k.stride_class));
  return text;
}

std::optional<ProblemKey> parse_problem_key(std::string_view text) {
  const std::string copy(text);
  unsigned version, batch, columns, next_n, heads, head_dim, block_size;
  char layout[16], flavour[16], tail[16], stride[16];
  const int fields = std::sscanf(
      copy.c_str(), "paged_mqa_logits/v%9u/b%9u/mml%9u/n%5u/h%5u/d%5u/bs%5u/%15[^/]/%15[^/]/%15[^/]/%15s",
      &version, &batch, &columns, &next_n, &heads, &head_dim, &block_size, layout, flavour, tail, stride);
  if (fields != 11) return std::nullopt;
  const ProblemKey key{batch,
                       columns,
                       static_cast<uint16_t>(next_n),
                       static_cast<uint16_t>(heads),
                       static_cast<uint16_t>(head_dim),
                       static_cast<uint16_t>(block_size),
                       index_of(kLayouts, layout),
                       index_of(kFlavours, flavour),
                       index_of(kTails, tail),
                       index_of(kStrides, stride)};
  const bool bucketed = std::has_single_bit(batch) && std::has_single_bit(columns);
  if (!bucketed || to_string(key) != text) return std::nullopt;
  return key;
}

} // namespace mqa
