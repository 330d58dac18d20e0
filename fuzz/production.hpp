// Which libmqa the oracle launches: the one that is linked in, or a shared library named at start, so that
// builds can be told apart by one and the same oracle.  Names of codes, the database and the planted faults
// stay those of the linked one.
#pragma once
#include "kernels/mqa.h"

#include <string>

namespace mqalab {

struct Production {
  decltype(&mqa_paged_logits) paged_logits = &mqa_paged_logits;
  decltype(&mqa_ragged_logits) ragged_logits = &mqa_ragged_logits;
  decltype(&mqa_per_head_logits) per_head_logits = &mqa_per_head_logits;
  decltype(&mqa_prefill_logits) prefill_logits = &mqa_prefill_logits;
  decltype(&mqa_head_sum) head_sum = &mqa_head_sum;
  decltype(&mqa_top_k) top_k = &mqa_top_k;
  decltype(&mqa_cache_write) cache_write = &mqa_cache_write;
  decltype(&mqa_cache_gather) cache_gather = &mqa_cache_gather;
  decltype(&mqa_last_error) last_error = &mqa_last_error;
  decltype(&mqa_version) version = &mqa_version;
  decltype(&mqa_kernel_hash) kernel_hash = &mqa_kernel_hash;
};
const Production& production();

// From here on production() is the library at `path`; it stays loaded.  Not while another thread launches.
// Throws CaseError for a file that is no library, lacks a function or has another ABI.
void use_library(const std::string& path);

} // namespace mqalab
