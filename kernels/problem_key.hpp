// The key under which a tuned configuration is stored and looked up: everything that changes a configuration's
// validity or speed and that the host knows at launch.  One versioned function, used by tuner and library alike; golden
// tests pin it, because a changed key makes every row of every database unreachable.
#pragma once
#include "kernels/mqa.h"

#include <cstdint>
#include <string>

namespace mqa {

inline constexpr int kProblemKeyVersion = 1;

// Bucketed: rows and max_model_len to the next power of two, output stride to a class (dense, small, past 2^31 bytes).
struct ProblemKey {
  uint32_t batch_bucket, max_model_len_bucket;  // powers of two
  uint16_t next_n, heads, head_dim, block_size;
  uint8_t layout, fp8, tail, stride_class;
  bool operator==(const ProblemKey&) const = default;
};
ProblemKey problem_key(const mqa_paged_logits_args&);
// "paged_mqa_logits/v1/b64/mml131072/n1/h64/d128/bs64/planar/e4m3fn/untouched/dense": canonical, the database's key.
std::string to_string(const ProblemKey&);

}  // namespace mqa
