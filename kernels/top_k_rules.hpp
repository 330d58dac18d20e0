// The rules of top-k as small pure functions: which columns are candidates, how numbers compare, who wins a
// tie, where a byte lies.  The kernel takes them as a template policy; a planted fault hides exactly one of
// them.
#pragma once
#include "kernels/mqa.h"
#include "kernels/rules.hpp"

namespace mqa {

// Where the selection ends: a key k is taken when k >> shift > prefix; of those with k >> shift == prefix,
// which are `ties` columns, `quota` are.
struct Threshold {
  uint32_t prefix;
  int32_t shift, quota, ties;
};

struct TopKRules {
  // ---- which columns ----
  // First candidate of a row, and the end of its candidates; none when the limit is not above the first.
  MQA_HD static int32_t first(const mqa_top_k_args& a, int64_t row) {
    return a.starts ? most(0, a.starts[row]) : 0;
  }
  MQA_HD static int32_t limit(const mqa_top_k_args& a, int64_t row) {
    const int64_t sequence = row / a.next_n;
    const auto n = static_cast<int32_t>(row % a.next_n);
    const int32_t length =
        Rules::usable_length(a.context_lens[sequence * a.context_lens_stride + (a.lens_per_row ? n : 0)]);
    return least(a.lens_per_row ? length : Rules::causal_limit(length, a.next_n, n),
                 static_cast<int32_t>(a.columns));
  }
  MQA_HD static constexpr bool is_candidate(int32_t column, int32_t first, int32_t limit) {
    return column >= first && column < limit;
  }
  // A row of so few candidates gives all of them: nothing is compared.
  MQA_HD static constexpr bool takes_all(int32_t candidates, int32_t k) { return candidates <= k; }

  // ---- how numbers compare ----
  // Unsigned keys in the order of the numbers: -0 is +0, NaN is below -inf.  0 is left for what is no
  // candidate, and differs from every other key in the first digit already.
  MQA_HD static constexpr uint32_t key_of(uint32_t bits) {
    const uint32_t magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u) return 1u << 21;
    if (magnitude == 0) return 0x80000000u;
    return bits >> 31 ? ~bits : bits | 0x80000000u;
  }
  // Keys are looked at in digits of so many bits, the highest first.
  MQA_HD static constexpr int digits() { return 3; }
  MQA_HD static constexpr int digit_bits(int digit) { return digit < 2 ? 11 : 10; }
  // What a histogram's bin holds after it was read, for the next digit.
  MQA_HD static constexpr uint32_t emptied(uint32_t) { return 0; }

  // ---- who is taken ----
  // Of the first `before` columns that tie at the threshold, how many are taken: the lowest win.
  MQA_HD static constexpr int32_t ties_taken(int32_t before, const Threshold& t) {
    return least(before, t.quota);
  }

  // ---- where things are, in elements ----
  // 64-bit, because row 512 at a stride of 2^20 floats starts at byte 2^31.
  MQA_HD static constexpr int64_t logit_offset(const mqa_top_k_args& a, int64_t row) {
    return row * a.logits_stride;
  }
  MQA_HD static constexpr int64_t index_offset(const mqa_top_k_args& a, int64_t row) {
    return row * a.indices_stride;
  }
  // The column as the caller is told it: of the whole row, also where candidates start further right.
  MQA_HD static constexpr int32_t reported(int32_t column, int32_t) { return column; }
  MQA_HD static constexpr int32_t padding() { return -1; }
  MQA_HD static void store(int32_t* indices, int32_t position, int32_t column) { indices[position] = column; }
  // The `nth` of those that tie, 0 being the first.
  MQA_HD static void store_tie(int32_t* indices, int32_t position, int32_t column, int32_t,
                               const Threshold&) {
    indices[position] = column;
  }
};

} // namespace mqa
