// The key under which a tuned configuration is stored and looked up: everything that changes a
// configuration's validity or speed and that the host knows at launch.  One versioned function, used by tuner
// and library alike; golden tests pin it, because a changed key makes every row of every database
// unreachable.
#pragma once
#include "kernels/mqa.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace mqa {

inline constexpr int kProblemKeyVersion = 1;

enum class StrideClass : uint8_t {
  dense,  // rows of logits touch
  padded, // rows lie apart
  far,    // the logits span more than 2^31 bytes: 32-bit offsets would not do
};

// What the key's text begins with.
enum class KeyOperation : uint8_t { paged, ragged, per_head, per_head_ragged, prefill };

// Bucketed: batch and max_model_len to the next power of two, output stride to a class.  Of a prefill: rows
// as batch, columns as max_model_len, next_n and block_size 1.
struct ProblemKey {
  uint32_t batch_bucket, max_model_len_bucket; // powers of two
  uint16_t next_n, heads, head_dim, block_size;
  uint8_t layout, fp8, tail, stride_class;
  KeyOperation operation = KeyOperation::paged;
  bool operator==(const ProblemKey&) const = default;
};
ProblemKey problem_key(const mqa_paged_logits_args&) noexcept;
ProblemKey problem_key(const mqa_prefill_logits_args&) noexcept;
// "paged_mqa_logits/v1/b64/mml131072/n1/h64/d128/bs64/planar/e4m3fn/untouched/dense": canonical, the
// database's key.  The other operations: ragged_mqa_logits, per_head_mqa_logits, per_head_ragged_mqa_logits,
// prefill_mqa_logits.
std::string to_string(const ProblemKey&);
// The inverse; nothing for a text that to_string does not write.
std::optional<ProblemKey> parse_problem_key(std::string_view text);

} // namespace mqa
