// The cache writer as an executable specification: which token goes where, and as which bytes
// (mqa_cache_write in mqa.h).  The tokens of a writer's problem are those of all its sequences, one after the
// other.
#pragma once
#include "refimpl/problem.hpp"
#include "refimpl/sparse_buffer.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace mqalab {

struct QuantisedKey {
  std::vector<uint8_t> values; // head_dim
  float scale = 0;
};
// Follows the fp32 arithmetic of the contract step by step.
QuantisedKey quantise(std::span<const float> key, mqa_fp8, mqa_scale_format);

int64_t writer_tokens(const Problem&);
// The slot of every token: what the table says, out of range where its block id is; -1 for every
// skip_every-th token.
std::vector<int64_t> writer_slots(const Problem&);
bool is_written(const Problem&, int64_t slot);

// Elements of token `token` in a tensor laid out as make_keys() does.
std::vector<float> key_of_token(const Problem&, const SparseBuffer& keys, int64_t token);
// Puts a token where its slot says.  Fills the cache.
void put_token(const Problem&, SparseBuffer& cache, int64_t slot, const QuantisedKey&);

} // namespace mqalab
