// The words that case files and messages use for enumerators: one table per enum, indexed by its value.
#pragma once
#include "fuzz/case.hpp"

#include <array>
#include <span>
#include <string_view>

namespace mqalab {

inline constexpr std::array<std::string_view, 2> kFp8Names{"e4m3fn", "e4m3fnuz"};
inline constexpr std::array<std::string_view, 2> kLayoutNames{"planar", "shuffled"};
inline constexpr std::array<std::string_view, 2> kTailNames{"untouched", "neg_inf"};
inline constexpr std::array<std::string_view, 7> kTableModeNames{
    "identity", "reversed", "shuffled", "one_block", "alias", "strided", "high"};
inline constexpr std::array<std::string_view, 3> kTablePaddingNames{"minus_one", "zero", "poisoned"};
inline constexpr std::array<std::string_view, 3> kLaneNames{"exact", "numeric", "special"};
inline constexpr std::array<std::string_view, 7> kPatternNames{
    "general", "positive", "address", "one_token", "one_head", "one_dim", "raw_bytes"};
inline constexpr std::array<std::string_view, 4> kTensorNames{"q", "k", "scale", "weights"};
inline constexpr std::array<std::string_view, 6> kVariantNames{"auto",  "staged",  "direct",
                                                               "wgmma", "general", "scheduled"};
inline constexpr std::array<std::string_view, 10> kOperationNames{"paged_mqa_logits",
                                                                  "ragged_mqa_logits",
                                                                  "per_head_mqa_logits",
                                                                  "per_head_ragged_mqa_logits",
                                                                  "per_head_sum",
                                                                  "prefill_mqa_logits",
                                                                  "top_k",
                                                                  "cache_write",
                                                                  "cache_gather",
                                                                  "indexer"};
inline constexpr std::array<std::string_view, 3> kKeyTypeNames{"bf16", "fp16", "fp32"};
inline constexpr std::array<std::string_view, 2> kScaleFormatNames{"plain", "power_of_two"};

constexpr std::span<const std::string_view> names_of(mqa_fp8) { return kFp8Names; }
constexpr std::span<const std::string_view> names_of(mqa_layout) { return kLayoutNames; }
constexpr std::span<const std::string_view> names_of(mqa_tail) { return kTailNames; }
constexpr std::span<const std::string_view> names_of(mqa_variant) { return kVariantNames; }
constexpr std::span<const std::string_view> names_of(Operation) { return kOperationNames; }
constexpr std::span<const std::string_view> names_of(mqa_key_type) { return kKeyTypeNames; }
constexpr std::span<const std::string_view> names_of(mqa_scale_format) { return kScaleFormatNames; }
constexpr std::span<const std::string_view> names_of(TableMode) { return kTableModeNames; }
constexpr std::span<const std::string_view> names_of(TablePadding) { return kTablePaddingNames; }
constexpr std::span<const std::string_view> names_of(Lane) { return kLaneNames; }
constexpr std::span<const std::string_view> names_of(Pattern) { return kPatternNames; }
constexpr std::span<const std::string_view> names_of(Tensor) { return kTensorNames; }

template <class Enum> constexpr std::string_view name_of(Enum value) {
  const auto names = names_of(value);
  const auto index = static_cast<size_t>(value);
  return index < names.size() ? names[index] : std::string_view("unknown");
}

} // namespace mqalab
