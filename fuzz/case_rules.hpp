// What the two questions about a case share: is it inside libmqa's contract (case_contract.cpp), and can the
// lab check it (case_legal.cpp)?
#pragma once
#include "fuzz/case.hpp"

#include <string>
#include <string_view>

namespace mqalab {

// "FIELD is GIVEN; allowed: ALLOWED"
std::string refusal(std::string_view field, int64_t given, const std::string& allowed);

// contract: as libmqa looks at them.  lab: also the stride of a single item, because buffers are sized by it.
enum class StrideRules : uint8_t { contract, lab };
std::string illegal_strides(const Case&, StrideRules);

// Block-table columns of a sequence: ceil(max_model_len / block_size).
int64_t table_width(const Shape&);
// Tokens that cache_write writes and cache_gather fetches: all lengths added up.
int64_t all_tokens(const Case&);

} // namespace mqalab
