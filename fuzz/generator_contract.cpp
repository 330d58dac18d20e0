// Calls outside the contract: one argument just past what is allowed, for each that the library can see.  It
// must refuse them in words and launch nothing (refusal.hpp).
#include "fuzz/case_rules.hpp"
#include "fuzz/fields.hpp"
#include "fuzz/generator.hpp"
#include "fuzz/repair.hpp"

#include <array>
#include <climits>
#include <span>

namespace mqalab {
namespace {

constexpr int kAttempts = 16; // not every field is one of the operation, and not every value wrong for it

// One less than dense, and what no stride may be.
int64_t short_stride(const Case& c, std::string_view name, Random& random) {
  const Shape& s = c.shape;
  const int64_t logits = c.strides.logits > 0 ? c.strides.logits : s.max_model_len;
  const int64_t dense = name == "strides.weights"           ? s.heads
                        : name == "strides.block_table"     ? table_width(s)
                        : name == "strides.logits"          ? s.max_model_len
                        : name == "strides.indices"         ? c.selection.k
                        : name == "strides.key_scales"      ? 1
                        : name == "strides.logits_head"     ? (rows(c) - 1) * logits + s.max_model_len
                        : name != "strides.kv_block"        ? s.head_dim // of queries and keys
                        : c.op == Operation::prefill_logits ? s.head_dim
                                                            : int64_t{s.block_size} * (s.head_dim + 4);
  if (name == "strides.kv_block") return random.pick({dense - 4, dense + 2, int64_t{2}, int64_t{-4}});
  return random.pick({dense - 1, dense - 1, int64_t{1}, int64_t{-1}});
}

struct Wrong {
  std::string_view field;
  std::vector<int64_t> values;
};
const auto& wrong_values() {
  static const std::array all{
      Wrong{"batch", {-1, INT32_MIN}},
      Wrong{"next_n", {0, -1, INT32_MIN, INT32_MAX}}, // the last: with the batch more than 2^31 rows
      Wrong{"heads", {-8, 0, 1025, INT32_MAX}},
      Wrong{"head_dim", {-16, 0, 8, 40, 100, 272}},
      Wrong{"block_size", {-1, 0, 2, 8, 24, 1040}},
      Wrong{"layout", {MQA_SHUFFLED}}, // of single tokens
      Wrong{"max_model_len", {-1, 0, (1 << 24) + 1}},
      Wrong{"num_blocks", {-1, INT32_MIN, (1 << 24) + 1}},
      Wrong{"top_k.k", {-1, 0, 4097}},
      Wrong{"config.variant", {-1, 6, INT32_MAX}},
      Wrong{"config.chunk_k", {-64, 32, 100, 4160}},
      Wrong{"config.split_kv", {-1, 65536}},
      Wrong{"config.wave_per_eu", {-1, 3, 5}},
  };
  return all;
}

void spoil_number(Case& c, Random& random) {
  const Wrong& wrong = random.pick(std::span<const Wrong>(wrong_values()));
  if (!has_meaning(c.op, wrong.field)) return;
  field(wrong.field).set(c, random.pick(std::span<const int64_t>(wrong.values)));
}
void spoil_stride(Case& c, Random& random) {
  const Field& f = random.pick(fields());
  if (f.name.starts_with("strides.") && has_meaning(c.op, f.name)) f.set(c, short_stride(c, f.name, random));
}

} // namespace

void make_illegal(Case& c, Random& random) {
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    Case spoilt = c;
    random.chance(60) ? spoil_number(spoilt, random) : spoil_stride(spoilt, random);
    if (why_outside_contract(spoilt).empty()) continue;
    c = spoilt;
    return;
  }
}

Case generate_illegal_case(Random& random, Operation op) {
  Case c = generate_case(random, op);
  make_illegal(c, random);
  return c;
}

} // namespace mqalab
